/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on stderr, and the signals that stop a copy. */
#ifndef DONARD_PROGRESS_H
#define DONARD_PROGRESS_H

#include <stdbool.h>

#include "donard/donard.h"

struct cli_progress {
	bool show;
	bool terminal;		/* that lets the cursor be moved */
	enum donard_phase phase;
	double started, shown;	/* the phase; the last line */
	bool any;
};

/* Of a clock that never steps. */
double cli_now_seconds(void);
void cli_progress_init(struct cli_progress *progress, bool show);
/* A donard_progress_fn; stops the copy after SIGINT or SIGTERM. */
int cli_progress_tick(void *user, enum donard_phase phase, uint64_t done_bytes,
		      uint64_t total_bytes);
void cli_progress_end(struct cli_progress *progress);
void cli_catch_signals(void);
/*
 * Each time it comes, for whoever has a terminal to put right; not if it was ignored before.
 * NULL: it stops, as SIGINT does.
 */
void cli_catch_signal(int number, void (*handler)(int number));
/* A donard_stop_fn: nonzero after SIGINT, SIGTERM, or another signal that stops. */
int cli_stopped(void *user);

#endif /* DONARD_PROGRESS_H */
