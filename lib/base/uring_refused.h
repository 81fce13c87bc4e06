/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out, by asking the kernel, what refuses io_uring or Linux AIO to this process.  It uses no context, for the
 * reason that files.h gives.
 */
#ifndef DND_URING_REFUSED_H
#define DND_URING_REFUSED_H

#include <linux/aio_abi.h>
#include <stdbool.h>

/* The cause, and the remedy as a separate sentence; both without a full stop. */
struct dnd_uring_refusal {
	char cause[160];
	char remedy[128];
};

/* Does @rc, the -errno of a call of io_uring, mean that io_uring is refused? */
bool dnd_uring_is_refused(int rc);
/*
 * May this process set up an io_uring, make requests with it, and have it signal completions to an eventfd?  A filter may
 * forbid one of these calls and not the others.  Returns the errno of a refusal, or 0; other errors, such as a lack of memory,
 * give 0.
 */
int dnd_uring_ask(void);
/* Try the same on a new ring, or on a new context of Linux AIO, by calls that change nothing. */
int dnd_uring_try(int fd);
int dnd_aio_try(aio_context_t context);
/* May it use Linux AIO?  0 or an errno; EAGAIN: other programs use all that the machine allows (fs.aio-max-nr). */
int dnd_aio_ask(void);
/* Fills in the cause and the remedy for the errno of a refusal. */
void dnd_uring_refusal(int error_number, struct dnd_uring_refusal *refusal);

#endif /* DND_URING_REFUSED_H */
