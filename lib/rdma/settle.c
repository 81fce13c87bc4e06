// SPDX-License-Identifier: Apache-2.0
/*
 * See target.h.  After a reset, the barrier of a persistent region waits in the kernel until the memory is ready again.
 * PMRCAP says how long the drive may take, and only a fatal signal interrupts the wait.  The exporter of another dma-buf
 * waits for the devices that work on it.  So these barriers run in a thread, and the caller goes on meanwhile.
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

#define TICK_MS		20
#define MOMENT_MS	100	/* within which it ends if the region goes away */

struct barrier {
	struct dnd_region region;	/* the same open file by another descriptor; fd -1: not of a region */
	struct dnd_dmabuf dmabuf;	/* then so is this one */
	int told;			/* an eventfd that gets the errno plus one */
};

static void let_go(struct barrier *barrier)
{
	dnd_region_close(&barrier->region);
	dnd_dmabuf_close(&barrier->dmabuf);
}

static void free_barrier(struct barrier *barrier)
{
	let_go(barrier);
	if (barrier->told >= 0)
		close(barrier->told);
	free(barrier);
}

static int wait_for(const struct dnd_region *region, const struct dnd_dmabuf *dmabuf)
{
	return region->fd >= 0 ? dnd_region_try_sync(region, true) : dnd_dmabuf_sync(dmabuf);
}

static void *run(void *user)
{
	struct barrier *barrier = user;
	int rc = wait_for(&barrier->region, &barrier->dmabuf);

	/* Close it before the event, after which the caller may rely on the region being free. */
	let_go(barrier);
	eventfd_write(barrier->told, (eventfd_t)-rc + 1);
	free_barrier(barrier);
	return NULL;
}

/* A dma-buf of a region is memory of that region, whose barrier it needs. */
static struct barrier *new_barrier(const struct donard_memory *memory, int told)
{
	struct barrier *barrier = malloc(sizeof(*barrier));
	bool of_region = dnd_memory_is_region(memory);

	if (!barrier)
		return NULL;
	barrier->region = memory->region;
	barrier->dmabuf = memory->dmabuf;
	barrier->region.fd = of_region ? fcntl(memory->region.fd, F_DUPFD_CLOEXEC, 0) : -1;
	barrier->dmabuf.fd = of_region ? -1 : fcntl(memory->dmabuf.fd, F_DUPFD_CLOEXEC, 0);
	barrier->told = fcntl(told, F_DUPFD_CLOEXEC, 0);
	if ((barrier->region.fd >= 0 || barrier->dmabuf.fd >= 0) && barrier->told >= 0)
		return barrier;
	free_barrier(barrier);
	return NULL;
}

static bool begin(const struct donard_memory *memory, int told)
{
	struct barrier *barrier = new_barrier(memory, told);
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
static int settle_slow(const struct donard_memory *memory, int (*meanwhile_fn)(void *user), void *user)
{
	int told = eventfd(0, EFD_CLOEXEC), rc;

	if (told >= 0 && begin(memory, told))
		rc = await(told, meanwhile_fn, user);
	else
		rc = wait_for(&memory->region, &memory->dmabuf);
	if (told >= 0)
		close(told);
	return rc;
}

/* No reset, as -EIO would be. */
static int show(const struct donard_memory *memory)
{
	return dnd_memory_flush(memory) ? -EREMOTEIO : 0;
}

int dnd_target_settle(const struct donard_memory *memory, int (*meanwhile_fn)(void *user), void *user)
{
	if (dnd_memory_is_region(memory) && !dnd_target_persistent(memory)) {
		int rc = dnd_region_try_sync(&memory->region, false);

		return rc ? rc : show(memory);
	}
	if (dnd_memory_is_region(memory) || dnd_memory_is_imported(memory))
		return settle_slow(memory, meanwhile_fn, user);
	__sync_synchronize();
	return 0;
}
