// SPDX-License-Identifier: Apache-2.0
/* The calls of a client of a write cache; the queue delivers its completions. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cache/client.h"

#define DEFAULT_DEPTH		64
#define DEFAULT_TIMEOUT_MS	10000
#define KNOWN_FLUSH_FLAGS	DONARD_CACHE_TO_DRIVE

static struct donard_cache *cache_of(struct dnd_queue_source *source)
{
	return (struct donard_cache *)source;
}

/* ---- as a source of the queue ---- */

static void work(struct dnd_queue_source *source)
{
	dnd_cclient_work(cache_of(source));
}

/* The completion's strings stay valid until the next forget(). */
static void take(struct dnd_queue_source *source, struct donard_completion *completion)
{
	struct donard_cache *cache = cache_of(source);
	struct dnd_cclient_request *request = dnd_cclient_list_take(&cache->done);

	source->done--;
	*completion = request->completion;
	if (request->told) {
		request->told->next = cache->told;
		cache->told = request->told;
		request->told = NULL;
	}
	dnd_cclient_recycle(cache, request);
}

static void forget(struct dnd_queue_source *source)
{
	struct donard_cache *cache = cache_of(source);
	struct dnd_told *told;

	while ((told = cache->told)) {
		cache->told = told->next;
		free(told);
	}
}

static unsigned int cancel(struct dnd_queue_source *source, const void *user)
{
	return dnd_cclient_cancel(cache_of(source), user);
}

static void end(struct dnd_queue_source *source, bool inherited)
{
	struct donard_cache *cache = cache_of(source);

	cache->inherited = inherited;
	if (!inherited)
		dnd_cclient_disconnect(cache);
	cache->over = true;
}

static const struct dnd_queue_source_ops source_ops = {
	.work = work, .take = take, .forget = forget, .cancel = cancel, .end = end,
};

/* ---- begin and end ---- */

static struct dnd_fault refused(const struct donard_cache_options *options)
{
	if (!options->address)
		return DND_AT("options.address");
	return options->flags ? DND_VALUE("options.flags", options->flags) : DND_AT("options.reserved");
}

static int take_options(struct donard_cache *cache, const struct donard_cache_options *asked)
{
	struct donard_cache_options *options = &cache->options;
	int rc = DND_TAKE(cache->ctx, options, asked, "donard_cache_options");

	if (rc)
		return rc;
	if (!options->address || options->flags || options->reserved)
		return dnd_fail_member(cache->ctx, DND_E_BAD_OPTION, refused(options),
				       "no address, unknown flags, or reserved members that are set.");
	if (options->depth > DND_WIRE_DEPTH_MAX)
		return dnd_fail_member(cache->ctx, DND_E_BAD_OPTION, DND_MOST("options.depth", options->depth, DND_WIRE_DEPTH_MAX),
				       "a connection holds %d requests at most, not %u.",
				       DND_WIRE_DEPTH_MAX, options->depth);
	if (!options->depth)
		options->depth = DEFAULT_DEPTH;
	if (!options->port)
		options->port = DONARD_CACHE_PORT;
	if (!options->timeout_ms)
		options->timeout_ms = DEFAULT_TIMEOUT_MS;
	return 0;
}

static int make_requests(struct donard_cache *cache)
{
	cache->requests = calloc(cache->options.depth, sizeof(*cache->requests));
	cache->parts = calloc(cache->options.depth, sizeof(*cache->parts));
	if (!cache->requests || !cache->parts)
		return dnd_fail_memory(cache->ctx);
	for (uint32_t i = 0; i < cache->options.depth; i++)
		dnd_cclient_recycle(cache, &cache->requests[i]);
	cache->writes.last = &cache->writes.first;
	cache->others.last = &cache->others.first;
	cache->done.last = &cache->done.first;
	return 0;
}

static int open_cache(struct donard_cache *cache, struct donard_queue *queue,
		      const struct donard_cache_options *options)
{
	int rc = take_options(cache, options);

	if (!rc)
		rc = make_requests(cache);
	if (!rc)
		rc = dnd_cclient_connect(cache);
	if (!rc)
		rc = dnd_queue_source_add(queue, &cache->source);
	if (!rc)
		dnd_cclient_work(cache);
	return rc;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The child of a fork() leaves the connection and the registrations alone: they are the parent's. */
static void free_cache(struct donard_cache *cache)
{
	if (!cache->inherited) {
		dnd_cclient_disconnect(cache);
		for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++)
			if (cache->memories[i].memory)
				dnd_cclient_memory_drop(cache, &cache->memories[i]);
	}
	close_fd(cache->source.fd);
	close_fd(cache->timer_fd);
	forget(&cache->source);
	for (uint32_t i = 0; cache->requests && i < cache->options.depth; i++)
		free(cache->requests[i].told);
	free(cache->requests);
	free(cache->parts);
	dnd_handle_free(cache, sizeof(*cache));
}

