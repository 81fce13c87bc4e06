// SPDX-License-Identifier: Apache-2.0
/* bench null: measures what the harness itself costs, so that it is not taken for a tool's cost. */
#include <unistd.h>

#include "bench.h"
#include "donard/meter.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "process.h"

#define DEFAULT_ROUNDS	5

static int nothing(const void *argument)
{
	(void)argument;
	return 0;
}

/* "nothing": the cost between two markers; "process": that of a process that does nothing. */
static int sample(struct cli *cli, struct donard_meter *meter, struct json_object *model,
		  const char *method, size_t jobs)
{
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	struct cli_job job = { .call = nothing, .stdin_fd = -1, .stdout_fd = -1 };
	struct json_object *line = json_object_new_object();
	struct cli_job_usage usage;
	int rc = cli_run_jobs(meter, &job, jobs, &usage, &measurement);

	if (rc) {
		json_object_put(line);
		return cli_jobs_failed(cli, rc, &usage);
	}
	cli_add_text(line, "method", method);
	cli_add_job_usage(line, &usage);
	bench_add_measured(line, &measurement);
	bench_add_sample(model, line);
	return EXIT_DONE;
}

static int measure(struct cli *cli, struct donard_meter *meter, uint64_t rounds)
{
	struct json_object *model = bench_model(cli, "null", meter);
	int rc = 0;

	bench_add_option(model, "rounds", json_object_new_uint64(rounds));
	for (uint64_t i = 0; i < rounds && !rc; i++) {
		rc = sample(cli, meter, model, "nothing", 0);
		if (!rc)
			rc = sample(cli, meter, model, "process", 1);
	}
	if (rc) {
		json_object_put(model);
		return rc;
	}
	bench_print(cli, model);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	struct donard_meter *meter = NULL;
	uint64_t rounds = DEFAULT_ROUNDS;
	int rc = cli_number(cli, "rounds", &rounds);

	if (rc)
		return rc;
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &meter);
	if (rc)
		return cli_fail(cli, rc);
	rc = measure(cli, meter, rounds);
	donard_meter_close(meter);
	return rc;
}

static const struct cli_option options_table[] = {
	{ "rounds", "N", "how often; default 5" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "rounds", 1, 1000 },
	{ 0 },
};

const struct cli_command cmd_null = {
	.name = "null", .arguments = "", .needs_context = true,
	.summary = "What the measurement itself costs: nothing, and a process that does nothing",
	.options = options_table, .limits = limits, .run = run,
};
