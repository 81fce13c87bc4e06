/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own threads, for requests for which no caller waits.  They are started when there is
 * work for them, up to execution.max_io_threads for batches and as many for streams, and
 * end when the driver is closed.  A stream's request does not wait for those of batches:
 * these may wait for CUDA, and CUDA for the stream.
 */
#ifndef CUF_POOL_H
#define CUF_POOL_H

#include <stdbool.h>

enum cuf_pool {
	CUF_POOL_BATCHES,
	CUF_POOL_STREAMS,
	CUF_POOL_COUNT,
};

struct cuf_job {
	struct cuf_job *next;
	void (*run)(struct cuf_job *job);	/* takes the job over */
};

/* Is the calling thread one of them? */
bool cuf_pool_is_own(void);
/* Returns 0; CUF_INTERNAL_ERROR if there is no thread, CUF_DRIVER_CLOSING at the end: then the caller keeps the job. */
int cuf_pool_add(enum cuf_pool which, struct cuf_job *job);
/* Runs the jobs that wait, and joins the threads. */
void cuf_pool_end(void);
/* Accepts jobs, since the driver is being opened. */
void cuf_pool_begin(void);

#endif /* CUF_POOL_H */
