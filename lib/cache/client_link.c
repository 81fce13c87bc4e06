// SPDX-License-Identifier: Apache-2.0
/*
 * The connection of a client: handshake, messages that come, signs of life, the end.
 *
 * There is no thread.  A timer makes the queue's descriptor readable whenever a sign of life
 * is due.  So a program that polls the descriptor, or waits, keeps the connection alive.
 */
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <stdlib.h>
#include <unistd.h>

#include "cache/client.h"

#define HEAR_TRIES	3
#define TICKS_PER_SILENCE 4
#define BYE_MS		2000
#define WAIT_MS		50
#define NAP_FIRST_MS	50	/* between two attempts to connect to a server that has no free window */
#define NAP_MOST_MS	800
#define MS_NS		1000000ULL

/* ---- handshake ---- */

static int refused(struct donard_cache *cache, enum dnd_wire_status status)
{
	const char *peer = cache->reach.peer;

	switch (status) {
	case DND_WIRE_BUSY:
		return dnd_fail(cache->ctx, DND_E_BUSY, "%s: every window of the cache has a client, or still has bytes of a "
				"client that left. Try again; or drain the log, and format it anew for more (FORMAT, options.clients).", peer);
	case DND_WIRE_BAD_VERSION:
		return dnd_fail(cache->ctx, DND_E_PROTOCOL, "%s: the server speaks another version of the protocol. "
				"Use the same version of donard on both sides.", peer);
	case DND_WIRE_LOCAL_ONLY:
		return dnd_fail(cache->ctx, DND_E_REFUSED, "%s: the server admits only clients on its own machine. "
				"Start it with options.listen and this address.", peer);
	case DND_WIRE_STOPPED:
		return dnd_fail(cache->ctx, DND_E_WITHDRAWN, "%s: the server is about to end.", peer);
	case DND_WIRE_NO_MEMORY:
		return dnd_fail(cache->ctx, DND_E_REFUSED, "%s: the server has no memory for another client, or may lock no "
				"more of it. Whoever runs the server was told why.", peer);
	default:
		return dnd_fail(cache->ctx, DND_E_REFUSED, "%s: the server could not set up this client: its RDMA device has no room for "
				"a connection of this depth, or no route to the NVRAM. Whoever runs the server was told why.", peer);
	}
}

static int on_refused(void *user, const void *bytes, size_t length)
{
	struct donard_cache *cache = user;
	struct dnd_wire_offer offer;
	int rc = dnd_wire_offer_decode(&offer, bytes, length);

	if (rc == -EPROTONOSUPPORT)
		offer.status = DND_WIRE_BAD_VERSION;
	else if (rc || offer.status == DND_WIRE_OK)
		return dnd_reach_stranger(&cache->reach, bytes, length);
	cache->reach.unheard = false;
	return refused(cache, offer.status);
}

static int on_accepted(void *user, const void *bytes, size_t length)
{
	struct donard_cache *cache = user;

	if (dnd_wire_offer_decode(&cache->offer, bytes, length) || cache->offer.status != DND_WIRE_OK ||
	    cache->offer.depth > DND_WIRE_DEPTH_MAX)
		return dnd_fail(cache->ctx, DND_E_PROTOCOL, "%s: what answers there is not a donard_cache_serve() of this "
				"version.", cache->reach.peer);
	cache->link.established = true;
	return 0;
}

/*
 * While this cache waits, keeps the queue's other caches alive, and releases what the queue holds of regions that are being
 * removed.  The program takes its completions later, so the queue's descriptor is made readable for them.
 */
static void work_for_others(struct donard_queue *queue)
{
	dnd_sources_work(queue);
	dnd_queue_reap(queue);
	dnd_queue_look_after(queue);
	dnd_queue_tell(queue);
}

/* Returns 0, or -ECANCELED with a text if the program does not want the connection any more. */
static int meanwhile(void *user)
{
	const struct donard_cache *cache = user;
	const struct donard_cache_options *options = &cache->options;

	work_for_others(cache->queue);
	if (options->stop_fn && options->stop_fn(options->user))
		return dnd_fail(cache->ctx, DND_E_CANCELED, "stopped");
	return 0;
}

