// SPDX-License-Identifier: Apache-2.0
/* See bench_table1.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_table1.h"
#include "donard/meter.h"
#include "output.h"

#define DRAM_PAYLOAD	(1U << DONARD_DRAM_DMA_PAYLOAD | 1U << DONARD_DRAM_CPU_PAYLOAD)
#define DRAM_OVERHEAD	(1U << DONARD_DRAM_DMA_OVERHEAD | 1U << DONARD_DRAM_CPU_OVERHEAD)
#define BAR		(1U << DONARD_BAR_DMA | 1U << DONARD_BAR_CPU)
#define INSTRUCTIONS	(1U << DONARD_INSTRUCTIONS_USER | 1U << DONARD_INSTRUCTIONS_KERNEL)

/* ---- what was measured ---- */

/* The sum of these quantities for each byte moved; -1 when one is not known. */
static double per_byte(const struct bench_rdma *run, uint32_t quantities)
{
	uint64_t sum = 0;

	if (!run->result.bytes || (run->measurement.known & quantities) != quantities)
		return -1;
	for (unsigned int i = 0; i < DONARD_QUANTITIES; i++)
		if (quantities & (1U << i))
			sum += run->measurement.count[i];
	return (double)sum / (double)run->result.bytes;
}

/* What only the caches fetched (resctrl) is not all: DMA is missing. */
static double dram_per_byte(const struct bench_rdma *run)
{
	double total = per_byte(run, 1U << DONARD_DRAM_TOTAL);

	return total >= 0 ? total : per_byte(run, DRAM_PAYLOAD | DRAM_OVERHEAD);
}

void table1_add_measured(struct table1 *table, struct table1_row *row, const struct bench_rdma *run)
{
	double instructions = per_byte(run, INSTRUCTIONS);

	table1_add(&row->dram, dram_per_byte(run));
	table1_add(&row->payload, per_byte(run, DRAM_PAYLOAD));
	table1_add(&row->overhead, per_byte(run, DRAM_OVERHEAD));
	table1_add(&row->bar, per_byte(run, BAR));
	table1_add(&row->instructions, instructions < 0 ? -1 : instructions * 1048576);
	if (dram_per_byte(run) < 0)
		snprintf(table->dram_missing, sizeof(table->dram_missing), "%s", run->measurement.missing);
}

/* ---- the table ---- */

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* -1 without values */
static double median(struct table1_column *column)
{
	if (!column->count)
		return -1;
	qsort(column->values, column->count, sizeof(column->values[0]), compare);
	return (column->values[(column->count - 1) / 2] + column->values[column->count / 2]) / 2;
}

static void add_figure(struct json_object *line, const char *key, double value)
{
	cli_add_double(line, key, value < 0 ? NAN : value);
}

static double ratio(double value, double base)
{
	return value >= 0 && base > 0 ? value / base : -1;
}

/* The first target's row of the same direction is what others are compared with. */
static struct json_object *line_of(struct table1_row *row, struct table1_row *base)
{
	struct json_object *line = json_object_new_object();
	double rate = median(&row->rate), p50 = median(&row->p50), p99 = median(&row->p99);

	cli_add_text(line, "operation", bench_rdma_word(row->direction));
	cli_add_text(line, "name", row->target->name);
	add_figure(line, "bytes_per_second", rate);
	add_figure(line, "bandwidth_ratio", ratio(rate, median(&base->rate)));
	add_figure(line, "p50_ns", p50);
	add_figure(line, "p50_ratio", ratio(p50, median(&base->p50)));
	add_figure(line, "p99_ns", p99);
	add_figure(line, "p99_ratio", ratio(p99, median(&base->p99)));
	add_figure(line, "dram_bytes_per_byte", median(&row->dram));
	add_figure(line, "dram_payload_bytes_per_byte", median(&row->payload));
	add_figure(line, "dram_overhead_bytes_per_byte", median(&row->overhead));
	add_figure(line, "bar_bytes_per_byte", median(&row->bar));
	add_figure(line, "instructions_per_mib", median(&row->instructions));
	add_figure(line, "server_cpu_seconds", median(&row->server_seconds));
	add_figure(line, "server_faults", median(&row->server_faults));
	json_object_object_add(line, "verified", json_object_new_boolean(row->verified));
	return line;
}

