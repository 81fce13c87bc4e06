/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are measured from outside. */
#ifndef DONARD_PROCESS_H
#define DONARD_PROCESS_H

#include <json-c/json.h>
#include <signal.h>
#include <sys/types.h>

#include "command.h"
#include "donard/meter.h"

/*
 * A program, or a function of this one in a process of its own. Its stdin and stdout are set by the caller
 * (-1: /dev/null for stdin, this program's stderr for stdout); fds above 2 are closed on exec.
 */
struct cli_job {
	const char *const *argv;	/* NULL: call() */
	int (*call)(const void *argument);	/* returns the exit status */
	const void *argument;
	int stdin_fd, stdout_fd;
	pid_t pid;
	sigset_t signals_before;	/* with takes_signals */
	int exit_status;		/* 128 + N when signal N ended it; 127 no such program, 126 it cannot be run */
	/*
	 * Shared with the job, or NULL: why the program could not be run, instead of a line on stderr; 0
	 * before.
	 */
	int *exec_error;
	/*
	 * Signals meant to end this program end the job, at most one, instead. One that comes before the job
	 * keeps it from being started; one that comes after it changes nothing.
	 */
	bool takes_signals;
};

/* Of all jobs together, their children included. */
struct cli_job_usage {
	double seconds;			/* from before the first starts until the last has ended */
	double user_seconds, system_seconds;
	uint64_t minor_faults, major_faults;
	const char *failed_call;	/* of the system, by which a job could not be started or awaited; or NULL */
};

/*
 * Runs all jobs at the same time, under the meter if there is one. Returns 0 when all exited with 0, or
 * -ECHILD (a job failed: see exit_status), -ECANCELED (a signal came before the job), or what failed_call or the meter returned.
 */
int cli_run_jobs(struct cli *cli, struct donard_meter *meter, struct cli_job *jobs, size_t count,
		   struct cli_job_usage *usage, struct donard_measurement *measurement);

/* Tells why cli_run_jobs() failed, other than with -ECHILD; returns the exit code. */
int cli_jobs_failed(const struct cli *cli, int rc, const struct cli_job_usage *usage);

void cli_add_job_usage(struct json_object *model, const struct cli_job_usage *usage);

/*
 * Where another program of donard's is: beside this one, in ../libexec or ../bin from there, or in PATH.
 * Returns 0, or -ENOENT.
 */
int cli_find_program(const char *name, char *path, size_t path_bytes);

#endif /* DONARD_PROCESS_H */
