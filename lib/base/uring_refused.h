/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps io_uring, or Linux AIO, from this process: asked, and not guessed.  Knows no context: see files.h. */
#ifndef DND_URING_REFUSED_H
#define DND_URING_REFUSED_H

#include <stdbool.h>

/* The cause, and what helps as a sentence of its own; both without a full stop. */
struct dnd_uring_refusal {
	char cause[160];
	char remedy[128];
};

/* Does -errno of setting up an io_uring say that somebody forbids it? */
bool dnd_uring_is_refused(int rc);
/* May this process set one up?  0, or the errno of a refusal; what else may fail, such as for want of memory, is none. */
int dnd_uring_ask(void);
/* May it use Linux AIO?  0, or the errno; EAGAIN: not now, as others have all that the machine allows. */
int dnd_aio_ask(void);
/* Of the errno of a refusal. */
void dnd_uring_refusal(int error_number, struct dnd_uring_refusal *refusal);

#endif /* DND_URING_REFUSED_H */
