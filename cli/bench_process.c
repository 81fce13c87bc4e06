// SPDX-License-Identifier: Apache-2.0
/* Runs processes and says what they cost, seen from outside: the same for every tool. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define EXIT_NOT_FOUND	127

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void become(const struct bench_job *job)
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
	dprintf(STDERR_FILENO, "donard-cli: %s: %s\n", job->argv[0], strerror(errno));
	_exit(EXIT_NOT_FOUND);
}

static int start(struct bench_job *job)
{
	/* A child must not write out again what waits in our buffer. */
	fflush(NULL);
	job->pid = fork();
	if (!job->pid)
		become(job);
	return job->pid < 0 ? -errno : 0;
}

static int finish(struct bench_job *job, struct bench_usage *usage)
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
static void hand_over(const struct bench_job *job)
{
	if (job->stdin_fd >= 0)
		close(job->stdin_fd);
	if (job->stdout_fd > STDERR_FILENO)
		close(job->stdout_fd);
}

static int run_all(struct bench_job *jobs, size_t count, struct bench_usage *usage)
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

int bench_run_jobs(struct cli *cli, struct donard_meter *meter, struct bench_job *jobs, size_t count,
		   struct bench_usage *usage, struct donard_measurement *measurement)
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
	return rc ? rc : ended;
}
