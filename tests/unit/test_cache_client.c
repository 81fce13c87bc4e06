// SPDX-License-Identifier: Apache-2.0
/* What a connection to a write cache sends, and when it releases memory; the device and the server are played. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "unit.h"
#include "cache/client.h"
#include "says.h"

#define BLOCK	4096U
#define WINDOW	(2 * BLOCK)
#define DEPTH	4U
#define SENDS	(DEPTH + DND_WIRE_SPARE)
#define AT	0x10000U	/* the window, as the server's device names it */

static struct {
	struct donard_cache cache;
	struct donard_memory memory;
	struct dnd_cclient_request requests[DEPTH];
	struct dnd_cclient_part parts[DEPTH];
	uint8_t bytes[2 * WINDOW], messages[SENDS * DND_WIRE_MESSAGE_BYTES];
	uint32_t free_sends[SENDS];
	struct ibv_context verbs;
	struct ibv_qp qp;
	struct ibv_mr mr;
	struct rdma_cm_id id;
	struct ibv_send_wr sent[8];
	unsigned int count, registered;
	int region_ends;	/* closing this descriptor lets the region be called back */
	unsigned int full;	/* so often the server has no window free */
	enum dnd_wire_status refuses;	/* then it answers with this; DND_WIRE_OK: not at all */
	unsigned int asked, stops_at;	/* how often the program was asked whether it goes on; when it said no, or 0 */
	unsigned int polls_until_sent;	/* 0: nothing that was sent completes */
	unsigned int polls_until_alive;	/* for each answer to a ping; 0: none comes */
	unsigned int polls, alive;	/* how many of these came */
	bool taken_from_device;	/* memory was unregistered that the device may still write to */
} scene;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(qp, &scene.qp);
	assert_true(scene.count < sizeof(scene.sent) / sizeof(*scene.sent));
	scene.sent[scene.count] = *wr;
	scene.sent[scene.count++].wr.rdma.rkey = wr->sg_list->length;	/* the list goes with the caller */
	return 0;
}

int __wrap_dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
			unsigned int rights, struct dnd_registration *registration);
int __wrap_dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
			unsigned int rights, struct dnd_registration *registration)
{
	(void)memory, (void)offset, (void)length, (void)pd, (void)rights;
	scene.registered++;
	registration->mr = &scene.mr;
	return 0;
}

void __wrap_dnd_unregister(struct dnd_registration *registration);
void __wrap_dnd_unregister(struct dnd_registration *registration)
{
	scene.registered -= registration->mr ? 1 : 0;
	scene.taken_from_device |= registration->mr && scene.id.qp && scene.cache.link.free_count < SENDS;
	registration->mr = NULL;
}

/* Like the kernel, returns when the device has finished with all that was posted. */
void __wrap_rdma_destroy_qp(struct rdma_cm_id *id);
void __wrap_rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

/* The rest of a connection is played, and not there to be freed. */
void __wrap_dnd_link_close(struct dnd_link *link);
void __wrap_dnd_link_close(struct dnd_link *link)
{
	(void)link;
}

int __wrap_dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler);
int __wrap_dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler)
{
	const struct dnd_wire_message alive = { .type = DND_WIRE_ALIVE };
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES];

	if (scene.polls_until_sent && !--scene.polls_until_sent)
		link->free_count = SENDS;
	if (!scene.polls_until_alive || ++scene.polls % scene.polls_until_alive)
		return 0;
	scene.alive++;
	dnd_wire_encode(&alive, bytes);
	return handler->on_message(handler->user, bytes, sizeof(bytes));
}

int __wrap_dnd_link_arm(struct dnd_link *link);
int __wrap_dnd_link_arm(struct dnd_link *link)
{
	(void)link;
	return 0;
}

void __wrap_dnd_link_disarm(struct dnd_link *link);
void __wrap_dnd_link_disarm(struct dnd_link *link)
{
	(void)link;
}

int __wrap_dnd_reach_take_events(struct dnd_reach *reach);
int __wrap_dnd_reach_take_events(struct dnd_reach *reach)
{
	(void)reach;
	return 0;
}

