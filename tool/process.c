// SPDX-License-Identifier: Apache-2.0
/* Runs processes and says what they cost, seen from outside: the same for every tool. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errors.h"
#include "output.h"
#include "process.h"
#include "progress.h"

#define EXIT_CANNOT_RUN	126
#define EXIT_NOT_FOUND	127

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* ---- signals that a job takes for us ---- */

static const int ending_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
#define ENDING_SIGNALS	(sizeof(ending_signals) / sizeof(ending_signals[0]))

static volatile sig_atomic_t receiver;
static volatile sig_atomic_t caught;	/* any of them, since they are taken */

/*
 * What the terminal sends, the job gets as well, unless it has made a process group of its own (timeout, setsid). But that
 * the terminal is gone is told to the leader of the session alone.
 */
static bool job_has_it(int number, const siginfo_t *info)
{
	bool told_alone = number == SIGHUP && getsid(0) == getpid();

	return info->si_code > 0 && !told_alone && getpgid((pid_t)receiver) == getpgrp();
}

static void pass_on(int number, siginfo_t *info, void *context)
{
	int before = errno;

	(void)context;
	caught = 1;
	if (receiver > 0 && !job_has_it(number, info))
		kill((pid_t)receiver, number);
	errno = before;
}

bool cli_signal_came(void)
{
	return caught;
}

void cli_take_signals(bool on)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART }, before;

	if (on)
		action.sa_sigaction = pass_on;
	for (size_t i = 0; i < ENDING_SIGNALS; i++)
		if (!sigaction(ending_signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
}

/* ---- one job ---- */

static void become(const struct cli_job *job)
{
	int in = job->stdin_fd >= 0 ? job->stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = job->stdout_fd >= 0 ? job->stdout_fd : STDERR_FILENO;

	int error_number;

	if (job->takes_signals) {
		cli_take_signals(false);
		sigprocmask(SIG_SETMASK, &job->signals_before, NULL);
	}
	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILED);
	/* Without exec every descriptor stays, also the end of the pipe whose closing the job waits for. */
	if (!job->argv) {
		close_range(STDERR_FILENO + 1, ~0U, 0);
		_exit(job->call(job->argument));
	}
	execvp(job->argv[0], (char *const *)job->argv);
	error_number = errno;
	if (job->exec_error)
		*job->exec_error = error_number;
	else
		dprintf(STDERR_FILENO, "%s: %s: %s\n", cli_name, job->argv[0], strerror(error_number));
	_exit(error_number == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
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

/* No signal comes between the fork and the moment when we know whom to pass it on to. After one there is no fork. */
static int start_with_signals(struct cli_job *job)
{
	sigset_t all;
	int rc;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &job->signals_before);
	rc = caught ? -ECANCELED : start(job);
	if (!rc)
		receiver = job->pid;
	sigprocmask(SIG_SETMASK, &job->signals_before, NULL);
	return rc;
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

/* Returns how many of them run. */
static size_t start_all(struct cli_job *jobs, size_t count, struct cli_job_usage *usage, int *rc)
{
	size_t running = 0;

	while (!*rc && running < count) {
		struct cli_job *job = &jobs[running++];

		*rc = job->takes_signals ? start_with_signals(job) : start(job);
	}
	if (*rc) {
		usage->failed_call = *rc == -ECANCELED ? NULL : "fork";
		running--;
	}
	return running;
}

static int run_all(struct cli_job *jobs, size_t count, struct cli_job_usage *usage)
{
	double started = cli_now_seconds();
	int rc = 0, ended;
	size_t running = start_all(jobs, count, usage, &rc);

	for (size_t i = 0; i < count; i++)
		hand_over(&jobs[i]);
	for (size_t i = 0; i < running; i++) {
		ended = finish(&jobs[i], usage);
		rc = rc ? rc : ended;
	}
	usage->seconds = cli_now_seconds() - started;
	receiver = 0;
	return rc;
}

static int run_metered(struct donard_meter *meter, struct cli_job *jobs, size_t count,
		       struct cli_job_usage *usage, struct donard_measurement *measurement)
{
	int rc, ended;

	rc = meter ? donard_meter_begin(meter) : 0;
	if (rc)
		return rc;
	rc = run_all(jobs, count, usage);
	if (!meter)
		return rc;
	ended = donard_meter_end(meter, measurement);
	if (rc == -ECANCELED)
		return rc;
	return ended ? ended : rc;
}

/* Signals are taken until the meter has ended, which may take seconds, as its begin may. */
int cli_run_jobs(struct donard_meter *meter, struct cli_job *jobs, size_t count,
		   struct cli_job_usage *usage, struct donard_measurement *measurement)
{
	int rc;

	memset(usage, 0, sizeof(*usage));
	if (jobs[0].takes_signals)
		cli_take_signals(true);
	rc = run_metered(meter, jobs, count, usage, measurement);
	if (jobs[0].takes_signals)
		cli_take_signals(false);
	return rc;
}

int cli_jobs_failed(const struct cli *cli, int rc, const struct cli_job_usage *usage)
{
	char text[128];

	if (rc == -ECANCELED)
		return cli_fail_text(cli, EXIT_STOPPED, "canceled", "stopped by a signal before the command was started.");
	if (!usage->failed_call)
		return cli_fail(cli, rc);
	snprintf(text, sizeof(text), "a process cannot be started (%s: %s). Stop others, or raise the limit "
		 "'ulimit -u'.", usage->failed_call, strerror(-rc));
	return cli_fail_text(cli, EXIT_FAILED, "system", text);
}

void cli_add_job_usage(struct json_object *model, const struct cli_job_usage *usage)
{
	cli_add_double(model, "wall_seconds", usage->seconds);
	cli_add_double(model, "user_seconds", usage->user_seconds);
	cli_add_double(model, "system_seconds", usage->system_seconds);
	cli_add_number(model, "minor_faults", usage->minor_faults);
	cli_add_number(model, "major_faults", usage->major_faults);
}

/* Parts are subtracted before they are joined: a difference of two large fractions would show noise. */
static double seconds_between(struct timeval from, struct timeval to)
{
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_usec - from.tv_usec) / 1e6;
}

void cli_usage_since(const struct rusage *before, struct cli_job_usage *usage)
{
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	usage->user_seconds = seconds_between(before->ru_utime, now.ru_utime);
	usage->system_seconds = seconds_between(before->ru_stime, now.ru_stime);
	usage->minor_faults = (uint64_t)(now.ru_minflt - before->ru_minflt);
	usage->major_faults = (uint64_t)(now.ru_majflt - before->ru_majflt);
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
