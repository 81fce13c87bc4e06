/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own threads, for requests for which no caller waits.  They are started when there is
 * work for them, up to execution.max_io_threads, and end when the driver is closed.
 */
#ifndef CUF_POOL_H
#define CUF_POOL_H

struct cuf_job {
	struct cuf_job *next;
	void (*run)(struct cuf_job *job);	/* takes the job over */
};

/* Returns 0, or CUF_INTERNAL_ERROR if there is no thread; then the caller keeps the job. */
int cuf_pool_add(struct cuf_job *job);
/* Runs the jobs that wait, and joins the threads. */
void cuf_pool_end(void);
/* Accepts jobs, since the driver is being opened. */
void cuf_pool_begin(void);

#endif /* CUF_POOL_H */
