// SPDX-License-Identifier: Apache-2.0
/* See pool.h. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cufile/codes.h"
#include "cufile/locks.h"
#include "cufile/pool.h"
#include "cufile/settings.h"

#define THREADS_MAX	256

static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct cuf_job *first, **last = &first;
static pthread_t threads[THREADS_MAX];
static unsigned int count, idle, waiting;	/* all threads; idle threads; waiting jobs */
static bool ending = true;	/* also true while the driver is closed */

static struct cuf_job *take(void)
{
	struct cuf_job *job = first;

	if (!job)
		return NULL;
	waiting--;
	first = job->next;
	if (!first)
		last = &first;
	return job;
}

static void *work(void *unused)
{
	struct cuf_job *job;

	cuf_lock(CUF_LOCK_POOL);
	while ((job = take()) || !ending) {
		if (job) {
			cuf_unlock(CUF_LOCK_POOL);
			job->run(job);
			cuf_lock(CUF_LOCK_POOL);
			continue;
		}
		idle++;
		pthread_cond_wait(&more, &cuf_locks[CUF_LOCK_POOL]);
		idle--;
	}
	cuf_unlock(CUF_LOCK_POOL);
	return unused;
}

/* The thread blocks all signals, which are for the program's threads. */
static void start(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	count += !pthread_create(&threads[count], NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The child has none of these threads, and their jobs are the parent's. */
void cuf_pool_after_fork(void)
{
	pthread_cond_init(&more, NULL);
	first = NULL;
	last = &first;
	count = idle = waiting = 0;
}

int cuf_pool_add(struct cuf_job *job)
{
	size_t most = cuf_size(CUF_SIZE_THREADS);
	int rc = 0;

	most = most ? most : 1;
	cuf_lock(CUF_LOCK_POOL);
	if (!ending && waiting >= idle && count < (most < THREADS_MAX ? most : THREADS_MAX))
		start();
	if (ending || !count)
		rc = CUF_INTERNAL_ERROR;
	if (!rc) {
		waiting++;
		job->next = NULL;
		*last = job;
		last = &job->next;
		pthread_cond_signal(&more);
	}
	cuf_unlock(CUF_LOCK_POOL);
	return rc;
}

void cuf_pool_end(void)
{
	cuf_lock(CUF_LOCK_POOL);
	ending = true;
	pthread_cond_broadcast(&more);
	cuf_unlock(CUF_LOCK_POOL);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	cuf_lock(CUF_LOCK_POOL);
	count = 0;
	cuf_unlock(CUF_LOCK_POOL);
}

void cuf_pool_begin(void)
{
	cuf_lock(CUF_LOCK_POOL);
	ending = false;
	cuf_unlock(CUF_LOCK_POOL);
}
