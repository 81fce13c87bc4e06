// SPDX-License-Identifier: Apache-2.0
/* Memory that a connection to a cache has registered: kept for later requests, released when its region goes away. */
#include <poll.h>
#include <sys/epoll.h>

#include "cache/client.h"
#include "cache/log.h"

#define CHECKSUM_STEP	16384

struct dnd_cclient_memory *dnd_cclient_memory_known(struct donard_cache *cache,
						    const struct donard_memory *memory)
{
	for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++)
		if (cache->memories[i].memory == memory)
			return &cache->memories[i];
	return NULL;
}

/* Starts or ends the watch that makes the queue's descriptor readable when the memory's region is being removed. */
static void watch(struct donard_cache *cache, const struct donard_memory *memory, bool watch)
{
	struct epoll_event event = { .events = EPOLLPRI };

	if (cache->source.fd >= 0 && dnd_memory_is_region(memory))
		epoll_ctl(cache->source.fd, watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, memory->region.fd, &event);
}

bool dnd_cclient_memory_is_sent(const struct donard_cache *cache, const struct dnd_cclient_memory *memory)
{
	return memory->last_send > dnd_link_sends_over(&cache->link);
}

static bool is_used(const struct donard_cache *cache, const struct dnd_cclient_memory *memory)
{
	return memory->users || dnd_cclient_memory_is_sent(cache, memory);
}

void dnd_cclient_memory_drop(struct donard_cache *cache, struct dnd_cclient_memory *memory)
{
	struct donard_memory *held = memory->memory;

	if (!memory->leaving)
		watch(cache, held, false);
	dnd_unregister(&memory->source);
	dnd_unregister(&memory->target);
	memset(memory, 0, sizeof(*memory));
	dnd_memory_put(held);
}

/* Returns a free place, or else that of the memory unused for the longest time, which is dropped.  NULL: all are in use. */
static struct dnd_cclient_memory *place_for(struct donard_cache *cache)
{
	struct dnd_cclient_memory *oldest = NULL;

	for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++) {
		struct dnd_cclient_memory *one = &cache->memories[i];

		if (!one->memory)
			return one;
		if (!is_used(cache, one) && (!oldest || one->used < oldest->used))
			oldest = one;
	}
	if (oldest)
		dnd_cclient_memory_drop(cache, oldest);
	return oldest;
}

static int check(struct donard_cache *cache, const struct donard_memory *memory, bool target)
{
	int rc;

	if (memory->ctx != cache->ctx)
		return dnd_fail_member(cache->ctx, DND_E_BAD_OPTION, DND_AT("memory"),
				       "%s: the memory was made with another context than "
				       "the cache. Use one.", dnd_memory_name(memory));
	rc = dnd_memory_check_mapped(memory);
	return !rc && target ? dnd_memory_check_writable(memory) : rc;
}

static int add(struct donard_cache *cache, struct donard_memory *memory, struct dnd_cclient_memory **added)
{
	struct dnd_cclient_memory *place = place_for(cache);

	if (!place)
		return dnd_fail(cache->ctx, DND_E_QUEUE_FULL, "%d memories, as many as a connection registers, have "
				"requests in flight, or the network has not acknowledged yet what was written from them. Take "
				"completions first.", DND_CCLIENT_MEMORIES_MAX);
	dnd_handle_get(&memory->handle);
	place->memory = memory;
	watch(cache, memory, true);
	*added = place;
	return 0;
}

int dnd_cclient_memory_leaving(const struct donard_memory *memory)
{
	return dnd_fail(memory->ctx, DND_E_REGION_GONE, "%s: the region is being removed.", dnd_memory_name(memory));
}

static int find(struct donard_cache *cache, struct donard_memory *memory, bool target,
		struct dnd_cclient_memory **found)
{
	struct dnd_registration *registration;
	int rc = check(cache, memory, target);

	*found = rc ? NULL : dnd_cclient_memory_known(cache, memory);
	if (!rc && !*found)
		rc = add(cache, memory, found);
	if (!rc && (*found)->leaving)
		rc = dnd_cclient_memory_leaving(memory);
	if (rc)
		return rc;
	registration = target ? &(*found)->target : &(*found)->source;
	if (!registration->mr)
		rc = dnd_register(memory, 0, memory->length, cache->link.pd, target ? DONARD_RDMA_WRITE : 0,
				  registration);
	if (rc && !(*found)->source.mr && !(*found)->target.mr)
		dnd_cclient_memory_drop(cache, *found);
	return rc;
}

struct dnd_cclient_memory *dnd_cclient_memory_find(struct donard_cache *cache, struct donard_memory *memory,
						   bool target, int *rc)
{
	struct dnd_cclient_memory *found;

	*rc = find(cache, memory, target, &found);
	if (*rc)
		return NULL;
	found->used = cache->counts.requests;
	return found;
}

static bool is_watched(const struct dnd_cclient_memory *one)
{
	return one->memory && !one->leaving && dnd_memory_is_region(one->memory);
}

/*
 * Runs at each call, because a region that has called back keeps the queue's descriptor readable until it is seen here.  Makes
 * one system call for all memories.
 */
bool dnd_cclient_memories_look(struct donard_cache *cache)
{
	struct dnd_cclient_memory *watched[DND_CCLIENT_MEMORIES_MAX];
	struct pollfd fds[DND_CCLIENT_MEMORIES_MAX];
	unsigned int count = 0;
	bool found = false;

	for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++) {
		if (!is_watched(&cache->memories[i]))
			continue;
		watched[count] = &cache->memories[i];
		fds[count++] = (struct pollfd){ .fd = cache->memories[i].memory->region.fd, .events = POLLPRI };
	}
	if (!count || poll(fds, count, 0) <= 0)
		return false;
	for (unsigned int i = 0; i < count; i++) {
		if (!fds[i].revents || !dnd_region_called_back(&watched[i]->memory->region))
			continue;
		watched[i]->leaving = found = true;
		watch(cache, watched[i]->memory, false);	/* else it keeps the queue's descriptor readable to its end */
	}
	return found;
}

void dnd_cclient_memories_release(struct donard_cache *cache)
{
	for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++)
		if (cache->memories[i].leaving && !is_used(cache, &cache->memories[i]))
			dnd_cclient_memory_drop(cache, &cache->memories[i]);
}

/* Reads bytes of a device by dnd_memory_load(), which fails if its region goes away meanwhile. */
int dnd_cclient_checksum(const struct donard_memory *memory, uint64_t offset, uint64_t length, uint32_t *sum)
{
	uint8_t bytes[CHECKSUM_STEP];
	uint64_t step;
	int rc;

	*sum = 0;
	if (!dnd_memory_is_region(memory) && !dnd_memory_is_imported(memory)) {
		*sum = dnd_cache_checksum(0, memory->window.data + offset, length);
		return 0;
	}
	for (uint64_t at = 0; at < length; at += step) {
		step = dnd_min(length - at, sizeof(bytes));
		rc = dnd_memory_load(memory, offset + at, bytes, step);
		if (rc)
			return dnd_memory_access_failed(memory, -rc);
		*sum = dnd_cache_checksum(*sum, bytes, step);
	}
	return 0;
}
