// SPDX-License-Identifier: Apache-2.0
/* See pool.h. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cufile/codes.h"
#include "cufile/locks.h"
#include "cufile/log.h"
#include "cufile/pool.h"
#include "cufile/settings.h"

#define THREADS_MAX	256

/* CUF_LOCK_POOL protects these. */
static struct pool {
	pthread_cond_t more;
	struct cuf_job *first, **last;
	pthread_t threads[THREADS_MAX];
	unsigned int count, idle, waiting;	/* all threads; idle threads; waiting jobs */
} pools[CUF_POOL_COUNT] = {
	[CUF_POOL_BATCHES] = { .more = PTHREAD_COND_INITIALIZER, .last = &pools[CUF_POOL_BATCHES].first },
	[CUF_POOL_STREAMS] = { .more = PTHREAD_COND_INITIALIZER, .last = &pools[CUF_POOL_STREAMS].first },
};
static bool ending = true;	/* also true while the driver is closed */
static __thread bool is_own;

bool cuf_pool_is_own(void)
{
	return is_own;
}

static struct cuf_job *take(struct pool *pool)
{
	struct cuf_job *job = pool->first;

	if (!job)
		return NULL;
	pool->waiting--;
	pool->first = job->next;
	if (!pool->first)
		pool->last = &pool->first;
	return job;
}

static void *work(void *pool_)
{
	struct pool *pool = pool_;
	struct cuf_job *job;

	is_own = true;
	cuf_lock(CUF_LOCK_POOL);
	while ((job = take(pool)) || !ending) {
		if (job) {
			cuf_unlock(CUF_LOCK_POOL);
			job->run(job);
			cuf_lock(CUF_LOCK_POOL);
			continue;
		}
		pool->idle++;
		pthread_cond_wait(&pool->more, &cuf_locks[CUF_LOCK_POOL]);
		pool->idle--;
	}
	cuf_unlock(CUF_LOCK_POOL);
	return NULL;
}

/* The thread blocks all signals, which are for the program's threads. */
static int start(struct pool *pool)
{
	sigset_t all, before;
	int failure;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failure = pthread_create(&pool->threads[pool->count], NULL, work, pool);
	pool->count += !failure;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure;
}

/* The child has none of these threads, and their jobs are the parent's. */
void cuf_pool_after_fork(void)
{
	for (struct pool *pool = pools; pool < pools + CUF_POOL_COUNT; pool++) {
		pthread_cond_init(&pool->more, NULL);
		pool->first = NULL;
		pool->last = &pool->first;
		pool->count = pool->idle = pool->waiting = 0;
	}
}

int cuf_pool_add(enum cuf_pool which, struct cuf_job *job)
{
	struct pool *pool = &pools[which];
	size_t most = cuf_size(CUF_SIZE_THREADS);
	int rc = 0, failure = 0;

	most = most ? most : 1;
	cuf_lock(CUF_LOCK_POOL);
	if (!ending && pool->waiting >= pool->idle && pool->count < (most < THREADS_MAX ? most : THREADS_MAX))
		failure = start(pool);
	if (ending)
		rc = CUF_DRIVER_CLOSING;
	else if (!pool->count)
		rc = CUF_INTERNAL_ERROR;
	if (!rc) {
		pool->waiting++;
		job->next = NULL;
		*pool->last = job;
		pool->last = &job->next;
		pthread_cond_signal(&pool->more);
	}
	cuf_unlock(CUF_LOCK_POOL);
	if (rc && failure)
		cuf_log(CUF_LOG_ERROR, "no thread can be started for batches and streams (%s): raise the limit of tasks "
			"(ulimit -u, or TasksMax= of a unit)", strerror(failure));
	return rc;
}

static void end(struct pool *pool)
{
	for (unsigned int i = 0; i < pool->count; i++)
		pthread_join(pool->threads[i], NULL);
	cuf_lock(CUF_LOCK_POOL);
	pool->count = 0;
	cuf_unlock(CUF_LOCK_POOL);
}

void cuf_pool_end(void)
{
	cuf_lock(CUF_LOCK_POOL);
	ending = true;
	for (struct pool *pool = pools; pool < pools + CUF_POOL_COUNT; pool++)
		pthread_cond_broadcast(&pool->more);
	cuf_unlock(CUF_LOCK_POOL);
	for (struct pool *pool = pools; pool < pools + CUF_POOL_COUNT; pool++)
		end(pool);
}

void cuf_pool_begin(void)
{
	cuf_lock(CUF_LOCK_POOL);
	ending = false;
	cuf_unlock(CUF_LOCK_POOL);
}
