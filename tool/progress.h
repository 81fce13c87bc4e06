/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on stderr, and the signals that stop a copy. */
#ifndef DONARD_PROGRESS_H
#define DONARD_PROGRESS_H

#include <stdbool.h>

#include "donard/donard.h"

struct cli_progress {
	bool show;
	bool terminal;		/* stderr is a terminal on which the cursor can be moved */
	enum donard_phase phase;
	double started, shown;	/* when the phase moved its first bytes, and when the last line was shown */
	uint64_t from;		/* how much was done then: earlier rounds */
	bool any;
};

/* The time of a clock that never jumps. */
double cli_now_seconds(void);
void cli_progress_init(struct cli_progress *progress, bool show);
/* A donard_progress_fn; stops the copy after SIGINT or SIGTERM. */
int cli_progress_tick(void *user, enum donard_phase phase, uint64_t done_bytes,
		      uint64_t total_bytes);
void cli_progress_end(struct cli_progress *progress);
/*
 * SIGINT, SIGTERM, and SIGHUP unless it is ignored, stop the command, however often they come; but Ctrl-C that is typed
 * after one of them ends the program at once.
 */
void cli_catch_signals(void);
/*
 * Calls @handler each time that the signal comes, for instance to restore the terminal; if @handler is
 * NULL, the signal stops the command as SIGINT does.  Leaves a signal alone that is ignored.
 */
void cli_catch_signal(int number, void (*handler)(int number));
/* A donard_stop_fn: returns nonzero after SIGINT, SIGTERM, or another signal that stops the command. */
int cli_stopped(void *user);

#endif /* DONARD_PROGRESS_H */