static int refuse(struct dnd_reach *reach, enum dnd_wire_status status)
{
	const struct dnd_wire_offer offer = { .status = status };
	uint8_t bytes[DND_WIRE_OFFER_BYTES];

	strcpy(reach->peer, "192.0.2.7");
	dnd_wire_offer_encode(&offer, bytes);
	return reach->ops->refused(reach->user, bytes, sizeof(bytes));
}

/* A server without a free window, then one that does not answer: only the time limit, or the program, ends this. */
int __wrap_dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port);
int __wrap_dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port)
{
	int rc = 0;

	(void)address, (void)port;
	if (scene.full) {
		scene.full--;
		return refuse(reach, DND_WIRE_BUSY);
	}
	if (scene.refuses)
		return refuse(reach, scene.refuses);
	for (int i = 0; i < 3 && !rc; i++)
		rc = reach->ops->give_up(reach->user);
	return rc ? rc : dnd_fail(reach->ctx, DND_E_PEER_SILENT, "no answer");
}

static void play_link(struct dnd_link *link)
{
	scene.verbs.ops.post_send = post_send;
	scene.qp.context = &scene.verbs;
	scene.id.qp = &scene.qp;
	*link = (struct dnd_link){
		.id = &scene.id, .mr = &scene.mr, .messages = scene.messages, .free_sends = scene.free_sends,
		.size = { .message_bytes = DND_WIRE_MESSAGE_BYTES, .sends = SENDS }, .free_count = SENDS,
	};
	for (uint32_t i = 0; i < SENDS; i++)
		scene.free_sends[i] = i;
}

static int set_up(void **state)
{
	struct donard_cache *cache = &scene.cache;

	(void)state;
	memset(&scene, 0, sizeof(scene));
	assert_int_equal(donard_open(&cache->ctx, NULL), 0);
	play_link(&cache->link);
	cache->source.fd = epoll_create1(EPOLL_CLOEXEC);
	cache->requests = scene.requests;
	cache->parts = scene.parts;
	cache->options.depth = cache->offer.depth = DEPTH;
	cache->options.timeout_ms = cache->offer.silence_ms = 10000;
	cache->offer.request_bytes_max = BLOCK;
	cache->offer.window_address = AT;
	cache->ring.bytes = WINDOW;
	cache->due_ns = UINT64_MAX;
	for (uint32_t i = 0; i < DEPTH; i++)
		dnd_cclient_recycle(cache, &scene.requests[i]);
	cache->writes.last = &cache->writes.first;
	cache->others.last = &cache->others.first;
	cache->done.last = &cache->done.first;
	scene.memory.ctx = cache->ctx;
	scene.memory.handle.holders = 1;
	scene.memory.region.fd = scene.memory.dmabuf.fd = scene.region_ends = -1;
	scene.memory.window.data = scene.bytes;
	scene.memory.length = sizeof(scene.bytes);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (scene.memory.region.fd >= 0)
		close(scene.memory.region.fd);
	for (uint32_t i = 0; i < DEPTH; i++)
		free(scene.requests[i].told);
	close(scene.cache.source.fd);
	donard_close(scene.cache.ctx);
	return 0;
}

static void writes(uint64_t blocks)
{
	const struct dnd_cclient_request asked = { .type = DND_WIRE_WRITE, .length = blocks * BLOCK };

	assert_int_equal(dnd_cclient_add(&scene.cache, &asked, &scene.memory), 0);
	dnd_cclient_work(&scene.cache);
}

static void was_sent(unsigned int number, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, unsigned int flags)
{
	assert_int_equal(scene.sent[number].opcode, opcode);
	assert_int_equal(scene.sent[number].wr.rdma.rkey, length);
	assert_int_equal(scene.sent[number].send_flags & IBV_SEND_FENCE, flags);
	if (opcode != IBV_WR_SEND)
		assert_int_equal(scene.sent[number].wr.rdma.remote_addr, AT + at);
}

/* On a device that does DMA, these reads make acknowledged bytes durable, and the message waits for them. */
static void end_of_each_write_is_read_back(void **state)
{
	struct ibv_mr back = { 0 };

	(void)state;
	scene.cache.read_back_mr = &back;
	writes(2);
	assert_int_equal(scene.count, 6);
	for (unsigned int i = 0; i < 2; i++) {
		was_sent(3 * i, IBV_WR_RDMA_WRITE, i * BLOCK, BLOCK, 0);
		was_sent(3 * i + 1, IBV_WR_RDMA_READ, (i + 1) * BLOCK - 8, 8, 0);
		was_sent(3 * i + 2, IBV_WR_SEND, 0, DND_WIRE_MESSAGE_BYTES, IBV_SEND_FENCE);
	}
}

