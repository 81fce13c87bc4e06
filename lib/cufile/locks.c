// SPDX-License-Identifier: Apache-2.0
/* See locks.h. */
#include "cufile/locks.h"

pthread_mutex_t cuf_locks[CUF_LOCK_COUNT] = {
	[0 ... CUF_LOCK_COUNT - 1] = PTHREAD_MUTEX_INITIALIZER,
};

static __thread unsigned int reasons;	/* why this thread is not canceled */
static __thread int state_before;

void cuf_cancel_later(void)
{
	if (!reasons++)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
}

void cuf_cancel_again(void)
{
	int ours;

	if (!--reasons)
		pthread_setcancelstate(state_before, &ours);
}

static void before_fork(void)
{
	for (int i = 0; i < CUF_LOCK_COUNT; i++) {
		pthread_mutex_lock(&cuf_locks[i]);
		if (i == CUF_LOCK_BATCHES)
			cuf_batches_before_fork();
		if (i == CUF_LOCK_ENGINES)
			cuf_engines_before_fork();
	}
}

static void unlock_all(void)
{
	for (int i = CUF_LOCK_COUNT - 1; i >= 0; i--)
		pthread_mutex_unlock(&cuf_locks[i]);
}

static void in_parent(void)
{
	cuf_engines_unlock_all();
	cuf_batches_after_fork(false);
	unlock_all();
}

static void in_child(void)
{
	cuf_pool_after_fork();
	cuf_streams_after_fork();
	cuf_inodes_after_fork();
	cuf_engines_unlock_all();
	cuf_engines_after_fork();
	cuf_batches_after_fork(true);
	cuf_counts_after_fork();
	cuf_driver_after_fork();
	cuf_gpu_after_fork();
	cuf_log_after_fork();
	unlock_all();
	cuf_engines_in_child();
	cuf_driver_in_child();
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}
