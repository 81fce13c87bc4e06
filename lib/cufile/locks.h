/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The global locks.  fork() takes them all, so that in the child no lock is held by a thread
 * that does not exist there, and no table is half changed.
 */
#ifndef CUF_LOCKS_H
#define CUF_LOCKS_H

#include <pthread.h>
#include <stdbool.h>

/* In the order in which they are taken.  An engine's own lock comes after ENGINES and before USERS. */
enum cuf_lock {
	CUF_LOCK_PINS,		/* held while a buffer is registered: CUDA may wait for streams then, so it comes first */
	CUF_LOCK_DRIVER,
	CUF_LOCK_BATCHES,	/* and then each batch's */
	CUF_LOCK_STREAMS,
	CUF_LOCK_ENGINES,
	CUF_LOCK_USERS,		/* counts the engines that still use what is being deregistered */
	CUF_LOCK_HOME,
	CUF_LOCK_INODES,
	CUF_LOCK_POOL,
	CUF_LOCK_STAGES,
	CUF_LOCK_CUDA,
	CUF_LOCK_LOG,
	CUF_LOCK_COUNT,
};

extern pthread_mutex_t cuf_locks[CUF_LOCK_COUNT];

/*
 * A thread cannot be canceled between these two, because nobody else would release what it holds.  Pairs may be nested.  A
 * cancellation that was requested meanwhile happens at the thread's next cancellation point.
 */
void cuf_cancel_later(void);
void cuf_cancel_again(void);

static inline void cuf_lock(enum cuf_lock which)
{
	cuf_cancel_later();
	pthread_mutex_lock(&cuf_locks[which]);
}

static inline void cuf_unlock(enum cuf_lock which)
{
	pthread_mutex_unlock(&cuf_locks[which]);
	cuf_cancel_again();
}

/* These take and release the locks of all engines. */
void cuf_engines_before_fork(void);
void cuf_engines_unlock_all(void);
/* Called in the child with all global locks held: nobody continues what other threads were doing. */
void cuf_counts_after_fork(void);
void cuf_driver_after_fork(void);
void cuf_engines_after_fork(void);
void cuf_gpu_after_fork(void);
void cuf_inodes_after_fork(void);
void cuf_log_after_fork(void);
void cuf_pool_after_fork(void);
void cuf_streams_after_fork(void);
/* These take and release the locks of all batches: before fork(), and after it in parent and child. */
void cuf_batches_before_fork(void);
void cuf_batches_after_fork(bool child);
/* Called in the child without locks: release what the parent's engines knew, and complete a close of the driver. */
void cuf_engines_in_child(void);
void cuf_driver_in_child(void);

#endif /* CUF_LOCKS_H */