DND_PUBLIC int donard_cache_connect(struct donard_queue *queue, const struct donard_cache_options *options,
				    struct donard_cache **cache_out)
{
	DND_USES(QUEUE, queue);
	struct donard_cache *cache;
	int rc = dnd_queue_check_thread(queue);

	if (rc)
		return rc;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return dnd_fail_memory(queue->ctx);
	cache->ctx = queue->ctx;
	cache->queue = queue;
	cache->source.ops = &source_ops;
	cache->source.fd = cache->timer_fd = -1;
	rc = open_cache(cache, queue, options);
	if (rc) {
		free_cache(cache);
		return rc;
	}
	dnd_handle_made(DND_A_CACHE, cache, cache->ctx);
	*cache_out = cache;
	return 0;
}

DND_PUBLIC void donard_cache_close(struct donard_cache *cache)
{
	DND_DEMANDS(CACHE, cache);
	if (!cache)
		return;
	if (cache->source.queue) {
		cache->inherited = dnd_queue_inherited(cache->source.queue);
		if (!cache->inherited && dnd_queue_check_thread(cache->source.queue))
			return;
		if (!cache->inherited)
			dnd_cclient_bye(cache);
		dnd_queue_source_remove(&cache->source);
		if (!cache->inherited)
			dnd_cclient_await_taken(cache);
	}
	free_cache(cache);
}

/* ---- information ---- */

static int check(const struct donard_cache *cache)
{
	if (!cache->source.queue)
		return -EPERM;
	return dnd_queue_check_thread(cache->source.queue);
}

/* True only if no answer is still to come: otherwise the request may be waiting for the link or the server instead. */
static bool waits_for_room(const struct donard_cache *cache)
{
	return cache->writes.first && cache->writes.first->waited && !cache->parts_busy;
}