static struct json_object *build(struct table1 *table)
{
	struct json_object *lines = json_object_new_array();
	size_t base = 0;

	for (size_t i = 0; i < table->row_count; i++) {
		if (table->rows[i].direction != table->rows[base].direction)
			base = i;
		json_object_array_add(lines, line_of(&table->rows[i], &table->rows[base]));
	}
	return lines;
}

static void set_cell(struct json_object *cells, struct json_object *line, const char *key,
		     double scale, const char *format)
{
	struct json_object *value = json_object_object_get(line, key);
	char text[32] = "";

	if (value)
		snprintf(text, sizeof(text), format, json_object_get_double(value) * scale);
	cli_add_text(cells, key, text);
}

static struct json_object *cells_of(struct json_object *line)
{
	struct json_object *cells = json_object_new_object();

	cli_add_text(cells, "operation",
		     json_object_get_string(json_object_object_get(line, "operation")));
	cli_add_text(cells, "name", json_object_get_string(json_object_object_get(line, "name")));
	set_cell(cells, line, "bytes_per_second", 1.0 / 1048576, "%.1f");
	set_cell(cells, line, "bandwidth_ratio", 1, "%.2f");
	set_cell(cells, line, "p50_ns", 1e-3, "%.1f");
	set_cell(cells, line, "p50_ratio", 1, "%.2f");
	set_cell(cells, line, "p99_ns", 1e-3, "%.1f");
	set_cell(cells, line, "p99_ratio", 1, "%.2f");
	set_cell(cells, line, "dram_bytes_per_byte", 1, "%.3f");
	set_cell(cells, line, "dram_payload_bytes_per_byte", 1, "%.4f");
	set_cell(cells, line, "bar_bytes_per_byte", 1, "%.4f");
	set_cell(cells, line, "instructions_per_mib", 1, "%.0f");
	json_object_object_add(cells, "verified",
			       json_object_get(json_object_object_get(line, "verified")));
	return cells;
}

static void print_text(struct json_object *model)
{
	static const struct cli_column columns[] = {
		{ "operation", "RDMA", false }, { "name", "TARGET", false },
		{ "bytes_per_second", "MiB/s", false }, { "bandwidth_ratio", "RATIO", false },
		{ "p50_ns", "P50/us", false }, { "p50_ratio", "RATIO", false },
		{ "p99_ns", "P99/us", false }, { "p99_ratio", "RATIO", false },
		{ "dram_bytes_per_byte", "DRAM/BYTE", false },
		{ "dram_payload_bytes_per_byte", "OF-IT-PAYLOAD", false },
		{ "bar_bytes_per_byte", "BAR/BYTE", false }, { "instructions_per_mib", "INSTR/MiB", false },
		{ "verified", "VERIFIED", false }, { 0 },
	};
	struct json_object *lines = json_object_object_get(model, "table");
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(lines); i++)
		json_object_array_add(rows, cells_of(json_object_array_get_idx(lines, i)));
	cli_print_table(rows, columns);
	if (json_object_object_get(model, "dram_missing"))
		printf("DRAM traffic: not available: %s\n",
		       json_object_get_string(json_object_object_get(model, "dram_missing")));
	if (json_object_get_boolean(json_object_object_get(model, "emulated")))
		puts("Emulated: counts and ratios say something, rates and times do not.");
	json_object_put(rows);
	json_object_put(model);
}

static void add_missing(const struct table1 *table)
{
	if (table->dram_missing[0])
		cli_add_text(table->model, "dram_missing", table->dram_missing);
	if (!table->here)
		cli_add_text(table->model, "server_missing", "the protocol carries no figures of the server; "
			     "each 'rdma serve --json' prints its processor time and page faults of a client "
			     "when that leaves, and 'donard-cli measure donard-cli rdma serve ... --once' the "
			     "DRAM traffic of its machine.");
}

void table1_print(struct table1 *table)
{
	json_object_object_add(table->model, "table", build(table));
	add_missing(table);
	if (table->cli->json)
		cli_print_json(table->model);
	else
		print_text(table->model);
}
