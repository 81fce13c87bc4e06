// SPDX-License-Identifier: Apache-2.0
/* measure: any command, and what went through DRAM while it ran. */
#include <errno.h>
#include <inttypes.h>
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

static void print_json(const struct cli_job_usage *usage, int exit_status, const struct donard_measurement *measurement,
		       uint64_t payload_bytes)
{
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "exit_status", json_object_new_int(exit_status));
	cli_add_job_usage(model, usage);
	cli_add_measurement(model, measurement, payload_bytes);
	if (!payload_bytes)
		json_object_object_add(model, "payload_bytes", NULL);
	cli_print_json(model);
}

static void print_text(const struct cli_job_usage *usage, int exit_status, const struct donard_measurement *measurement,
		       uint64_t payload_bytes)
{
	if (exit_status)
		printf("status    %d\n", exit_status);
	printf("took      %.3f s, %.3f s user, %.3f s system, %" PRIu64 " page faults\n", usage->seconds, usage->user_seconds,
	       usage->system_seconds, usage->minor_faults + usage->major_faults);
	cli_print_measurement(measurement, payload_bytes);
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
	if (cli->json)
		print_json(&usage, job.exit_status, &measurement, payload_bytes);
	else
		print_text(&usage, job.exit_status, &measurement, payload_bytes);
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
	/* Opening some meters takes seconds, since they test themselves. */
	cli_take_signals(true);
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &meter);
	if (rc)
		return cli_signal_came() ? cli_jobs_failed(cli, -ECANCELED, NULL) : cli_fail(cli, rc);
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
