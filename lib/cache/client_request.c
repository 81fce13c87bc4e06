// SPDX-License-Identifier: Apache-2.0
/*
 * A request from its call to its completion.  It is cut into parts, each small enough for the
 * server to take in one message.  A part is sent when fewer than depth parts are in flight and,
 * for a write, the window has room.  Until then it waits here, which is not a failure.
 */
#include <stdlib.h>

#include "cache/client.h"

#define SENDS_SPARED	3	/* message slots that are kept for a ping, a got and a bye */
#define SLOT_BITS	10	/* low bits of a part's id: its slot, one of 1024; the bits above change at each use */

_Static_assert(DND_WIRE_DEPTH_MAX <= 1 << SLOT_BITS, "an id has room for the number of the part");

/* ---- the end of a request ---- */

void dnd_cclient_recycle(struct donard_cache *cache, struct dnd_cclient_request *request)
{
	free(request->told);
	memset(request, 0, sizeof(*request));
	request->next = cache->idle;
	cache->idle = request;
}

static void end(struct donard_cache *cache, struct dnd_cclient_request *request)
{
	if (!request->completion.result)
		request->completion.result = (int64_t)(request->type == DND_WIRE_WRITE || request->type == DND_WIRE_READ ?
						       request->length : 0);
	if (request->memory)
		request->memory->users--;
	cache->source.working--;
	cache->source.done++;
	dnd_cclient_list_add(&cache->done, request);
}

/* Keeps the first failure, and begins no further part. */
static void fail(struct donard_cache *cache, struct dnd_cclient_request *request, int rc)
{
	request->all_begun = true;
	if (request->completion.result)
		return;
	request->completion.result = rc;
	request->told = dnd_told_make(cache->ctx, &request->completion);
}

/* ---- one part ---- */

static int post(struct donard_cache *cache, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (!ibv_post_send(cache->link.id->qp, wr, &bad))
		return 0;
	cache->link.lost = true;
	return -ECONNRESET;
}

/* DATA.  The RDMA WRITE is not signalled; the completion of the message behind it stands for both. */
static int put_data(struct donard_cache *cache, const struct dnd_cclient_request *request, uint64_t length,
		    uint64_t at)
{
	const struct donard_memory *memory = request->memory->memory;
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory->window.data + request->memory_offset + request->begun,
		.length = (uint32_t)length,
		.lkey = request->memory->source.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = DND_WR_DATA, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = cache->offer.window_address + at, .rkey = cache->offer.window_rkey },
	};

	return post(cache, &wr);
}

/* A device that does DMA may hold the last bytes back; this read pushes them out. */
static int read_back(struct donard_cache *cache, uint64_t end)
{
	uint64_t bytes = sizeof(cache->read_back);
	struct ibv_sge sge = {
		.addr = (uintptr_t)&cache->read_back, .length = (uint32_t)bytes, .lkey = cache->read_back_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = DND_WR_DATA, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.wr.rdma = { .remote_addr = cache->offer.window_address + end - bytes, .rkey = cache->offer.window_rkey },
	};

	return post(cache, &wr);
}

int dnd_cclient_message(struct donard_cache *cache, const struct dnd_wire_message *message, unsigned int flags)
{
	struct dnd_wire_message own = *message;
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES];

	own.nonce = cache->offer.nonce;
	dnd_wire_encode(&own, bytes);
	return dnd_link_send(&cache->link, bytes, flags);
}

static bool moves(const struct dnd_cclient_request *request)
{
	return request->type == DND_WIRE_WRITE || request->type == DND_WIRE_READ;
}

static uint64_t part_bytes(const struct donard_cache *cache, const struct dnd_cclient_request *request)
{
	uint64_t left = request->length - request->begun;

	return moves(request) ? dnd_min(left, cache->offer.request_bytes_max) : left;
}

static int prepare_write(struct donard_cache *cache, const struct dnd_cclient_request *request,
			 struct dnd_wire_message *message, unsigned int *flags)
{
	int rc = dnd_cclient_checksum(request->memory->memory, request->memory_offset + request->begun,
				      message->length, &message->key);

	if (rc)
		return rc;
	rc = put_data(cache, request, message->length, message->address);
	if (!rc && cache->read_back_mr) {
		rc = read_back(cache, message->address + message->length);
		*flags = IBV_SEND_FENCE;
	}
	if (!rc)
		dnd_cache_ring_take(&cache->ring, message->length);
	return rc;
}

static int prepare(struct donard_cache *cache, const struct dnd_cclient_request *request,
		   struct dnd_wire_message *message, unsigned int *flags)
{
	const struct dnd_cclient_memory *memory = request->memory;

	if (request->type == DND_WIRE_WRITE)
		return prepare_write(cache, request, message, flags);
	if (request->type == DND_WIRE_READ) {
		message->address = (uintptr_t)memory->memory->window.data + request->memory_offset + request->begun;
		message->key = memory->target.mr->rkey;
	}
	return 0;
}

