// SPDX-License-Identifier: Apache-2.0
/*
 * See target.h.  After a reset, the barrier of a persistent region waits in the kernel until the memory is ready again.
 * PMRCAP says how long the drive may take, and only a fatal signal interrupts the wait.  So the barrier runs in a
 * thread, and the caller goes on meanwhile.
 *
 * The thread has its own descriptors and shares no memory with others, so that it can be abandoned: it ends once the
 * device is ready, the region goes away, or the process ends.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rdma/target.h"
#include "rdma/thread.h"

#define TICK_MS		20
#define MOMENT_MS	100	/* within which it ends if the region goes away */

struct barrier {
	struct dnd_region region;	/* the same open file by another descriptor */
	int told;			/* an eventfd that gets the errno plus one */
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

	/* Close it before the event, after which the caller may rely on the region being free. */
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
	/* The barrier orders only the stores of the CPU that it runs on, so order those of this one first. */
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
	eventfd_t word = EIO + 1;	/* the barrier counts as failed if the read fails */
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

/* If no thread can be made, the barrier runs here, and @meanwhile_fn is not called. */
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
