// SPDX-License-Identifier: Apache-2.0
/* measure: any command, and what went through DRAM while it ran. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "donard/meter.h"
#include "errors.h"
#include "measure.h"
#include "options.h"
#include "output.h"
#include "process.h"

static double seconds(struct json_object *model, const char *key)
{
	return json_object_get_double(json_object_object_get(model, key));
}

static void print_text(struct json_object *model)
{
	uint64_t status = cli_number_of(model, "exit_status");

	if (status)
		printf("status    %llu\n", (unsigned long long)status);
	printf("took      %.3f s, %.3f s user, %.3f s system, %llu page faults\n",
	       seconds(model, "wall_seconds"), seconds(model, "user_seconds"),
	       seconds(model, "system_seconds"),
	       (unsigned long long)(cli_number_of(model, "minor_faults") +
				    cli_number_of(model, "major_faults")));
	cli_print_measurement(model);
	json_object_put(model);
}

static void print(const struct cli *cli, const struct cli_job_usage *usage, int exit_status,
		  const struct donard_measurement *measurement, uint64_t payload_bytes)
{
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "exit_status", json_object_new_int(exit_status));
	cli_add_job_usage(model, usage);
	cli_add_measurement(model, measurement, payload_bytes);
	if (!payload_bytes)
		json_object_object_add(model, "payload_bytes", NULL);
	if (cli->json)
		cli_print_json(model);
	else
		print_text(model);
}

static int cannot_run(const struct cli *cli, int error_number, int exit_status)
{
	char text[PATH_MAX + 128];

	snprintf(text, sizeof(text), "%s: %s. Name a program that is in PATH, or the path of one.",
		 cli->arguments[0], strerror(error_number));
	return cli_fail_text(cli, exit_status, "system", text);
}

/* What the command prints goes to stderr: stdout is the measurement. */
static int measure(struct cli *cli, struct donard_meter *meter, int *exec_error, uint64_t payload_bytes)
{
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	struct cli_job job = { .argv = (const char *const *)cli->arguments, .stdin_fd = STDIN_FILENO,
				 .stdout_fd = STDERR_FILENO, .exec_error = exec_error,
				 .takes_signals = true };
	struct cli_job_usage usage;
	int rc = cli_run_jobs(meter, &job, 1, &usage, &measurement);

	if (rc && rc != -ECHILD)
		return cli_jobs_failed(cli, rc, &usage);
	if (*exec_error)
		return cannot_run(cli, *exec_error, job.exit_status);
	print(cli, &usage, job.exit_status, &measurement, payload_bytes);
	return job.exit_status;
}

static int run(struct cli *cli)
{
	struct donard_meter *meter = NULL;
	uint64_t payload_bytes = 0;
	int *exec_error;
	int rc = cli_size(cli, "payload", false, &payload_bytes);

	if (rc)
		return rc;
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &meter);
	if (rc)
		return cli_fail(cli, rc);
	exec_error = mmap(NULL, sizeof(*exec_error), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (exec_error == MAP_FAILED)
		rc = cli_fail_text(cli, EXIT_FAILED, "no-memory", strerror(errno));
	else
		rc = measure(cli, meter, exec_error, payload_bytes);
	donard_meter_close(meter);
	return rc;
}

static const struct cli_option options_table[] = {
	{ "payload", "SIZE", "how much the command moves, for counts per byte" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_measure = {
	.name = "measure", .arguments = "COMMAND [ARGUMENT...]", .min_arguments = 1,
	.max_arguments = CLI_ANY_ARGUMENTS, .runs_command = true, .needs_context = true,
	.summary = "Run a command, and count what went through DRAM meanwhile",
	.options = options_table, .run = run,
};