DND_PUBLIC int donard_cache_info(const struct donard_cache *cache, struct donard_cache_info *info)
{
	DND_USES(CACHE, cache);
	const struct dnd_wire_offer *offer = &cache->offer;
	struct donard_cache_info found = cache->counts;
	int rc = check(cache);

	if (!rc)
		rc = dnd_struct_check(cache->ctx, info, "donard_cache_info");
	if (rc)
		return rc;
	found.identity = offer->identity;
	found.drive_bytes = offer->drive_bytes;
	found.window_bytes = offer->window_bytes;
	found.request_bytes_max = offer->request_bytes_max;
	found.block_bytes = offer->block_bytes;
	found.depth = offer->depth;
	found.silence_ms = offer->silence_ms;
	found.in_flight = cache->source.working + cache->source.done;
	found.durable = !(offer->flags & DND_WIRE_VOLATILE);
	found.reads_back = offer->flags & DND_WIRE_READ_BACK;
	found.connected = !cache->over;
	found.drive_fails = cache->drive_fails;
	found.copies_by_cpu = cache->copies_by_cpu;
	found.waits_for_room = waits_for_room(cache);
	snprintf(found.drive, sizeof(found.drive), "%s", offer->drive);
	snprintf(found.nvram, sizeof(found.nvram), "%s", offer->nvram);
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

/* ---- requests ---- */

static int usable(struct donard_cache *cache)
{
	int rc = check(cache);

	if (rc || !cache->over)
		return rc;
	dnd_failure_put_back(cache->ctx, &cache->reason);
	return -ECONNRESET;
}

static int check_range(struct donard_cache *cache, uint64_t drive_offset, uint64_t length)
{
	const struct dnd_wire_offer *offer = &cache->offer;

	if (!length || (drive_offset | length) % offer->block_bytes)
		return dnd_fail_member(cache->ctx, DND_E_ALIGNMENT, dnd_unaligned(drive_offset, length, offer->block_bytes),
				       "%s: offset %llu and length %llu must be multiples of %u, and the "
				       "length not 0: the cache takes whole blocks of the drive.", cache->reach.peer,
				       (unsigned long long)drive_offset, (unsigned long long)length, offer->block_bytes);
	if (!dnd_range_fits(drive_offset, length, offer->drive_bytes))
		return dnd_fail_member(cache->ctx, DND_E_PAST_END, dnd_past_end(drive_offset, length, offer->drive_bytes),
				       "%s: %llu bytes from offset %llu go past the end of the drive %s, "
				       "which is at %llu.", cache->reach.peer, (unsigned long long)length,
				       (unsigned long long)drive_offset, offer->drive, (unsigned long long)offer->drive_bytes);
	return 0;
}

/* Sends the request at once if there is room.  A lost link, or a request that failed to be sent, shows in a completion. */
static int add(struct donard_cache *cache, const struct dnd_cclient_request *request, struct donard_memory *memory)
{
	int rc = dnd_cclient_add(cache, request, memory);

	if (!rc && dnd_cclient_send(cache))
		cache->link.lost = true;
	if (cache->link.lost || cache->source.done)
		dnd_queue_source_tell(&cache->source);
	return rc;
}

static int move(struct donard_cache *cache, enum dnd_wire_type type, uint64_t drive_offset,
		struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user)
{
	int rc = usable(cache);

	if (!rc)
		rc = check_range(cache, drive_offset, length);
	if (!rc)
		rc = dnd_memory_check_range(memory, memory_offset, length);
	if (rc)
		return rc;
	return add(cache, &(struct dnd_cclient_request){
		.completion.user = user, .type = type, .drive_offset = drive_offset,
		.memory_offset = memory_offset, .length = length,
	}, memory);
}

DND_PUBLIC int donard_cache_write(struct donard_cache *cache, uint64_t drive_offset, struct donard_memory *memory,
				  uint64_t memory_offset, uint64_t length_bytes, void *user)
{
	DND_USES(CACHE, cache);
	DND_USES(MEMORY, memory);
	return move(cache, DND_WIRE_WRITE, drive_offset, memory, memory_offset, length_bytes, user);
}

DND_PUBLIC int donard_cache_read(struct donard_cache *cache, uint64_t drive_offset, struct donard_memory *memory,
				 uint64_t memory_offset, uint64_t length_bytes, void *user)
{
	DND_USES(CACHE, cache);
	DND_USES(MEMORY, memory);
	return move(cache, DND_WIRE_READ, drive_offset, memory, memory_offset, length_bytes, user);
}

DND_PUBLIC int donard_cache_trim(struct donard_cache *cache, uint64_t drive_offset, uint64_t length_bytes, void *user)
{
	DND_USES(CACHE, cache);
	int rc = usable(cache);

	if (!rc)
		rc = check_range(cache, drive_offset, length_bytes);
	if (rc)
		return rc;
	return add(cache, &(struct dnd_cclient_request){
		.completion.user = user, .type = DND_WIRE_TRIM, .drive_offset = drive_offset, .length = length_bytes,
	}, NULL);
}

DND_PUBLIC int donard_cache_flush(struct donard_cache *cache, uint32_t flags, void *user)
{
	DND_USES(CACHE, cache);
	int rc = usable(cache);

	if (rc)
		return rc;
	if (flags & ~KNOWN_FLUSH_FLAGS)
		return dnd_fail_member(cache->ctx, DND_E_BAD_OPTION, DND_VALUE("flags", flags & ~KNOWN_FLUSH_FLAGS),
				       "unknown flush flags %#x.", flags & ~KNOWN_FLUSH_FLAGS);
	return add(cache, &(struct dnd_cclient_request){
		.completion.user = user, .type = DND_WIRE_FLUSH,
		.wire_flags = flags & DONARD_CACHE_TO_DRIVE ? DND_WIRE_TO_DRIVE : 0,
	}, NULL);
}

/* ---- memory ---- */

DND_PUBLIC int donard_cache_register(struct donard_cache *cache, struct donard_memory *memory, unsigned int rights)
{
	DND_USES(CACHE, cache);
	DND_USES(MEMORY, memory);
	unsigned int unknown = rights & ~(DONARD_CACHE_FOR_WRITES | DONARD_CACHE_FOR_READS);
	int rc = usable(cache);

	if (rc)
		return rc;
	if (!rights || unknown)
		return dnd_fail_member(cache->ctx, DND_E_BAD_OPTION, DND_VALUE("directions", unknown),
				       "no direction, or unknown ones: %#x.", rights);
	if (rights & DONARD_CACHE_FOR_WRITES)
		dnd_cclient_memory_find(cache, memory, false, &rc);
	if (!rc && rights & DONARD_CACHE_FOR_READS)
		dnd_cclient_memory_find(cache, memory, true, &rc);
	return rc;
}

DND_PUBLIC int donard_cache_forget(struct donard_cache *cache, struct donard_memory *memory)
{
	DND_USES(CACHE, cache);
	DND_USES(MEMORY, memory);
	struct dnd_cclient_memory *known;
	int rc = check(cache);

	known = rc ? NULL : dnd_cclient_memory_known(cache, memory);
	if (!known)
		return rc;
	if (known->users)
		return dnd_fail(cache->ctx, DND_E_BUSY, "%s: %u requests in flight use it. Take their completions first.",
				dnd_memory_name(memory), known->users);
	if (dnd_cclient_memory_is_sent(cache, known)) {
		rc = dnd_cclient_await_sent(cache, known);
		/* The wait may have completed other requests: wake a program that polls the queue's descriptor. */
		if (cache->source.done)
			dnd_queue_source_tell(&cache->source);
	}
	/* If the connection or the region has ended meanwhile, the memory is dropped already. */
	if (!rc && known->memory)
		dnd_cclient_memory_drop(cache, known);
	return rc;
}
