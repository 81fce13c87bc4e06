// SPDX-License-Identifier: Apache-2.0
/* The record of a benchmark: where it ran, with which options, and each raw sample. */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench.h"
#include "donard/donard.h"
#include "donard/meter.h"
#include "errors.h"
#include "options.h"
#include "output.h"

#ifdef __x86_64__
/* Looks at the hypervisor's signature (CPUID). QEMU as the machine's vendor proves nothing: with KVM it runs at full speed. */
static bool runs_emulated(void)
{
	unsigned int max, name[3];

	__cpuid(0x40000000, max, name[0], name[1], name[2]);
	(void)max;
	return !memcmp(name, "TCGTCGTCGTCG", sizeof(name));
}
#else
static bool runs_emulated(void)
{
	char vendor[64] = "";
	FILE *file = fopen("/sys/class/dmi/id/sys_vendor", "re");

	if (file) {
		if (!fgets(vendor, sizeof(vendor), file))
			vendor[0] = '\0';
		fclose(file);
	}
	return !strncmp(vendor, "QEMU", 4);
}
#endif

struct json_object *bench_model(struct cli *cli, const char *benchmark,
				const struct donard_meter *meter)
{
	struct json_object *model = json_object_new_object();
	struct utsname system;

	(void)cli;
	uname(&system);
	cli_add_text(model, "benchmark", benchmark);
	cli_add_text(model, "donard", donard_version());
	cli_add_text(model, "kernel", system.release);
	json_object_object_add(model, "emulated", json_object_new_boolean(runs_emulated()));
	cli_add_text(model, "topology", getenv("LAB_TOPOLOGY"));
	cli_add_text(model, "meter", meter ? donard_meter_name(meter) : NULL);
	json_object_object_add(model, "options", json_object_new_object());
	json_object_object_add(model, "samples", json_object_new_array());
	return model;
}

void bench_add_option(struct json_object *model, const char *name, struct json_object *value)
{
	json_object_object_add(json_object_object_get(model, "options"), name, value);
}

void bench_add_sample(struct json_object *model, struct json_object *sample)
{
	json_object_array_add(json_object_object_get(model, "samples"), sample);
}

void bench_add_measured(struct json_object *sample, const struct donard_measurement *measurement)
{
	struct json_object *measured = json_object_new_object();

	for (unsigned int i = 0; i < DONARD_QUANTITIES; i++)
		json_object_object_add(measured, donard_quantity_name(i),
				       measurement->known & (1U << i) ?
				       json_object_new_uint64(measurement->count[i]) : NULL);
	json_object_object_add(sample, "measured", measured);
}

void bench_say(const char *format, ...)
{
	va_list args;

	fputs("bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- lists ---- */

#define MAX_SIZE	(1ULL << 40)

/* Parses one word; reports what is wrong with it, and returns the exit code. */
typedef int (*parse_fn)(const struct cli *cli, const char *name, const char *word, uint64_t *value);

static int parse_list(const struct cli *cli, const char *name, uint64_t *values, size_t max,
		      size_t *count, parse_fn parse)
{
	const char *text = cli_value(cli, name);
	char *copy, *word, *rest;
	int rc = 0;

	if (!text)
		return 0;
	*count = 0;
	copy = rest = strdup(text);
	while (!rc && (word = strsep(&rest, ","))) {
		if (*count == max)
			rc = cli_usage(cli, "--%s: more than %zu values", name, max);
		else
			rc = parse(cli, name, word, &values[(*count)++]);
	}
	free(copy);
	return rc;
}

static int parse_size(const struct cli *cli, const char *name, const char *word, uint64_t *value)
{
	if (!donard_parse_size(word, value) && *value && *value <= MAX_SIZE)
		return 0;
	return cli_usage(cli, "--%s: '%s' is not a size from 1 to 1T; example: 4K,64K,1M", name, word);
}

static int parse_number(const struct cli *cli, const char *name, const char *word, uint64_t *value)
{
	const struct cli_limit *limit = cli_find_limit(cli->command, name);
	char *end;

	*value = strtoull(word, &end, 10);
	if (word[0] >= '0' && word[0] <= '9' && !*end && *value >= limit->low && *value <= limit->high)
		return 0;
	return cli_usage(cli, "--%s: '%s' is not a number from %llu to %llu", name, word,
			 (unsigned long long)limit->low, (unsigned long long)limit->high);
}

int bench_sizes(const struct cli *cli, const char *name, uint64_t *values, size_t max, size_t *count)
{
	return parse_list(cli, name, values, max, count, parse_size);
}

int bench_numbers(const struct cli *cli, const char *name, uint64_t *values, size_t max, size_t *count)
{
	return parse_list(cli, name, values, max, count, parse_number);
}