static const struct dnd_reach_ops reach_ops = { .accepted = on_accepted, .refused = on_refused, .give_up = meanwhile };

/* The sends are for parts of requests, ping, got and bye; the receives are for answers, alive, released and withdrawn. */
static struct dnd_link_size link_size(uint32_t depth)
{
	return (struct dnd_link_size){
		.data_requests = 2 * (depth + DND_WIRE_SPARE),	/* for each message: a write of its bytes, and a read back */
		.message_bytes = DND_WIRE_MESSAGE_BYTES,
		.recvs = depth + DND_WIRE_SPARE,
		.sends = depth + DND_WIRE_SPARE,
		.remedy = "Use a smaller options.depth",
	};
}

/* Makes room for as many requests as the hello asks for; the server may allow fewer, but not more. */
static int reach(struct donard_cache *cache)
{
	const struct dnd_wire_hello hello = { .depth = cache->options.depth };
	const struct dnd_link_size size = link_size(cache->options.depth);
	uint8_t bytes[DND_WIRE_HELLO_BYTES];
	struct rdma_conn_param param;
	int rc;

	cache->reach = (struct dnd_reach){
		.ctx = cache->ctx, .ops = &reach_ops, .user = cache, .server = "donard_cache_serve()",
		.listen_option = "options.listen", .timeout_ms = cache->options.timeout_ms,
	};
	rc = dnd_reach_find(&cache->reach, cache->options.address, cache->options.port);
	if (!rc)
		rc = dnd_link_open(cache->ctx, &cache->link, cache->reach.id, &size);
	if (rc)
		return rc;
	dnd_link_set_timeout(cache->reach.id, cache->options.timeout_ms);
	dnd_wire_hello_encode(&hello, bytes);
	/* Allow READs, since the answer may demand that written bytes are read back. */
	dnd_link_params(cache->reach.id, true, 0, &param);
	param.private_data = bytes;
	param.private_data_len = sizeof(bytes);
	return dnd_reach_connect(&cache->reach, &param);
}

static int reach_and_hear(struct donard_cache *cache)
{
	int rc, tries = HEAR_TRIES;

	for (;;) {
		rc = reach(cache);
		if (!cache->reach.unheard || !--tries)
			return rc;
		dnd_cclient_disconnect(cache);
	}
}

/* Returns 0, or the failure of meanwhile(). */
static int nap(struct donard_cache *cache, uint64_t until_ns)
{
	int rc = 0;

	while (!rc && dnd_now_ns() < until_ns) {
		usleep(WAIT_MS * 1000);
		rc = meanwhile(cache);
	}
	return rc;
}

/*
 * Tries again while the server has no free window.  A window becomes free once its client has left, and the drive has all that
 * this client put into the log.
 */
static int reach_patiently(struct donard_cache *cache)
{
	uint64_t until = dnd_now_ns() + cache->options.timeout_ms * MS_NS, nap_ms = NAP_FIRST_MS;
	int rc;

	for (;;) {
		rc = reach_and_hear(cache);
		if (rc != -EBUSY || dnd_now_ns() >= until)
			return rc;
		dnd_cclient_disconnect(cache);
		rc = nap(cache, dnd_min(until, dnd_now_ns() + nap_ms * MS_NS));
		if (rc)
			return rc;
		nap_ms = dnd_min(2 * nap_ms, NAP_MOST_MS);
	}
}

/* ---- what makes the queue's descriptor readable ---- */

/* The longest time for which either side may be silent. */
static uint64_t silence_ns(const struct donard_cache *cache)
{
	return dnd_min(cache->options.timeout_ms, cache->offer.silence_ms) * MS_NS;
}

static uint64_t tick_ns(const struct donard_cache *cache)
{
	return silence_ns(cache) / TICKS_PER_SILENCE;
}

static void set_timer(struct donard_cache *cache)
{
	uint64_t ns = tick_ns(cache);
	const struct itimerspec spec = {
		.it_value = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) },
	};

	timerfd_settime(cache->timer_fd, 0, &spec, NULL);
	cache->due_ns = dnd_now_ns() + ns;
}

