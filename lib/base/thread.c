// SPDX-License-Identifier: Apache-2.0
/* See thread.h. */
#include <signal.h>

#include "base/thread.h"

int dnd_thread_start(pthread_t *thread, void *(*fn)(void *user), void *user)
{
	sigset_t all, former;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	rc = pthread_create(thread, NULL, fn, user);
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	return rc;
}
