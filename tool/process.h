/* SPDX-License-Identifier: Apache-2.0 */
/* Runs processes and measures them from outside. */
#ifndef DONARD_PROCESS_H
#define DONARD_PROCESS_H

#include <json-c/json.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "command.h"
#include "donard/meter.h"

/*
 * A program, or a function of this program in a process of its own.  The caller sets its stdin and stdout
 * (-1: /dev/null for stdin, this program's stderr for stdout).  Descriptors above 2 are closed on exec.
 */
struct cli_job {
	const char *const *argv;	/* NULL: call() is run instead */
	int (*call)(const void *argument);	/* returns the exit status */
	const void *argument;
	int stdin_fd, stdout_fd;
	pid_t pid;
	sigset_t signals_before;	/* only used if takes_signals */
	int exit_status;		/* 128 + N if signal N ended it; 127: no such program; 126: it cannot be run */
	/*
	 * If not NULL, memory shared with the job: gets the errno of exec(), instead of a line on stderr.
	 * The caller sets it to 0 before.
	 */
	int *exec_error;
	/*
	 * Signals that would end this program end this job instead; at most one job has this.  A signal before
	 * the start of the job keeps it from being started; one after its end changes nothing.
	 */
	bool takes_signals;
};

/* The usage of all jobs together, their children included. */
struct cli_job_usage {
	double seconds;			/* from before the first job starts until the last one has ended */
	double user_seconds, system_seconds;
	uint64_t minor_faults, major_faults;
	const char *failed_call;	/* the system call that failed to start or await a job, or NULL */
};

/*
 * Takes the signals that would end this program, or leaves them their meaning again.  What whoever started us ignores stays
 * ignored, here and in the job.  For callers that work for long before they start the job that takes_signals.
 */
void cli_take_signals(bool on);
/* Has one of them come since? */
bool cli_signal_came(void);
/*
 * Runs all jobs at the same time, under the meter if there is one.  Returns 0 if all exited with 0; -ECHILD if a job
 * failed (see exit_status); -ECANCELED if a signal came before the job; or the error of failed_call or of the meter.
 */
int cli_run_jobs(struct donard_meter *meter, struct cli_job *jobs, size_t count,
		   struct cli_job_usage *usage, struct donard_measurement *measurement);

/* Prints why cli_run_jobs() failed, except for -ECHILD; returns the exit code. */
int cli_jobs_failed(const struct cli *cli, int rc, const struct cli_job_usage *usage);

void cli_add_job_usage(struct json_object *model, const struct cli_job_usage *usage);

/* What this process itself used since getrusage() filled in @before; usage->seconds stays as it is. */
void cli_usage_since(const struct rusage *before, struct cli_job_usage *usage);

/*
 * Finds another program of donard: beside this one, in ../libexec or ../bin from there, or in PATH.
 * Returns 0 or -ENOENT.
 */
int cli_find_program(const char *name, char *path, size_t path_bytes);

#endif /* DONARD_PROCESS_H */
