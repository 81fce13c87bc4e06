/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that are there once.  fork() takes them all, so that a child has none of
 * them in the hand of a thread that it does not have, and no table half changed.
 */
#ifndef CUF_LOCKS_H
#define CUF_LOCKS_H

#include <pthread.h>
#include <stdbool.h>

/* In the order in which they are taken; an engine's own lock comes before the home's. */
enum cuf_lock {
	CUF_LOCK_DRIVER,
	CUF_LOCK_BATCHES,	/* and then each batch's */
	CUF_LOCK_STREAMS,
	CUF_LOCK_ENGINES,
	CUF_LOCK_USERS,		/* of what is deregistered */
	CUF_LOCK_HOME,
	CUF_LOCK_INODES,
	CUF_LOCK_POOL,
	CUF_LOCK_CUDA,
	CUF_LOCK_LOG,
	CUF_LOCK_COUNT,
};

extern pthread_mutex_t cuf_locks[CUF_LOCK_COUNT];

static inline void cuf_lock(enum cuf_lock which)
{
	pthread_mutex_lock(&cuf_locks[which]);
}

static inline void cuf_unlock(enum cuf_lock which)
{
	pthread_mutex_unlock(&cuf_locks[which]);
}

/* Engines have locks of their own, which come before the home's. */
void cuf_engines_before_fork(void);
void cuf_engines_unlock_all(void);
/* In the child, with all locks: of what other threads were doing, nobody goes on. */
void cuf_counts_after_fork(void);
void cuf_driver_after_fork(void);
void cuf_engines_after_fork(void);
void cuf_inodes_after_fork(void);
void cuf_pool_after_fork(void);
void cuf_streams_after_fork(void);
/* Batches have locks of their own: before fork(), in the parent, in the child. */
void cuf_batches_before_fork(void);
void cuf_batches_after_fork(bool child);
/* In the child, without locks: what the parent had is let go of; a close that was under way ends. */
void cuf_engines_in_child(void);
void cuf_driver_in_child(void);

#endif /* CUF_LOCKS_H */
