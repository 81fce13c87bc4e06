// SPDX-License-Identifier: Apache-2.0
/* Runs processes and says what they cost, seen from outside: the same for every tool. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"
#include "process.h"
#include "progress.h"

#define EXIT_NOT_FOUND	127

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void become(const struct cli_job *job)
{
	int in = job->stdin_fd >= 0 ? job->stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = job->stdout_fd >= 0 ? job->stdout_fd : STDERR_FILENO;

	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILED);
	/* Without exec every descriptor stays, also the end of the pipe whose closing the job waits for. */
	if (!job->argv) {
		close_range(STDERR_FILENO + 1, ~0U, 0);
		_exit(job->call(job->argument));
	}
	execvp(job->argv[0], (char *const *)job->argv);
	dprintf(STDERR_FILENO, "%s: %s: %s\n", cli_name, job->argv[0], strerror(errno));
	_exit(EXIT_NOT_FOUND);
}

static int start(struct cli_job *job)
{
	/* A child must not write out again what waits in our buffer. */
	fflush(NULL);
	job->pid = fork();
	if (!job->pid)
		become(job);
	return job->pid < 0 ? -errno : 0;
}

static int finish(struct cli_job *job, struct cli_job_usage *usage)
{
	struct rusage used;
	int status;

	while (wait4(job->pid, &status, 0, &used) < 0)
		if (errno != EINTR)
			return -errno;
	job->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	usage->user_seconds += seconds_of(used.ru_utime);
	usage->system_seconds += seconds_of(used.ru_stime);
	usage->minor_faults += (uint64_t)used.ru_minflt;
	usage->major_faults += (uint64_t)used.ru_majflt;
	return job->exit_status ? -ECHILD : 0;
}

/* The pipe ends of a job belong to it alone once it runs, so that its reader sees the end. */
static void hand_over(const struct cli_job *job)
{
	if (job->stdin_fd > STDERR_FILENO)
		close(job->stdin_fd);
	if (job->stdout_fd > STDERR_FILENO)
		close(job->stdout_fd);
}

static int run_all(struct cli_job *jobs, size_t count, struct cli_job_usage *usage)
{
	double started = cli_now_seconds();
	size_t running = 0;
	int rc = 0, ended;

	while (!rc && running < count)
		rc = start(&jobs[running++]);
	if (rc)
		running--;
	for (size_t i = 0; i < count; i++)
		hand_over(&jobs[i]);
	for (size_t i = 0; i < running; i++) {
		ended = finish(&jobs[i], usage);
		rc = rc ? rc : ended;
	}
	usage->seconds = cli_now_seconds() - started;
	return rc;
}

int cli_run_jobs(struct cli *cli, struct donard_meter *meter, struct cli_job *jobs, size_t count,
		   struct cli_job_usage *usage, struct donard_measurement *measurement)
{
	int rc, ended;

	memset(usage, 0, sizeof(*usage));
	rc = meter ? donard_meter_begin(cli->ctx, meter) : 0;
	if (rc)
		return rc;
	rc = run_all(jobs, count, usage);
	if (!meter)
		return rc;
	ended = donard_meter_end(cli->ctx, meter, measurement);
	return ended ? ended : rc;
}

void cli_add_job_usage(struct json_object *model, const struct cli_job_usage *usage)
{
	cli_add_double(model, "wall_seconds", usage->seconds);
	cli_add_double(model, "user_seconds", usage->user_seconds);
	cli_add_double(model, "system_seconds", usage->system_seconds);
	cli_add_number(model, "minor_faults", usage->minor_faults);
	cli_add_number(model, "major_faults", usage->major_faults);
}

/* ---- other programs of donard's ---- */

static bool try_folder(const char *folder, size_t folder_bytes, const char *below, const char *name,
		       char *path, size_t path_bytes)
{
	int length = snprintf(path, path_bytes, "%.*s%s/%s", (int)folder_bytes, folder, below, name);

	return length > 0 && (size_t)length < path_bytes && !access(path, X_OK);
}

static bool find_beside(const char *name, char *path, size_t path_bytes)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
	static const char *const below[] = { "", "/../libexec", "/../bin" };
	size_t folder_bytes = 0;

	for (ssize_t i = 0; i < length; i++)
		if (self[i] == '/')
			folder_bytes = (size_t)i;
	for (size_t i = 0; length > 0 && i < sizeof(below) / sizeof(below[0]); i++)
		if (try_folder(self, folder_bytes, below[i], name, path, path_bytes))
			return true;
	return false;
}

int cli_find_program(const char *name, char *path, size_t path_bytes)
{
	const char *folder = getenv("PATH");
	size_t length;

	if (find_beside(name, path, path_bytes))
		return 0;
	for (; folder; folder = folder[length] ? folder + length + 1 : NULL) {
		length = strcspn(folder, ":");
		if (length && try_folder(folder, length, "", name, path, path_bytes))
			return 0;
	}
	return -ENOENT;
}
