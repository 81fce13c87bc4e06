/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library, for calls that may take long: the caller goes on meanwhile. */
#ifndef DND_THREAD_H
#define DND_THREAD_H

#include <pthread.h>

/* The thread blocks all signals: those are for the caller's own threads.  Returns 0 or an errno. */
int dnd_thread_start(pthread_t *thread, void *(*fn)(void *user), void *user);

#endif /* DND_THREAD_H */
