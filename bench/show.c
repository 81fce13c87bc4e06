// SPDX-License-Identifier: Apache-2.0
/*
 * Prints results: all samples as JSON, or donard-stat's table. Only donard-stat
 * computes figures from samples.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "output.h"
#include "process.h"

/* Returns a file without a name that holds the model, positioned at its beginning; or -1. */
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

/* Returns false if @table has no table. cli_run_jobs() closes both descriptors of the job. */
static bool make_table(int samples, int table)
{
	const char *argv[] = { "donard-stat", "table", NULL };
	int exec_error = 0;
	struct cli_job_usage usage;
	struct cli_job job = { .argv = argv, .exec_error = &exec_error };
	char path[PATH_MAX];

	if (cli_find_program("donard-stat", path, sizeof(path)))
		return false;
	argv[0] = path;
	job.stdin_fd = fcntl(samples, F_DUPFD_CLOEXEC, 3);
	job.stdout_fd = fcntl(table, F_DUPFD_CLOEXEC, 3);
	return job.stdin_fd >= 0 && job.stdout_fd >= 0 && !cli_run_jobs(NULL, &job, 1, &usage, NULL);
}

static void print_file(int fd)
{
	char part[4096];
	off_t at = 0;
	ssize_t bytes;

	while ((bytes = pread(fd, part, sizeof(part), at)) > 0 && fwrite(part, 1, (size_t)bytes, stdout) == (size_t)bytes)
		at += bytes;
}

/*
 * Returns false if there is no table. This program prints it, not donard-stat: a failure to write to standard output is none of
 * donard-stat's.
 */
static bool show_table(struct json_object *model)
{
	int samples = file_of(model), table = memfd_create("table", MFD_CLOEXEC);
	bool made = samples >= 0 && table >= 0 && make_table(samples, table);

	if (made)
		print_file(table);
	if (samples >= 0)
		close(samples);
	if (table >= 0)
		close(table);
	return made;
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
