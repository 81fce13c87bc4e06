/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for calls that cannot be interrupted: the caller goes on, and leaves the thread alone if it has to. */
#ifndef DONARD_RDMA_THREAD_H
#define DONARD_RDMA_THREAD_H

#include <pthread.h>

/* Without the caller's signals: those are for the caller's own threads.  0 or errno. */
int dnd_thread_start(pthread_t *thread, void *(*fn)(void *user), void *user);

#endif /* DONARD_RDMA_THREAD_H */
