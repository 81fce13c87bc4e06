// SPDX-License-Identifier: Apache-2.0
/* Samples of bench copy as a table: a line per method and point, start-up cancelled, medians of the rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_copy.h"
#include "command.h"
#include "output.h"

#define ROUNDS_MAX	1000

/* Members that make two samples the same but for size and round. */
static const char *const point_keys[] = { "method", "direction", "block_bytes", "queue_depth", "threads" };

#define POINT_KEYS	(sizeof(point_keys) / sizeof(point_keys[0]))

static double number(struct json_object *sample, const char *key)
{
	struct json_object *value, *measured;

	if (!json_object_object_get_ex(sample, key, &value) &&
	    json_object_object_get_ex(sample, "measured", &measured))
		json_object_object_get_ex(measured, key, &value);
	return value ? json_object_get_double(value) : -1;
}

static bool same(struct json_object *a, struct json_object *b, size_t first_key)
{
	for (size_t i = first_key; i < POINT_KEYS; i++)
		if (!json_object_equal(json_object_object_get(a, point_keys[i]),
				       json_object_object_get(b, point_keys[i])))
			return false;
	return true;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of @key over the rounds of @like's point with @bytes; -1 when it is unknown. */
static double median(struct json_object *samples, struct json_object *like, const char *key, double bytes)
{
	double values[ROUNDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < json_object_array_length(samples) && count < ROUNDS_MAX; i++) {
		struct json_object *sample = json_object_array_get_idx(samples, i);

		if (same(sample, like, 0) && number(sample, "bytes") == bytes && number(sample, key) >= 0)
			values[count++] = number(sample, key);
	}
	qsort(values, count, sizeof(values[0]), by_value);
	return count ? values[count / 2] : -1;
}

struct line {
	struct json_object *samples;
	struct json_object *like;	/* any sample of the point */
	double small, large;		/* bytes */
};

/* What a byte more costs. */
static double per_byte(const struct line *line, const char *key)
{
	double small = median(line->samples, line->like, key, line->small);
	double large = median(line->samples, line->like, key, line->large);

	return small < 0 || large < 0 || line->small == line->large ? -1 :
	       (large - small) / (line->large - line->small);
}

static struct line line_of(struct json_object *samples, struct json_object *like)
{
	struct line line = { samples, like, number(like, "bytes"), number(like, "bytes") };

	for (size_t i = 0; i < json_object_array_length(samples); i++) {
		struct json_object *sample = json_object_array_get_idx(samples, i);
		double bytes = number(sample, "bytes");

		if (!same(sample, like, 0))
			continue;
		line.small = bytes < line.small ? bytes : line.small;
		line.large = bytes > line.large ? bytes : line.large;
	}
	return line;
}

static double rate(const struct line *line)
{
	double seconds = median(line->samples, line->like, "seconds", line->large);

	return seconds > 0 ? line->large / seconds : -1;
}

/* Among the methods at the same point. */
static double fastest(const struct line *line)
{
	double best = -1;

	for (size_t i = 0; i < json_object_array_length(line->samples); i++) {
		struct json_object *sample = json_object_array_get_idx(line->samples, i);
		struct line other;

		if (!same(sample, line->like, 1))
			continue;
		other = line_of(line->samples, sample);
		if (rate(&other) > best)
			best = rate(&other);
	}
	return best;
}

static void add_value(struct json_object *row, const char *key, double value, const char *format)
{
	char text[32] = "";

	if (value > -0.5)
		snprintf(text, sizeof(text), format, value);
	cli_add_text(row, key, text);
}

static const char *verdict(const struct line *line)
{
	const char *word = "not checked";

	for (size_t i = 0; i < json_object_array_length(line->samples); i++) {
		struct json_object *sample = json_object_array_get_idx(line->samples, i), *verified;

		if (same(sample, line->like, 0) &&
		    json_object_object_get_ex(sample, "verified", &verified) && verified)
			word = json_object_get_boolean(verified) ? "yes" : "NO";
	}
	return word;
}

static struct json_object *row_of(const struct line *line)
{
	struct json_object *row = json_object_new_object();
	double seconds = per_byte(line, "user_seconds") + per_byte(line, "system_seconds");
	double instructions = per_byte(line, "instructions_user") +
			      per_byte(line, "instructions_kernel");

	for (size_t i = 0; i < POINT_KEYS; i++)
		json_object_object_add(row, point_keys[i],
				       json_object_get(json_object_object_get(line->like, point_keys[i])));
	add_value(row, "rate", rate(line) < 0 ? -1 : rate(line) / fastest(line), "%.2f");
	add_value(row, "dma", per_byte(line, "dram_dma_payload_bytes"), "%.4f");
	add_value(row, "cpu", per_byte(line, "dram_cpu_payload_bytes"), "%.4f");
	add_value(row, "overhead", per_byte(line, "dram_cpu_overhead_bytes"), "%.4f");
	add_value(row, "instructions", instructions < 0 ? -1 : instructions * 1048576, "%.0f");
	add_value(row, "faults", median(line->samples, line->like, "minor_faults", line->large), "%.0f");
	add_value(row, "cpu_seconds", seconds < 0 ? -1 : seconds * (1 << 30), "%.3f");
	cli_add_text(row, "verified", verdict(line));
	return row;
}

static bool is_first(struct json_object *samples, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same(json_object_array_get_idx(samples, i),
			 json_object_array_get_idx(samples, index), 0))
			return false;
	return true;
}

static const struct cli_column columns[] = {
	{ "direction", "DIRECTION", false }, { "block_bytes", "BLOCK", true },
	{ "queue_depth", "DEPTH", false }, { "threads", "THREADS", false }, { "method", "METHOD", false },
	{ "rate", "RATE/FASTEST", false }, { "dma", "DRAM-DMA/B", false }, { "cpu", "DRAM-CPU/B", false },
	{ "overhead", "OVERHEAD/B", false }, { "instructions", "INSTR/MiB", false },
	{ "faults", "FAULTS", false }, { "cpu_seconds", "CPU-s/GiB", false },
	{ "verified", "VERIFIED", false }, { 0 },
};

void bench_print_copy(const struct cli *cli, struct json_object *model)
{
	struct json_object *samples = json_object_object_get(model, "samples");
	struct json_object *rows = json_object_new_array();

	if (cli->json) {
		json_object_put(rows);
		cli_print_json(model);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(samples); i++) {
		struct line line = line_of(samples, json_object_array_get_idx(samples, i));

		if (is_first(samples, i))
			json_object_array_add(rows, row_of(&line));
	}
	if (json_object_get_boolean(json_object_object_get(model, "emulated")))
		puts("EMULATED: counts are exact, rates are ratios within this run.");
	cli_print_table(rows, columns);
	json_object_put(rows);
	json_object_put(model);
}