static int watch(struct donard_cache *cache)
{
	const int fds[] = { cache->link.channel->fd, cache->reach.events->fd, cache->timer_fd };
	struct epoll_event event = { .events = EPOLLIN };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (epoll_ctl(cache->source.fd, EPOLL_CTL_ADD, fds[i], &event))
			return dnd_fail_errno(cache->ctx, errno, "a connection cannot be watched");
	return 0;
}

static int open_events(struct donard_cache *cache)
{
	cache->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	cache->source.fd = epoll_create1(EPOLL_CLOEXEC);
	if (cache->timer_fd < 0 || cache->source.fd < 0)
		return dnd_fail_errno(cache->ctx, errno, "a connection cannot be watched");
	return watch(cache);
}

static int open_read_back(struct donard_cache *cache)
{
	if (!(cache->offer.flags & DND_WIRE_READ_BACK))
		return 0;
	cache->read_back_mr = ibv_reg_mr(cache->link.pd, &cache->read_back, sizeof(cache->read_back),
					 dnd_access(dnd_device_sink_rights(cache->reach.id->verbs)));
	if (cache->read_back_mr)
		return 0;
	return dnd_fail_errno(cache->ctx, errno, "%s: memory to read back into cannot be registered",
			      ibv_get_device_name(cache->reach.id->verbs->device));
}

int dnd_cclient_connect(struct donard_cache *cache)
{
	int rc = reach_patiently(cache);

	if (!rc)
		rc = open_read_back(cache);
	if (!rc)
		rc = open_events(cache);
	if (rc)
		return rc;
	cache->offer.depth = (uint32_t)dnd_min(cache->offer.depth, cache->options.depth);
	cache->iwarp = cache->reach.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	cache->copies_by_cpu = dnd_device_copies_by_cpu(cache->reach.id->verbs);
	cache->ring.bytes = cache->offer.window_bytes;
	cache->link.heard = dnd_now_seconds();
	set_timer(cache);
	return 0;
}

/* ---- the end ---- */

static void unwatch(struct donard_cache *cache)
{
	if (cache->source.fd < 0 || !cache->link.channel)
		return;
	epoll_ctl(cache->source.fd, EPOLL_CTL_DEL, cache->link.channel->fd, NULL);
	epoll_ctl(cache->source.fd, EPOLL_CTL_DEL, cache->reach.events->fd, NULL);
	epoll_ctl(cache->source.fd, EPOLL_CTL_DEL, cache->timer_fd, NULL);
}

void dnd_cclient_disconnect(struct donard_cache *cache)
{
	unwatch(cache);
	if (cache->reach.id && cache->link.established)
		rdma_disconnect(cache->reach.id);
	if (cache->link.id && cache->link.id->qp)
		rdma_destroy_qp(cache->link.id);
	for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++)
		if (cache->memories[i].memory) {
			dnd_unregister(&cache->memories[i].source);
			dnd_unregister(&cache->memories[i].target);
		}
	if (cache->read_back_mr)
		ibv_dereg_mr(cache->read_back_mr);
	cache->read_back_mr = NULL;
	dnd_link_close(&cache->link);
	dnd_reach_close(&cache->reach);
}

/* Ends the connection, and keeps the context's failure as the reason. */
static void over(struct donard_cache *cache)
{
	cache->reason = dnd_failure_keep(cache->ctx);
	cache->over = true;
	dnd_cclient_disconnect(cache);
	dnd_cclient_fail_all(cache);
	for (size_t i = 0; i < DND_CCLIENT_MEMORIES_MAX; i++)
		if (cache->memories[i].memory)
			dnd_cclient_memory_drop(cache, &cache->memories[i]);
}

/* ---- messages that come ---- */

static int on_message(void *user, const uint8_t *bytes, size_t length)
{
	struct donard_cache *cache = user;
	struct dnd_wire_message message;
	int rc = dnd_wire_decode(&message, cache->offer.nonce, bytes, length);

	if (rc)
		return rc;
	switch (message.type) {
	case DND_WIRE_DONE:
		if (cache->said_bye && !message.id) {
			cache->bye_done = true;
			return 0;
		}
		return dnd_cclient_take_done(cache, &message);
	case DND_WIRE_ALIVE:
		cache->pinged = false;
		return 0;
	case DND_WIRE_RELEASED:
		cache->owes_got = true;
		cache->drive_fails = message.status != DND_WIRE_OK;
		return dnd_cache_ring_release(&cache->ring, message.released) ? 0 : -EPROTO;
	case DND_WIRE_WITHDRAWN:
		cache->withdrawn = message.status;
		return -ENODEV;
	default:
		return -EPROTO;
	}
}

