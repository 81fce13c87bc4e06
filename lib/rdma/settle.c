// SPDX-License-Identifier: Apache-2.0
/*
 * See target.h.  In the kernel the barrier of a persistent region waits until memory that was reset is ready again, for
 * as long as PMRCAP allows the drive, and only a deadly signal ends that.  So it has a thread, and who asked for it goes on meanwhile.
 *
 * The thread has descriptors of its own and shares no memory with anybody, so that it can be left alone: it ends once
 * the device is ready, the region goes away, or the process ends.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rdma/target.h"
#include "rdma/thread.h"

#define TICK_MS		20
#define MOMENT_MS	100	/* in which it ends if the region goes away */

struct barrier {
	struct dnd_region region;	/* the same open file by another descriptor */
	int told;			/* an event: errno, plus one */
};

static void free_barrier(struct barrier *barrier)
{
	dnd_region_close(&barrier->region);
	if (barrier->told >= 0)
		close(barrier->told);
	free(barrier);
}

static void *run(void *user)
{
	struct barrier *barrier = user;
	int rc = dnd_region_try_sync(&barrier->region, true);

	/* First: who has been told may take the region to be free. */
	dnd_region_close(&barrier->region);
	eventfd_write(barrier->told, (eventfd_t)-rc + 1);
	free_barrier(barrier);
	return NULL;
}

static struct barrier *new_barrier(const struct dnd_region *region, int told)
{
	struct barrier *barrier = malloc(sizeof(*barrier));

	if (!barrier)
		return NULL;
	barrier->region = *region;
	barrier->region.fd = fcntl(region->fd, F_DUPFD_CLOEXEC, 0);
	barrier->told = fcntl(told, F_DUPFD_CLOEXEC, 0);
	if (barrier->region.fd >= 0 && barrier->told >= 0)
		return barrier;
	free_barrier(barrier);
	return NULL;
}

static bool begin(const struct dnd_region *region, int told)
{
	struct barrier *barrier = new_barrier(region, told);
	pthread_t thread;

	if (!barrier)
		return false;
	/* The barrier is that of the CPU that it runs on: what was stored by this one goes ahead. */
	__sync_synchronize();
	if (dnd_thread_start(&thread, run, barrier)) {
		free_barrier(barrier);
		return false;
	}
	pthread_detach(thread);
	return true;
}

static bool has_ended(int told, int wait_ms)
{
	struct pollfd pollfd = { .fd = told, .events = POLLIN };

	return poll(&pollfd, 1, wait_ms) == 1;
}

static int await(int told, int (*meanwhile_fn)(void *user), void *user)
{
	eventfd_t word = EIO + 1;	/* not passed, if nobody says so */
	int rc;

	while (!has_ended(told, TICK_MS)) {
		rc = meanwhile_fn(user);
		if (rc) {
			has_ended(told, MOMENT_MS);
			return rc;
		}
	}
	eventfd_read(told, &word);
	return -(int)(word - 1);
}

/* Without a thread it runs here, and nobody hears anything meanwhile. */
static int settle_persistent(const struct dnd_region *region, int (*meanwhile_fn)(void *user), void *user)
{
	int told = eventfd(0, EFD_CLOEXEC), rc;

	if (told >= 0 && begin(region, told))
		rc = await(told, meanwhile_fn, user);
	else
		rc = dnd_region_try_sync(region, true);
	if (told >= 0)
		close(told);
	return rc;
}

int dnd_target_settle(const struct donard_memory *memory, int (*meanwhile_fn)(void *user), void *user)
{
	if (!dnd_memory_is_region(memory))
		return 0;
	if (!dnd_target_persistent(memory))
		return dnd_region_try_sync(&memory->region, false);
	return settle_persistent(&memory->region, meanwhile_fn, user);
}
