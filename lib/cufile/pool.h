/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of our own, for requests that no caller waits for.  They begin when
 * there is work for them, up to execution.max_io_threads, and end with the driver.
 */
#ifndef CUF_POOL_H
#define CUF_POOL_H

struct cuf_job {
	struct cuf_job *next;
	void (*run)(struct cuf_job *job);	/* owns it from then on */
};

/* 0, or CUF_INTERNAL_ERROR when there is no thread: then it is the caller's. */
int cuf_pool_add(struct cuf_job *job);
/* Runs what waits, and joins the threads. */
void cuf_pool_end(void);
/* The driver is opened: jobs are taken. */
void cuf_pool_begin(void);

#endif /* CUF_POOL_H */
