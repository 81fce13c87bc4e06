// SPDX-License-Identifier: Apache-2.0
/* See bench_setup.h.  Made from the same samples as the JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_setup.h"
#include "output.h"

#define ROUNDS_MAX	1000

static int64_t number(struct json_object *sample, const char *key)
{
	return json_object_get_int64(json_object_object_get(sample, key));
}

static const char *method(struct json_object *sample)
{
	return json_object_get_string(json_object_object_get(sample, "method"));
}

static bool same_line(struct json_object *left, struct json_object *right)
{
	return !strcmp(method(left), method(right)) && number(left, "bytes") == number(right, "bytes") &&
	       number(left, "live") == number(right, "live");
}

typedef bool (*value_fn)(struct json_object *sample, double *value);

static bool microseconds(struct json_object *sample, double *value)
{
	*value = json_object_get_double(json_object_object_get(sample, "seconds")) * 1e6;
	return true;
}

static bool instructions(struct json_object *sample, double *value)
{
	struct json_object *measured = json_object_object_get(sample, "measured");
	struct json_object *user = json_object_object_get(measured, "instructions_user");
	struct json_object *kernel = json_object_object_get(measured, "instructions_kernel");

	*value = json_object_get_double(user) + json_object_get_double(kernel);
	return user && kernel;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The median of that over all samples of the line; "" where nothing is known. */
static void add_median(struct json_object *line, const char *key, const char *format,
		       struct json_object *samples, struct json_object *like, value_fn value_of)
{
	double values[ROUNDS_MAX];
	char text[32] = "";
	size_t count = 0;

	for (size_t i = 0; i < json_object_array_length(samples) && count < ROUNDS_MAX; i++) {
		struct json_object *sample = json_object_array_get_idx(samples, i);

		if (same_line(sample, like) && value_of(sample, &values[count]))
			count++;
	}
	qsort(values, count, sizeof(values[0]), compare);
	if (count)
		snprintf(text, sizeof(text), format, values[count / 2]);
	cli_add_text(line, key, text);
}

static struct json_object *line_of(struct json_object *samples, struct json_object *like)
{
	struct json_object *line = json_object_new_object();

	cli_add_text(line, "method", method(like));
	cli_add_number(line, "bytes", (uint64_t)number(like, "bytes"));
	cli_add_number(line, "live", (uint64_t)number(like, "live"));
	add_median(line, "instructions", "%.0f", samples, like, instructions);
	add_median(line, "microseconds", "%.1f", samples, like, microseconds);
	return line;
}

void bench_setup_print_text(struct json_object *model)
{
	static const struct cli_column columns[] = {
		{ "method", "OPERATION", false }, { "bytes", "SIZE", true }, { "live", "BESIDE", false },
		{ "instructions", "INSTRUCTIONS", false }, { "microseconds", "TIME/us", false }, { 0 },
	};
	struct json_object *samples = json_object_object_get(model, "samples");
	struct json_object *lines = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(samples); i++) {
		struct json_object *sample = json_object_array_get_idx(samples, i);

		if (!number(sample, "round"))
			json_object_array_add(lines, line_of(samples, sample));
	}
	cli_print_table(lines, columns);
	json_object_put(lines);
}