static int on_data(void *user, uint64_t number)
{
	(void)user;
	(void)number;
	return 0;
}

/* Keeps polling, because answers, and the message that gives the reason, may be queued behind the first error. */
static void collect_reason(struct donard_cache *cache)
{
	for (uint32_t i = 0; i < cache->link.size.recvs && cache->withdrawn == DND_WIRE_OK; i++)
		if (!dnd_link_poll(&cache->link, &(struct dnd_link_handler){
				.on_message = on_message, .on_data = on_data, .user = cache }))
			return;
}

static void withdrawn(struct donard_cache *cache)
{
	const char *peer = cache->reach.peer;

	if (cache->withdrawn == DND_WIRE_STOPPED)
		dnd_fail(cache->ctx, DND_E_WITHDRAWN, "%s: the server was told to end.", peer);
	else if (cache->withdrawn == DND_WIRE_DRIVE_FAILED)
		dnd_fail(cache->ctx, DND_E_WITHDRAWN, "%s: the server's drive %s failed. What was acknowledged is kept in "
			 "the NVRAM.", peer, cache->offer.drive);
	else
		dnd_fail(cache->ctx, DND_E_WITHDRAWN, "%s: the server's NVRAM %s was taken away, or failed. Whoever "
			 "runs the server was told more.", peer, cache->offer.nvram);
}

static void cut_off(struct donard_cache *cache)
{
	if (dnd_reach_lost_device(&cache->reach, dnd_link_blames_peer(&cache->link)))
		dnd_reach_no_device(&cache->reach);
	else
		dnd_fail(cache->ctx, DND_E_PEER_LOST, "%s: %s.", cache->reach.peer, dnd_link_status_text(&cache->link));
	dnd_fail_more(cache->ctx, " It is not known whether requests without a completion were done.");
}

static void lost(struct donard_cache *cache, int rc)
{
	const char *peer = cache->reach.peer;
	struct dnd_failure before = dnd_failure_keep(cache->ctx);

	if (rc == -ECONNRESET)
		collect_reason(cache);
	if (cache->withdrawn != DND_WIRE_OK)
		rc = -ENODEV;
	if (rc == -EPROTO || rc == -EPROTONOSUPPORT)
		dnd_fail(cache->ctx, DND_E_PROTOCOL, "%s: the server sent something that this client does not understand. Use the "
			 "same version of donard on both sides.", peer);
	else if (rc == -ETIMEDOUT)
		dnd_fail(cache->ctx, DND_E_PEER_SILENT, "%s: nothing came back for %u ms: the server, or the link to it, "
			 "is down. If it is only slow, use a longer options.timeout_ms.", peer,
			 cache->options.timeout_ms);
	else if (rc == -ENODEV)
		withdrawn(cache);
	else
		cut_off(cache);
	over(cache);
	dnd_failure_put_back(cache->ctx, &before);
}

/*
 * Takes completions until none is left and the channel is armed for the next one.  An event may
 * come some time after its completion.
 */
static int take_completions(struct donard_cache *cache)
{
	const struct dnd_link_handler handler = { .on_message = on_message, .on_data = on_data, .user = cache };
	unsigned int events;
	int count, rc;

	for (;;) {
		for (count = 0; (rc = dnd_link_poll(&cache->link, &handler)) > 0; count++)
			;
		if (rc)
			return rc;
		events = cache->link.unacked_events;
		dnd_link_disarm(&cache->link);
		if (!count && cache->armed && events == cache->link.unacked_events)
			return 0;
		if (dnd_link_arm(&cache->link))
			return -ECONNRESET;
		cache->armed = true;
	}
}

static int answer(struct donard_cache *cache)
{
	const struct dnd_wire_message got = { .type = DND_WIRE_GOT };
	int rc = cache->owes_got ? dnd_cclient_message(cache, &got, 0) : 0;

	if (!rc)
		cache->owes_got = false;
	return rc == -EAGAIN ? 0 : rc;
}

