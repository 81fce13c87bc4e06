// SPDX-License-Identifier: Apache-2.0
/* What a meter counted, as JSON and as text. */
#include <inttypes.h>
#include <stdio.h>

#include "donard/meter.h"
#include "measure.h"
#include "options.h"
#include "output.h"

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
static void print_bytes(struct json_object *model, const char *label, enum donard_quantity quantity)
{
	uint64_t count, payload_bytes = cli_number_of(model, "payload_bytes");

	if (!json_object_object_get(model, donard_quantity_name(quantity)))
		return;
	count = cli_number_of(model, donard_quantity_name(quantity));
	printf("  %-26s %15" PRIu64 " bytes", label, count);
	if (payload_bytes)
		printf("  %8.4f per byte", (double)count / (double)payload_bytes);
	putchar('\n');
}

static void print_count(struct json_object *model, const char *label,
			enum donard_quantity quantity, bool per_mib)
{
	uint64_t count, payload_bytes = cli_number_of(model, "payload_bytes");

	if (!json_object_object_get(model, donard_quantity_name(quantity)))
		return;
	count = cli_number_of(model, donard_quantity_name(quantity));
	printf("  %-26s %15" PRIu64, label, count);
	if (per_mib && payload_bytes)
		printf("        %8.0f per MiB", (double)count * 1048576 / (double)payload_bytes);
	putchar('\n');
}

static bool counts_nothing(struct json_object *model)
{
	for (unsigned int i = 0; i < DONARD_QUANTITIES; i++)
		if (json_object_object_get(model, donard_quantity_name(i)))
			return false;
	return true;
}

static const char *how_far(struct json_object *model)
{
	if (cli_true(model, "exact"))
		return "every byte";
	return counts_nothing(model) ? "counts nothing here" : "sampled, of the whole machine";
}

void cli_print_measurement(struct json_object *model)
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
		{ "DRAM, by caches", DONARD_DRAM_CACHE },
	};

	if (!json_object_object_get(model, "meter"))
		return;
	printf("meter     %s, %s\n", cli_text_of(model, "meter"), how_far(model));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		print_bytes(model, lines[i].label, lines[i].quantity);
	print_count(model, "instructions, user", DONARD_INSTRUCTIONS_USER, true);
	print_count(model, "instructions, kernel", DONARD_INSTRUCTIONS_KERNEL, true);
	print_count(model, "interrupts", DONARD_INTERRUPTS, false);
	print_count(model, "context switches", DONARD_CONTEXT_SWITCHES, false);
	if (!cli_true(model, "exact") || counts_nothing(model))
		printf("  missing: %s\n", cli_text_of(model, "missing"));
}