static void nothing_is_read_back_of_soft_devices(void **state)
{
	(void)state;
	writes(1);
	assert_int_equal(scene.count, 2);
	was_sent(0, IBV_WR_RDMA_WRITE, 0, BLOCK, 0);
	was_sent(1, IBV_WR_SEND, 0, DND_WIRE_MESSAGE_BYTES, 0);
}

/* A pipe whose other end is closed looks to poll() as a region that is going away. */
static void be_a_region(void)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	scene.memory.region.fd = fds[0];
	scene.region_ends = fds[1];
	strcpy(scene.memory.region.name, "p2pmem0");
	scene.cache.ring.head = WINDOW;	/* requests wait for room; nothing is sent */
}

static bool descriptor_wakes(void)
{
	struct pollfd fd = { .fd = scene.cache.source.fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void region_goes_away(void)
{
	assert_false(descriptor_wakes());
	close(scene.region_ends);
	assert_true(descriptor_wakes());
	dnd_cclient_work(&scene.cache);
}

/* Though the full log of a failing drive may make no room for hours. */
static void waiting_request_ends_with_its_region(void **state)
{
	const struct dnd_cclient_request *ended;

	(void)state;
	be_a_region();
	writes(1);
	assert_int_equal(scene.registered, 1);
	assert_int_equal(scene.cache.source.done, 0);
	region_goes_away();
	ended = scene.cache.done.first;
	assert_non_null(ended);
	assert_int_equal(ended->completion.result, -ENODEV);
	assert_string_equal(ended->completion.error_code, "region-gone");
	assert_int_equal(scene.cache.source.working, 0);
	assert_null(scene.cache.writes.first);
	assert_int_equal(scene.registered, 0);
	assert_int_equal(scene.memory.handle.holders, 1);
	assert_false(descriptor_wakes());
}

/*
 * Parts that were sent end by their answers, and the region is released only then.  Meanwhile the descriptor does not wake the
 * program.
 */
static void region_stays_while_parts_are_in_flight(void **state)
{
	struct dnd_wire_message done = { .type = DND_WIRE_DONE };

	(void)state;
	be_a_region();
	writes(2);
	scene.requests[DEPTH - 1].parts = 1;
	scene.cache.parts[0] = (struct dnd_cclient_part){ .request = &scene.requests[DEPTH - 1] };
	scene.cache.parts_busy = 1;
	region_goes_away();
	assert_int_equal(scene.cache.source.done, 0);
	assert_int_equal(scene.registered, 1);
	assert_false(descriptor_wakes());
	assert_int_equal(dnd_cclient_take_done(&scene.cache, &done), 0);
	assert_int_equal(scene.cache.done.first->completion.result, -ENODEV);
	dnd_cclient_work(&scene.cache);
	assert_int_equal(scene.registered, 0);
}

/* The only request, of one part, is sent, and the server has answered it. */
static void writes_and_is_answered(void)
{
	struct dnd_wire_message done = { .type = DND_WIRE_DONE, .released = BLOCK };

	writes(1);
	done.id = scene.parts[0].id;
	assert_int_equal(dnd_cclient_take_done(&scene.cache, &done), 0);
	assert_int_equal(scene.cache.source.working, 0);
}

static struct donard_queue *in_queue(struct donard_cache *cache)
{
	struct donard_queue *queue;

	assert_int_equal(donard_queue_open(cache->ctx, NULL, &queue), 0);
	assert_int_equal(dnd_queue_source_add(queue, &cache->source), 0);
	return queue;
}

static void out_of_queue(struct donard_cache *cache, struct donard_queue *queue)
{
	dnd_queue_source_remove(&cache->source);
	donard_queue_close(queue);
}

/* If the acknowledgement was lost, the device sends the bytes again, from the memory. */
static void forget_waits_for_the_acknowledgement(void **state)
{
	struct donard_cache *cache = &scene.cache;
	struct donard_queue *queue = in_queue(cache);

	(void)state;
	writes_and_is_answered();
	cache->options.timeout_ms = 1;
	assert_int_equal(donard_cache_forget(cache, &scene.memory), -EBUSY);
	assert_says(donard_error(cache->ctx), "has not acknowledged after 1 ms");
	assert_int_equal(scene.registered, 1);
	cache->options.timeout_ms = 10000;
	scene.polls_until_sent = 3;
	assert_int_equal(donard_cache_forget(cache, &scene.memory), 0);
	assert_int_equal(scene.polls_until_sent, 0);
	assert_int_equal(scene.registered, 0);
	assert_false(scene.taken_from_device);
	assert_int_equal(scene.memory.handle.holders, 1);
	out_of_queue(cache, queue);
}

/* Its connection ends meanwhile, and with it the registration. */
static void forget_of_a_connection_that_ends(void **state)
{
	struct donard_cache *cache = &scene.cache;
	struct donard_queue *queue = in_queue(cache);

	(void)state;
	writes_and_is_answered();
	cache->withdrawn = DND_WIRE_STOPPED;
	cache->link.lost = true;
	assert_int_equal(donard_cache_forget(cache, &scene.memory), 0);
	assert_true(cache->over);
	assert_int_equal(scene.registered, 0);
	assert_int_equal(scene.memory.handle.holders, 1);
	out_of_queue(cache, queue);
}

static void region_stays_until_the_acknowledgement(void **state)
{
	(void)state;
	writes_and_is_answered();
	scene.cache.memories[0].leaving = true;
	dnd_cclient_work(&scene.cache);
	assert_int_equal(scene.registered, 1);
	scene.polls_until_sent = 1;
	dnd_cclient_work(&scene.cache);
	assert_int_equal(scene.registered, 0);
	assert_false(scene.taken_from_device);
}

/* The memory is registered until its write is acknowledged; another memory makes way, though it was used later. */
static void memory_makes_way_after_the_acknowledgement(void **state)
{
	struct dnd_cclient_memory *memories = scene.cache.memories;
	struct donard_memory others[DND_CCLIENT_MEMORIES_MAX];
	int rc;

	(void)state;
	writes_and_is_answered();
	for (unsigned int i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++) {
		others[i] = scene.memory;
		others[i].handle.holders = 1;
		scene.cache.counts.requests++;
		assert_non_null(dnd_cclient_memory_find(&scene.cache, &others[i], false, &rc));
	}
	assert_ptr_equal(memories[0].memory, &scene.memory);
	assert_ptr_equal(memories[1].memory, &others[DND_CCLIENT_MEMORIES_MAX - 1]);
}

static bool waits_for_room(void)
{
	struct donard_cache_info info = { .size = sizeof(info) };

	assert_int_equal(donard_cache_info(&scene.cache, &info), 0);
	return info.waits_for_room;
}

/* Bytes that a slow link, or a silent server, still has fill the window, too: that is no full log. */
static void full_log_and_slow_link(void **state)
{
	struct dnd_wire_message done = { .type = DND_WIRE_DONE };
	struct donard_queue *queue = in_queue(&scene.cache);

	(void)state;
	writes(4);
	assert_int_equal(scene.cache.parts_busy, 2);
	assert_int_equal(scene.cache.counts.waited, 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_false(waits_for_room());
		done.id = scene.parts[i].id;
		assert_int_equal(dnd_cclient_take_done(&scene.cache, &done), 0);
	}
	dnd_cclient_work(&scene.cache);
	assert_true(waits_for_room());
	assert_true(dnd_cache_ring_release(&scene.cache.ring, WINDOW));
	dnd_cclient_work(&scene.cache);
	assert_int_equal(scene.cache.parts_busy, 2);
	assert_false(waits_for_room());
	out_of_queue(&scene.cache, queue);
}

static void *copy_of(const void *bytes, size_t length)
{
	void *copy = malloc(length);

	assert_non_null(copy);
	return memcpy(copy, bytes, length);
}

/* Closes a copy of the cache, since the close frees it. */
static void closes(struct donard_queue *queue)
{
	struct donard_cache *cache = copy_of(&scene.cache, sizeof(scene.cache));

	cache->requests = copy_of(scene.requests, sizeof(scene.requests));
	cache->parts = copy_of(scene.parts, sizeof(scene.parts));
	for (uint32_t i = 0; i < DEPTH; i++)
		if (cache->parts[i].request)
			cache->parts[i].request = cache->requests + (cache->parts[i].request - scene.requests);
	cache->queue = queue;
	cache->timer_fd = scene.cache.source.fd = -1;
	assert_int_equal(dnd_queue_source_add(queue, &cache->source), 0);
	donard_cache_close(cache);
}

/* No device writes into memory after the close: the requests in flight end before their memory is let go. */
static void close_waits_for_the_device(void **state)
{
	struct donard_queue *queue;

	(void)state;
	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	writes(1);
	assert_int_equal(scene.registered, 1);
	assert_int_equal(scene.cache.source.working, 1);
	assert_int_equal(scene.memory.handle.holders, 2);
	closes(queue);
	assert_null(scene.id.qp);
	assert_int_equal(scene.registered, 0);
	assert_false(scene.taken_from_device);
	assert_int_equal(scene.memory.handle.holders, 1);
	donard_queue_close(queue);
}

/*
 * Over iWARP, TCP goes on sending the data that it has, so a write could arrive after those of a later connection.  The answer
 * to a ping that was sent before the write proves nothing.  Requests that were not sent yet are never sent.
 */
static void close_over_iwarp_waits_for_the_server(void **state)
{
	struct donard_queue *queue;

	(void)state;
	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	scene.cache.iwarp = scene.cache.pinged = true;
	writes(3);
	assert_int_equal(scene.count, 4);	/* the window has room for two blocks */
	scene.polls_until_alive = 3;
	closes(queue);
	assert_int_equal(scene.alive, 2);
	assert_int_equal(scene.count, 5);
	was_sent(4, IBV_WR_SEND, 0, DND_WIRE_MESSAGE_BYTES, 0);
	assert_null(scene.id.qp);
	donard_queue_close(queue);
}

/* For as long as it may be silent. */
static void close_over_iwarp_without_a_server(void **state)
{
	struct donard_queue *queue;

	(void)state;
	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	scene.cache.iwarp = true;
	scene.cache.options.timeout_ms = 1;
	writes(1);
	closes(queue);
	assert_null(scene.id.qp);
	donard_queue_close(queue);
}

/* Works as another cache of the same queue does that has heard from its server. */
static void other_works(struct dnd_queue_source *source)
{
	source->done++;
}

static void nothing_more(struct dnd_queue_source *source, bool inherited)
{
	(void)source, (void)inherited;
}

static void others_are_kept_alive_meanwhile(void **state)
{
	static const struct dnd_queue_source_ops ops = { .work = other_works, .end = nothing_more };
	struct dnd_queue_source other = { .ops = &ops, .fd = scene.cache.source.fd };
	const struct donard_cache_options options = { .size = sizeof(options), .address = "192.0.2.7" };
	struct donard_cache *cache = NULL;
	struct donard_queue *queue;
	struct pollfd fd = { .events = POLLIN };

	(void)state;
	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	assert_int_equal(dnd_queue_source_add(queue, &other), 0);
	dnd_queue_forget_event(queue);
	assert_int_equal(donard_cache_connect(queue, &options, &cache), -ETIMEDOUT);
	assert_null(cache);
	assert_int_equal(other.done, 3);
	fd.fd = donard_queue_descriptor(queue);
	assert_int_equal(poll(&fd, 1, 0), 1);
	other.done = 0;
	dnd_queue_source_remove(&other);
	donard_queue_close(queue);
}

/* The queue registered memory of a region, whose removal does not wait for the server. */
static void regions_are_let_go_meanwhile(void **state)
{
	const struct donard_cache_options options = { .size = sizeof(options), .address = "192.0.2.7" };
	struct donard_cache *cache = NULL;
	struct donard_queue *queue;

	(void)state;
	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	be_a_region();
	close(scene.region_ends);
	queue->registrations[0].memory = &scene.memory;
	queue->registration_count = 1;
	scene.memory.handle.holders = 2;
	assert_int_equal(donard_cache_connect(queue, &options, &cache), -ETIMEDOUT);
	assert_int_equal(scene.memory.handle.holders, 1);
	donard_queue_close(queue);
}

static int stop(void *user)
{
	assert_ptr_equal(user, &scene);
	return ++scene.asked == scene.stops_at;
}

static int fails_to_connect(uint32_t timeout_ms)
{
	const struct donard_cache_options options = {
		.size = sizeof(options), .address = "192.0.2.7", .timeout_ms = timeout_ms, .stop_fn = stop, .user = &scene,
	};
	struct donard_cache *cache = NULL;
	struct donard_queue *queue;
	int rc;

	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	rc = donard_cache_connect(queue, &options, &cache);
	assert_null(cache);
	donard_queue_close(queue);
	return rc;
}

static void full_server_is_asked_again(void **state)
{
	(void)state;
	scene.full = 2;
	assert_int_equal(fails_to_connect(60000), -ETIMEDOUT);
	assert_int_equal(scene.full, 0);
}

static void server_that_stays_full_refuses(void **state)
{
	(void)state;
	scene.full = UINT32_MAX;
	assert_int_equal(fails_to_connect(120), -EBUSY);
	assert_says(donard_error(scene.cache.ctx), "every window of the cache has a client");
	assert_true(scene.full < UINT32_MAX - 1);
}

/* While it waits for a window, and for an answer. */
static void program_stops_the_wait(void **state)
{
	(void)state;
	for (unsigned int full = 0; full < 2; full++) {
		scene.full = full ? UINT32_MAX : 0;
		scene.asked = 0;
		scene.stops_at = 3;
		assert_int_equal(fails_to_connect(60000), -ECANCELED);
		assert_string_equal(donard_error_code(scene.cache.ctx), "canceled");
		assert_int_equal(scene.asked, 3);
	}
	assert_in_range(scene.full, UINT32_MAX - 3, UINT32_MAX - 1);
}

/* A program that was built before the last members were there: what lies behind its structure is not looked at. */
static void options_of_an_older_program(void **state)
{
	struct donard_cache_options options = { .size = offsetof(struct donard_cache_options, stop_fn), .address = "192.0.2.7" };
	struct donard_cache *cache = NULL;
	struct donard_queue *queue;

	(void)state;
	options.stop_fn = stop;
	assert_int_equal(donard_queue_open(scene.cache.ctx, NULL, &queue), 0);
	assert_int_equal(donard_cache_connect(queue, &options, &cache), -ETIMEDOUT);
	assert_int_equal(scene.asked, 0);
	donard_queue_close(queue);
}

static void each_refusal_says_why(void **state)
{
	static const struct {
		enum dnd_wire_status status;
		int rc;
		const char *text;
	} refusals[] = {
		{ DND_WIRE_BAD_VERSION, -EPROTO, "another version of the protocol" },
		{ DND_WIRE_LOCAL_ONLY, -ECONNREFUSED, "only clients on its own machine" },
		{ DND_WIRE_STOPPED, -ESHUTDOWN, "about to end" },
		{ DND_WIRE_NO_MEMORY, -ECONNREFUSED, "no memory for another client" },
		{ DND_WIRE_CANNOT_OFFER, -ECONNREFUSED, "no room for a connection of this depth, or no route to the NVRAM" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		scene.refuses = refusals[i].status;
		assert_int_equal(fails_to_connect(60000), refusals[i].rc);
		assert_says(donard_error(scene.cache.ctx), refusals[i].text);
	}
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(end_of_each_write_is_read_back), TEST(nothing_is_read_back_of_soft_devices),
		TEST(waiting_request_ends_with_its_region), TEST(region_stays_while_parts_are_in_flight),
		TEST(others_are_kept_alive_meanwhile), TEST(regions_are_let_go_meanwhile), TEST(close_waits_for_the_device),
		TEST(close_over_iwarp_waits_for_the_server), TEST(close_over_iwarp_without_a_server),
		TEST(forget_waits_for_the_acknowledgement), TEST(forget_of_a_connection_that_ends),
		TEST(full_server_is_asked_again), TEST(server_that_stays_full_refuses), TEST(each_refusal_says_why),
		TEST(program_stops_the_wait), TEST(options_of_an_older_program),
		TEST(full_log_and_slow_link), TEST(region_stays_until_the_acknowledgement), TEST(memory_makes_way_after_the_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
