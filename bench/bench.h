/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: the record of what was seen, and lists as options. */
#ifndef BENCH_H
#define BENCH_H

#include <json-c/json.h>
#include <stdint.h>

#include "command.h"
#include "donard/meter.h"

/*
 * {"benchmark", "donard", "kernel", "emulated", "topology", "meter", "options": {...}, "samples": [...]},
 * to which a benchmark adds its options and samples.
 */
struct json_object *bench_model(struct cli *cli, const char *benchmark,
				const struct donard_meter *meter);
void bench_add_option(struct json_object *model, const char *name, struct json_object *value);
/* Appends @sample to the model's samples, which takes over the reference. */
void bench_add_sample(struct json_object *model, struct json_object *sample);
/* Adds the counts to the sample as "measured": {quantity: count or null}. */
void bench_add_measured(struct json_object *sample, const struct donard_measurement *measurement);

/*
 * show.c: prints the whole model with --json, else a table by donard-stat. If there is no donard-stat, prints the model, and
 * says so on stderr. Takes over the reference.
 */
void bench_print(struct cli *cli, struct json_object *model);

/* Parses an option of the form "A,B,C", with at most @max values. Returns 0, or an exit code after cli_usage(). */
int bench_sizes(const struct cli *cli, const char *name, uint64_t *values, size_t max, size_t *count);
int bench_numbers(const struct cli *cli, const char *name, uint64_t *values, size_t max, size_t *count);

/* For benchmarks that start donard-cli to measure it. */
#define BENCH_NO_DONARD	"there is no donard-cli beside this program nor in PATH. 'make install' installs both."

/*
 * May a benchmark overwrite this region?  Refuses persistent memory, unless --allow-persistent was given.  Returns 0, or an exit
 * code whose text is printed.
 */
int bench_check_contents(const struct cli *cli, const struct donard_region_info *region);

/* Prints "bench: ..." on stderr. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* BENCH_H */
