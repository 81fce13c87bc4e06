// SPDX-License-Identifier: Apache-2.0
/* What a meter counted, as JSON and as text. */
#include <inttypes.h>
#include <stdio.h>

#include "donard/meter.h"
#include "measure.h"
#include "options.h"
#include "output.h"
#include "utf8.h"

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

/* The lines of the text; JSON has every quantity. */
static const struct line {
	enum donard_quantity quantity;
	const char *label, *unit;
	const char *per;		/* the format of its share of the payload, a double; NULL: it has none */
	double per_bytes;
} lines[] = {
#define BYTES	" bytes", "  %8.4f per byte", 1
#define INSTRUCTIONS	"", "        %8.0f per MiB", 1048576
#define EVENTS	"", NULL, 0
	{ DONARD_DRAM_DMA_PAYLOAD, "DRAM, payload by DMA", BYTES },
	{ DONARD_DRAM_CPU_PAYLOAD, "DRAM, payload by CPU", BYTES },
	{ DONARD_DRAM_DMA_OVERHEAD, "DRAM, overhead by DMA", BYTES },
	{ DONARD_DRAM_CPU_OVERHEAD, "DRAM, overhead by CPU", BYTES },
	{ DONARD_BAR_DMA, "BAR, by DMA", BYTES },
	{ DONARD_BAR_CPU, "BAR, by CPU", BYTES },
	{ DONARD_DRAM_READ, "DRAM, read", BYTES },
	{ DONARD_DRAM_WRITTEN, "DRAM, written", BYTES },
	{ DONARD_DRAM_TOTAL, "DRAM, in all", BYTES },
	{ DONARD_DRAM_CACHE, "DRAM, by caches", BYTES },
	{ DONARD_INSTRUCTIONS_USER, "instructions, user", INSTRUCTIONS },
	{ DONARD_INSTRUCTIONS_KERNEL, "instructions, kernel", INSTRUCTIONS },
	{ DONARD_INTERRUPTS, "interrupts", EVENTS },
	{ DONARD_CONTEXT_SWITCHES, "context switches", EVENTS },
};

static void print_line(const struct line *line, uint64_t count, uint64_t payload_bytes)
{
	printf("  %-26s %15" PRIu64 "%s", line->label, count, line->unit);
	if (line->per && payload_bytes)
		printf(line->per, (double)count * line->per_bytes / (double)payload_bytes);
	putchar('\n');
}

/* Instructions do not count here: perf events count them beside every meter, for the process, and not by samples. */
static bool counts_bytes(const struct donard_measurement *measurement)
{
	return measurement->known & ~(1U << DONARD_INSTRUCTIONS_USER | 1U << DONARD_INSTRUCTIONS_KERNEL);
}

static const char *how_far(const struct donard_measurement *measurement)
{
	if (measurement->exact)
		return "every byte";
	return counts_bytes(measurement) ? "sampled, of the whole machine" : "counts no bytes here";
}

void cli_print_measurement(const struct donard_measurement *measurement, uint64_t payload_bytes)
{
	printf("meter     %s, %s\n", measurement->meter, how_far(measurement));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (known(measurement, lines[i].quantity))
			print_line(&lines[i], measurement->count[lines[i].quantity], payload_bytes);
	if (measurement->exact && measurement->known)
		return;
	fputs("  missing: ", stdout);
	cli_print_utf8(stdout, measurement->missing);
	putchar('\n');
}