/*
 * Counts the server's silence only from a ping on, so that a time in which the program made no call does not count.  The server
 * answers a ping after all that was posted before it, and each of those answers is a sign of life, too.
 */
static bool is_silent(const struct donard_cache *cache)
{
	double since = (double)cache->pinged_ns / 1e9;

	if (since < cache->link.heard)
		since = cache->link.heard;
	return cache->pinged && (dnd_now_seconds() - since) * 1000 > cache->options.timeout_ms;
}

static int ping(struct donard_cache *cache)
{
	const struct dnd_wire_message message = { .type = DND_WIRE_PING };
	int rc = dnd_cclient_message(cache, &message, 0);

	cache->pinged = !rc;
	return rc == -EAGAIN ? 0 : rc;
}

static int tick(struct donard_cache *cache)
{
	uint64_t now = dnd_now_ns(), expired;

	if (now < cache->due_ns)
		return 0;
	if (read(cache->timer_fd, &expired, sizeof(expired)) < 0)
		expired = 0;
	set_timer(cache);
	if (is_silent(cache))
		return -ETIMEDOUT;
	if (cache->pinged)
		return 0;
	cache->pinged_ns = now;
	return ping(cache);
}

void dnd_cclient_work(struct donard_cache *cache)
{
	int rc;

	if (cache->over || cache->inherited)
		return;
	rc = cache->link.lost ? -ECONNRESET : take_completions(cache);
	if (!rc)
		rc = dnd_reach_take_events(&cache->reach);
	if (!rc)
		rc = answer(cache);
	if (!rc)
		dnd_cclient_look_after(cache);
	if (!rc)
		rc = tick(cache);
	if (!rc)
		rc = dnd_cclient_send(cache);
	if (rc)
		lost(cache, rc);
}

int dnd_cclient_await_sent(struct donard_cache *cache, const struct dnd_cclient_memory *memory)
{
	uint64_t until = dnd_now_ns() + cache->options.timeout_ms * MS_NS;
	struct epoll_event event;

	for (;;) {
		dnd_cclient_work(cache);
		if (cache->over || !dnd_cclient_memory_is_sent(cache, memory))
			return 0;
		if (dnd_now_ns() >= until)
			return dnd_fail(cache->ctx, DND_E_BUSY, "%s: the network has not acknowledged after %u ms what was "
					"written from it. Try again.", dnd_memory_name(memory->memory),
					cache->options.timeout_ms);
		epoll_wait(cache->source.fd, &event, 1, WAIT_MS);
	}
}

void dnd_cclient_bye(struct donard_cache *cache)
{
	const struct dnd_wire_message bye = { .type = DND_WIRE_BYE };
	uint64_t until = dnd_now_ns() + BYE_MS * MS_NS;
	struct epoll_event event;

	if (cache->over || cache->source.working || dnd_cclient_message(cache, &bye, 0))
		return;
	cache->said_bye = true;
	while (!cache->over && !cache->bye_done && dnd_now_ns() < until) {
		dnd_cclient_work(cache);
		if (!cache->over && !cache->bye_done)
			epoll_wait(cache->source.fd, &event, 1, WAIT_MS);
	}
}

/* Waits a moment for messages and events.  If the connection ends meanwhile, the reason does not matter any more. */
static int hear(struct donard_cache *cache)
{
	struct epoll_event event;
	int rc;

	epoll_wait(cache->source.fd, &event, 1, WAIT_MS);
	work_for_others(cache->queue);
	rc = take_completions(cache);
	return rc ? rc : dnd_reach_take_events(&cache->reach);
}

/* The server takes messages in order, so its answer to a ping that is sent now shows that it has all earlier ones. */
void dnd_cclient_await_taken(struct donard_cache *cache)
{
	uint64_t until = dnd_now_ns() + silence_ns(cache);
	bool asked = false;
	int rc = cache->link.lost;

	if (cache->over || !cache->iwarp)
		return;
	timerfd_settime(cache->timer_fd, 0, &(struct itimerspec){ 0 }, NULL);
	while (!rc && cache->parts_busy && (cache->pinged || !asked) && dnd_now_ns() < until) {
		if (!cache->pinged) {
			rc = ping(cache);
			asked = cache->pinged;
		}
		if (!rc)
			rc = hear(cache);
	}
}
