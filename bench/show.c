// SPDX-License-Identifier: Apache-2.0
/*
 * Results for whoever asked for them: all samples as JSON, or donard-stat's table
 * of them, which alone makes figures of samples.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "output.h"
#include "process.h"

/* A file without a name that holds the model, to be read from its beginning; or -1. */
static int file_of(struct json_object *model)
{
	int fd = memfd_create("samples", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (json_object_to_fd(fd, model, JSON_C_TO_STRING_PLAIN) || lseek(fd, 0, SEEK_SET)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* False: there is no table. */
static bool show_table(struct json_object *model)
{
	const char *argv[] = { "donard-stat", "table", NULL };
	int exec_error = 0, samples = file_of(model), rc;
	struct cli_job_usage usage;
	struct cli_job job = {
		.argv = argv, .stdin_fd = samples, .stdout_fd = STDOUT_FILENO, .exec_error = &exec_error,
	};
	char path[PATH_MAX];

	if (samples < 0)
		return false;
	argv[0] = path;
	rc = cli_find_program("donard-stat", path, sizeof(path));
	if (!rc) {
		fflush(stdout);
		rc = cli_run_jobs(NULL, &job, 1, &usage, NULL);
	}
	close(samples);
	return !rc;
}

void bench_print(struct cli *cli, struct json_object *model)
{
	if (!cli->json && show_table(model)) {
		json_object_put(model);
		return;
	}
	if (!cli->json)
		bench_say("donard-stat, which makes tables of samples, is neither beside this program nor in "
			  "PATH, or cannot run (it needs python3). Here are the samples; 'donard-stat table "
			  "FILE' shows them.");
	cli_print_json(model);
}
