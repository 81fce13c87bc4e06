/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a write cache and the thread that it belongs to: nbdkit's threads hand their
 * requests over, and each waits for its own.
 */
#ifndef DONARD_NBD_WORKER_H
#define DONARD_NBD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "donard/cacheclient.h"

#define NBD_TEXT_BYTES	512

struct nbd_worker;

/* Why something failed: an errno and its text. */
struct nbd_failure {
	int error_number;
	char text[NBD_TEXT_BYTES];
};

/* Tells people, from the worker's thread, that requests wait for the server's drive, and when they do no longer. */
typedef void (*nbd_tell_fn)(const char *text);
/*
 * Has the NBD connection ended, or is nbdkit about to?  Asked now and then in a thread that waits: for a connection to the cache,
 * or for a request; and before a request that comes after another worker began.
 */
typedef bool (*nbd_gone_fn)(void);

enum nbd_kind { NBD_READ, NBD_WRITE, NBD_FLUSH, NBD_TRIM };

/*
 * Waits until no NBD connection that has ended can write any more.  NULL, with @failure filled in: ESHUTDOWN also when the NBD
 * connection has ended meanwhile.
 */
struct nbd_worker *nbd_worker_start(const struct donard_cache_options *options, nbd_tell_fn tell, nbd_gone_fn gone,
				    struct nbd_failure *failure);
/* Nothing is in flight. */
void nbd_worker_stop(struct nbd_worker *worker);
const struct donard_cache_info *nbd_worker_info(const struct nbd_worker *worker);
/*
 * From any thread; waits.  @buffer: of reads and writes.  0, or -1 with @failure filled in: ESHUTDOWN when the NBD connection
 * has ended, and then nothing more of it is written.
 */
int nbd_worker_do(struct nbd_worker *worker, enum nbd_kind kind, uint64_t offset, void *buffer, uint64_t length,
		  struct nbd_failure *failure);

#endif /* DONARD_NBD_WORKER_H */