static struct dnd_cclient_part *free_part(struct donard_cache *cache)
{
	uint32_t slot = 0;

	while (cache->parts[slot].request)
		slot++;
	cache->parts[slot].id = ++cache->next_id << SLOT_BITS | slot;
	return &cache->parts[slot];
}

/* @at: where in the window the bytes go. */
static int send_part(struct donard_cache *cache, struct dnd_cclient_request *request, uint64_t at)
{
	struct dnd_cclient_part *part = free_part(cache);
	struct dnd_wire_message message = {
		.type = request->type, .id = part->id, .flags = request->wire_flags, .address = at,
		.length = part_bytes(cache, request),
	};
	unsigned int flags = 0;
	int rc;

	if (request->type != DND_WIRE_FLUSH)
		message.drive_offset = request->drive_offset + request->begun;
	rc = prepare(cache, request, &message, &flags);
	if (!rc)
		rc = dnd_cclient_message(cache, &message, flags);
	if (rc)
		return rc;
	if (request->type == DND_WIRE_WRITE)
		request->memory->last_send = cache->link.sent;
	part->request = request;
	cache->parts_busy++;
	request->parts++;
	request->begun += message.length;
	request->all_begun = request->begun == request->length;
	cache->counts.messages++;
	return 0;
}

/* ---- sending what has room ---- */

static bool has_room(struct donard_cache *cache, struct dnd_cclient_request *request, uint64_t *at)
{
	*at = 0;
	if (request->type != DND_WIRE_WRITE)
		return true;
	if (dnd_cache_ring_room(&cache->ring, part_bytes(cache, request), at))
		return true;
	if (!request->waited)
		cache->counts.waited++;
	request->waited = true;
	return false;
}

/* Sends one part of the first request in the list.  Returns 1, 0 if there is no room, or -ECONNRESET. */
static int send_first(struct donard_cache *cache, struct dnd_cclient_list *list)
{
	struct dnd_cclient_request *request = list->first;
	uint64_t at;
	int rc;

	if (!request || cache->parts_busy == cache->offer.depth || cache->link.free_count <= SENDS_SPARED ||
	    !has_room(cache, request, &at))
		return 0;
	rc = send_part(cache, request, at);
	if (cache->link.lost)
		return -ECONNRESET;
	if (rc)
		fail(cache, request, rc);
	if (request->all_begun) {
		dnd_cclient_list_take(list);
		if (!request->parts)
			end(cache, request);
	}
	return 1;
}

/* Takes turns between the lists, so that reads do not wait for room in the window. */
int dnd_cclient_send(struct donard_cache *cache)
{
	int writes, others;

	do {
		others = send_first(cache, &cache->others);
		writes = others < 0 ? others : send_first(cache, &cache->writes);
	} while (writes > 0 || (!writes && others > 0));
	return writes;
}

/* ---- answers ---- */

static int refused(struct donard_cache *cache, const struct dnd_wire_message *message)
{
	const char *peer = cache->reach.peer, *drive = cache->offer.drive;

	switch (message->status) {
	case DND_WIRE_MISMATCH:
		return dnd_fail(cache->ctx, DND_E_MISMATCH, "%s: the bytes in the cache are not those that were sent; "
				"nothing was written. The memory changed during the request, or the network, or the "
				"NVRAM is at fault.", peer);
	case DND_WIRE_BAD_RANGE:
		return dnd_fail(cache->ctx, DND_E_PAST_END, "%s: the server takes no request of that offset and length.",
				peer);
	case DND_WIRE_NO_MEMORY:
		return dnd_fail(cache->ctx, DND_E_NO_MEMORY, "%s: the server has no memory left for this request.", peer);
	case DND_WIRE_NVRAM_FAILED:
		return dnd_fail(cache->ctx, DND_E_DEVICE, "%s: the server's NVRAM failed. Whoever runs the server was told more.", peer);
	default:
		return dnd_fail(cache->ctx, DND_E_DEVICE, "%s: the server's drive %s failed. Whoever runs the server was told more.",
				peer, drive);
	}
}

/* The failure goes into the completion, and does not become the context's last one. */
static void part_failed(struct donard_cache *cache, struct dnd_cclient_request *request,
			const struct dnd_wire_message *message)
{
	struct dnd_failure before = dnd_failure_keep(cache->ctx);

	fail(cache, request, refused(cache, message));
	dnd_failure_put_back(cache->ctx, &before);
}

static void leave_list(struct dnd_cclient_list *list, struct dnd_cclient_request *request)
{
	struct dnd_cclient_request **place = &list->first;

	while (*place && *place != request)
		place = &(*place)->next;
	if (!*place)
		return;
	*place = request->next;
	if (list->last == &request->next)
		list->last = place;
}

