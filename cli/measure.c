// SPDX-License-Identifier: Apache-2.0
/* What a meter counted, as JSON and as text. */
#include <inttypes.h>
#include <stdio.h>

#include "measure.h"

int cli_open_meter(const struct cli *cli, struct donard_meter **meter)
{
	const char *kind = cli_value(cli, "meter");

	*meter = NULL;
	if (!kind && !cli_given(cli, "measure"))
		return 0;
	return donard_meter_open(cli->ctx, kind, meter);
}

static bool known(const struct donard_measurement *measurement, unsigned int quantity)
{
	return measurement->known & (1U << quantity);
}

void cli_add_measurement(struct json_object *model, const struct donard_measurement *measurement,
			 uint64_t payload_bytes)
{
	cli_add_number(model, "payload_bytes", payload_bytes);
	cli_add_text(model, "meter", measurement->meter);
	json_object_object_add(model, "exact", json_object_new_boolean(measurement->exact));
	for (unsigned int i = 0; i < DONARD_QUANTITIES; i++)
		if (known(measurement, i))
			cli_add_number(model, donard_quantity_name(i), measurement->count[i]);
		else
			json_object_object_add(model, donard_quantity_name(i), NULL);
	cli_add_text(model, "missing", measurement->missing);
}

/* "0 bytes", "24,576 bytes (0.0015 a byte)" */
static void print_bytes(const char *label, const struct donard_measurement *measurement,
			unsigned int quantity, uint64_t payload_bytes)
{
	uint64_t count = measurement->count[quantity];

	if (!known(measurement, quantity))
		return;
	printf("  %-26s %15" PRIu64 " bytes", label, count);
	if (payload_bytes)
		printf("  %8.4f per byte", (double)count / (double)payload_bytes);
	putchar('\n');
}

static void print_count(const char *label, const struct donard_measurement *measurement,
			unsigned int quantity, uint64_t payload_bytes)
{
	uint64_t count = measurement->count[quantity];

	if (!known(measurement, quantity))
		return;
	printf("  %-26s %15" PRIu64, label, count);
	if (payload_bytes)
		printf("        %8.0f per MiB", (double)count * 1048576 / (double)payload_bytes);
	putchar('\n');
}

void cli_print_measurement(const struct donard_measurement *measurement, uint64_t payload_bytes)
{
	static const struct {
		const char *label;
		enum donard_quantity quantity;
	} lines[] = {
		{ "DRAM, payload by DMA", DONARD_DRAM_DMA_PAYLOAD },
		{ "DRAM, payload by CPU", DONARD_DRAM_CPU_PAYLOAD },
		{ "DRAM, overhead by DMA", DONARD_DRAM_DMA_OVERHEAD },
		{ "DRAM, overhead by CPU", DONARD_DRAM_CPU_OVERHEAD },
		{ "BAR, by DMA", DONARD_BAR_DMA },
		{ "BAR, by CPU", DONARD_BAR_CPU },
		{ "DRAM, read", DONARD_DRAM_READ },
		{ "DRAM, written", DONARD_DRAM_WRITTEN },
	};

	printf("meter     %s, %s\n", measurement->meter, measurement->exact ? "every byte" :
	       measurement->known ? "sampled, of the whole machine" : "counts nothing here");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		print_bytes(lines[i].label, measurement, lines[i].quantity, payload_bytes);
	print_count("instructions, user", measurement, DONARD_INSTRUCTIONS_USER, payload_bytes);
	print_count("instructions, kernel", measurement, DONARD_INSTRUCTIONS_KERNEL, payload_bytes);
	print_count("interrupts", measurement, DONARD_INTERRUPTS, 0);
	print_count("context switches", measurement, DONARD_CONTEXT_SWITCHES, 0);
	if (!measurement->exact || !measurement->known)
		printf("  missing: %s\n", measurement->missing);
}
