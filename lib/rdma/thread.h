/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for calls that cannot be interrupted: the caller goes on meanwhile, and abandons the thread if it must. */
#ifndef DONARD_RDMA_THREAD_H
#define DONARD_RDMA_THREAD_H

#include <pthread.h>

/* The thread blocks all signals: those are for the caller's own threads.  Returns 0 or an errno. */
int dnd_thread_start(pthread_t *thread, void *(*fn)(void *user), void *user);

#endif /* DONARD_RDMA_THREAD_H */
