/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: processes that are measured from outside, and the record of what was seen. */
#ifndef BENCH_H
#define BENCH_H

#include <sys/types.h>

#include "cli.h"

/* ---- bench_process.c ---- */

/*
 * A program, or a function of this one in a process of its own. Its stdin and stdout are set by the caller
 * (-1: /dev/null for stdin, this program's stderr for stdout); fds above 2 are closed on exec.
 */
struct bench_job {
	const char *const *argv;	/* NULL: call() */
	int (*call)(const void *argument);	/* returns the exit status */
	const void *argument;
	int stdin_fd, stdout_fd;
	pid_t pid;
	int exit_status;		/* 128 + N when signal N ended it */
};

/* Of all jobs together, their children included. */
struct bench_usage {
	double seconds;			/* from before the first starts until the last has ended */
	double user_seconds, system_seconds;
	uint64_t minor_faults, major_faults;
};

/*
 * Runs all jobs at the same time, under the meter if there is one. Returns 0 when all exited with 0, or
 * -ECHILD (a job failed: see exit_status), or what the meter returned.
 */
int bench_run_jobs(struct cli *cli, struct donard_meter *meter, struct bench_job *jobs, size_t count,
		   struct bench_usage *usage, struct donard_measurement *measurement);

/* ---- bench_model.c ---- */

/*
 * {"benchmark", "donard", "kernel", "emulated", "topology", "meter", "options": {...}, "samples": [...]},
 * to which a benchmark adds its options and samples.
 */
struct json_object *bench_model(struct cli *cli, const char *benchmark,
				const struct donard_meter *meter);
void bench_add_option(struct json_object *model, const char *name, struct json_object *value);
/* Appends @sample to the model's samples, which takes over the reference. */
void bench_add_sample(struct json_object *model, struct json_object *sample);
void bench_add_usage(struct json_object *sample, const struct bench_usage *usage);
/* As "measured": {quantity: count or null}. */
void bench_add_measured(struct json_object *sample, const struct donard_measurement *measurement);

/* With --json all of it, else a line a sample; takes over the reference. */
void bench_print(const struct cli *cli, struct json_object *model);

/* "A,B,C" as a comma-separated option; at most @max. Returns 0, or an exit code after cli_usage(). */
int bench_sizes(const struct cli *cli, const char *name, uint64_t *values, size_t max, size_t *count);
int bench_numbers(const struct cli *cli, const char *name, uint64_t low, uint64_t high,
		  uint64_t *values, size_t max, size_t *count);

/* "bench: ..." on stderr. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* BENCH_H */