int dnd_cclient_take_done(struct donard_cache *cache, const struct dnd_wire_message *message)
{
	uint32_t slot = message->id & ((1U << SLOT_BITS) - 1);
	struct dnd_cclient_part *part = &cache->parts[slot];
	struct dnd_cclient_request *request;

	if (slot >= cache->offer.depth || !part->request || part->id != message->id ||
	    !dnd_cache_ring_release(&cache->ring, message->released))
		return -EPROTO;
	request = part->request;
	part->request = NULL;
	cache->parts_busy--;
	request->parts--;
	/*
	 * A server with volatile NVRAM sets the flag in each answer.  It concerns only writes and trims: flushes end on the
	 * drive, and a read stores nothing.
	 */
	if (message->flags & DND_WIRE_VOLATILE && (request->type == DND_WIRE_WRITE || request->type == DND_WIRE_TRIM))
		request->completion.flags |= DONARD_COMPLETION_VOLATILE;
	if (message->status != DND_WIRE_OK) {
		part_failed(cache, request, message);
		leave_list(request->type == DND_WIRE_WRITE ? &cache->writes : &cache->others, request);
	}
	if (request->all_begun && !request->parts)
		end(cache, request);
	return 0;
}

void dnd_cclient_fail_all(struct donard_cache *cache)
{
	cache->writes.first = cache->others.first = NULL;
	cache->writes.last = &cache->writes.first;
	cache->others.last = &cache->others.first;
	for (uint32_t i = 0; i < cache->offer.depth; i++)
		cache->parts[i].request = NULL;
	cache->parts_busy = 0;
	for (uint32_t i = 0; i < cache->options.depth; i++) {
		struct dnd_cclient_request *request = &cache->requests[i];

		if (!request->busy || (request->all_begun && !request->parts))
			continue;
		fail(cache, request, -ECONNRESET);
		request->parts = 0;
		end(cache, request);
	}
}

/*
 * Ends requests whose region is being removed.  Parts in flight are still awaited, but no further part is sent: it may have to
 * wait for room in the window for hours.
 */
static void stop_leaving(struct donard_cache *cache)
{
	struct dnd_failure before = dnd_failure_keep(cache->ctx);

	for (uint32_t i = 0; i < cache->options.depth; i++) {
		struct dnd_cclient_request *request = &cache->requests[i];

		if (!request->busy || !request->memory || !request->memory->leaving || request->all_begun)
			continue;
		leave_list(request->type == DND_WIRE_WRITE ? &cache->writes : &cache->others, request);
		fail(cache, request, dnd_cclient_memory_leaving(request->memory->memory));
		if (!request->parts)
			end(cache, request);
	}
	dnd_failure_put_back(cache->ctx, &before);
}

void dnd_cclient_look_after(struct donard_cache *cache)
{
	if (dnd_cclient_memories_look(cache))
		stop_leaving(cache);
	dnd_cclient_memories_release(cache);
}

/* ---- calls of the program ---- */

/* A request of which a part was sent cannot be canceled; it ends when its parts have been answered. */
static void cancel_one(struct donard_cache *cache, struct dnd_cclient_request *request)
{
	struct dnd_failure before;

	if (request->begun || request->parts)
		return;
	leave_list(request->type == DND_WIRE_WRITE ? &cache->writes : &cache->others, request);
	before = dnd_failure_keep(cache->ctx);
	fail(cache, request, dnd_fail(cache->ctx, DND_E_CANCELED, "%s: canceled", cache->reach.peer));
	dnd_failure_put_back(cache->ctx, &before);
	end(cache, request);
}

unsigned int dnd_cclient_cancel(struct donard_cache *cache, const void *user)
{
	unsigned int found = 0;

	for (uint32_t i = 0; i < cache->options.depth; i++) {
		struct dnd_cclient_request *request = &cache->requests[i];

		if (!request->busy || request->completion.user != user || (request->all_begun && !request->parts))
			continue;
		cancel_one(cache, request);
		found++;
	}
	return found;
}

int dnd_cclient_add(struct donard_cache *cache, const struct dnd_cclient_request *asked,
		    struct donard_memory *memory)
{
	struct dnd_cclient_request *request = cache->idle;
	struct dnd_cclient_memory *registered = NULL;
	int rc = 0;

	if (!request)
		return dnd_fail(cache->ctx, DND_E_QUEUE_FULL, "%s: %u requests are in flight, as many as options.depth "
				"says. Take completions first, or connect with a larger depth.", cache->reach.peer,
				cache->options.depth);
	if (memory)
		registered = dnd_cclient_memory_find(cache, memory, asked->type == DND_WIRE_READ, &rc);
	if (rc)
		return rc;
	cache->idle = request->next;
	*request = *asked;
	request->busy = true;
	request->memory = registered;
	request->completion.error_code = request->completion.error = "";
	if (registered)
		registered->users++;
	cache->source.working++;
	cache->counts.requests++;
	dnd_cclient_list_add(request->type == DND_WIRE_WRITE ? &cache->writes : &cache->others, request);
	return 0;
}
