// SPDX-License-Identifier: Apache-2.0
/* The loop of a server: connections that come and go, and the rounds. */
#include <endian.h>
#include <poll.h>
#include <stdlib.h>

#include "cache/server.h"
#include "cache/trimmer.h"

#define TICK_MS			100
#define GOING_MS		3000	/* how much later than the failure of its memory a region may report its end */
#define FAREWELL_MS		500	/* for all clients together */
#define FAREWELL_NAP_MS		20
#define EVENTS_AT_ONCE		64
#define COMPLETIONS_AT_ONCE	64
#define HIGH_PERCENT		60
#define IDLE_MS			500
#define MS_NS			1000000ULL
#define KNOWN_FLAGS		(DONARD_CACHE_FORMAT | DONARD_CACHE_VOLATILE_OK | DONARD_CACHE_NO_CLEANER | \
				 DONARD_CACHE_READ_BACK | DONARD_CACHE_PASSTHROUGH | \
				 DONARD_CACHE_GIVE_UP_DAMAGED)

/* Is the region being removed, or has its device gone? */
static bool nvram_gone(const struct dnd_cache_server *server)
{
	return server->nvram.memory && dnd_region_called_back(&server->nvram.memory->region);
}

/* ---- options ---- */

static struct dnd_fault bad_level(const struct donard_cache_serve_options *options)
{
	return options->high_percent > 100 ? DND_MOST("options.high_percent", options->high_percent, 100) :
	       DND_MOST("options.low_percent", options->low_percent, options->high_percent - 1U);
}

static int check_options(struct dnd_cache_server *server)
{
	const struct donard_cache_serve_options *options = &server->options;

	if (options->flags & ~KNOWN_FLAGS || options->reserved[0] || options->reserved[1] ||
	    options->reserved[2])
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION, options->flags & ~KNOWN_FLAGS ?
				       DND_VALUE("options.flags", options->flags & ~KNOWN_FLAGS) : DND_AT("options.reserved"),
				       "unknown flags, or reserved members that are set.");
	if (options->low_percent >= options->high_percent || options->high_percent > 100)
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION, bad_level(options),
				       "options.low_percent has to be below options.high_percent, and that at most 100.");
	if ((options->clients || options->discard) && !(options->flags & DONARD_CACHE_FORMAT))
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION,
				       DND_AT(options->clients ? "options.clients" : "options.discard"),
				       "options.clients and options.discard are for FORMAT: the log that "
				       "is there says how many clients it has room for.");
	return dnd_check_silence(server->ctx, options->timeout_ms);
}

static int take_options(struct dnd_cache_server *server,
			const struct donard_cache_serve_options *options)
{
	struct donard_cache_serve_options *taken = &server->options;
	int rc = DND_TAKE(server->ctx, taken, options, "donard_cache_serve_options");

	if (rc)
		return rc;
	if (!taken->high_percent)
		taken->high_percent = HIGH_PERCENT;
	if (!taken->low_percent)
		taken->low_percent = taken->high_percent / 2;
	if (!taken->idle_ms)
		taken->idle_ms = IDLE_MS;
	if (!taken->timeout_ms)
		taken->timeout_ms = DONARD_RDMA_TIMEOUT_MS;
	return check_options(server);
}

/* ---- connections that come and go ---- */

static struct dnd_cache_session *session_of(struct dnd_cache_server *server, const struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i] && server->sessions[i]->id == id)
			return server->sessions[i];
	return NULL;
}

static void take_messages(struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i])
			dnd_cache_session_take(server->sessions[i]);
}

/* Messages that the others have sent by now count as older than all that this client will ask for. */
static void admit(struct dnd_cache_server *server, const struct dnd_happening *knock, uint32_t depth)
{
	take_messages(server);
	dnd_cache_admit(server, knock->id, depth, knock->reads);
}

static void connect_request(struct dnd_cache_server *server, const struct dnd_happening *knock)
{
	struct dnd_wire_hello hello;
	int rc = dnd_wire_hello_decode(&hello, knock->said, knock->said_bytes);

	if (rc == -EPROTONOSUPPORT)
		dnd_cache_refuse(server, knock->id, "it speaks another version", DND_WIRE_BAD_VERSION);
	else if (rc)
		dnd_cache_refuse(server, knock->id, "it is no client of a cache", DND_WIRE_BAD_VERSION);
	else if (dnd_listener_excludes(&server->listener, knock->id))
		dnd_cache_refuse(server, knock->id, "it is on another machine, and this server is bound to loopback "
				 "(options.listen)", DND_WIRE_LOCAL_ONLY);
	else if (server->draining)
		dnd_cache_refuse(server, knock->id, "the server was told to end", DND_WIRE_STOPPED);
	else
		admit(server, knock, hello.depth);
}

/* Messages that came before the end of the connection count. */
static void disconnected(struct dnd_cache_session *session)
{
	dnd_cache_session_take(session);
	dnd_cache_session_lost(session);
}

static void take_turn(struct dnd_cache_server *server, const struct dnd_happening *happening)
{
	struct dnd_cache_session *session = session_of(server, happening->id);

	if (happening->turn == DND_TURN_KNOCK)
		connect_request(server, happening);
	else if (happening->turn == DND_TURN_NO_DEVICE)
		dnd_cache_server_fail(server, dnd_listener_no_device(server->ctx));
	else if (session && happening->turn == DND_TURN_ESTABLISHED)
		session->link.established = true;
	else if (session && happening->turn == DND_TURN_ENDED)
		disconnected(session);
}

static void take_events(struct dnd_cache_server *server)
{
	struct dnd_happening happening;
	int left = EVENTS_AT_ONCE;

	while (left-- && dnd_listener_next(&server->listener, &happening))
		take_turn(server, &happening);
}

/* ---- a round ---- */

/* If the kernel lacks memory, it took nothing, and the next round tries again. */
static void queue_failed(struct dnd_cache_server *server, int rc)
{
	if (rc == -ENOMEM)
		server->again = true;
	else
		dnd_cache_server_fail(server, rc);
}

static void take_completions(struct dnd_cache_server *server)
{
	struct donard_completion completions[COMPLETIONS_AT_ONCE];
	int count = donard_queue_poll(server->queue, completions, COMPLETIONS_AT_ONCE);

	if (count < 0)
		queue_failed(server, count);
	for (int i = 0; i < count; i++) {
		struct dnd_cache_io *io = completions[i].user;

		io->done(server, io, &completions[i]);
	}
}

static void submit(struct dnd_cache_server *server)
{
	int rc = donard_queue_submit(server->queue);

	if (rc)
		queue_failed(server, rc);
}

static void send_messages(struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++) {
		struct dnd_cache_session *session = server->sessions[i];

		if (session)
			dnd_cache_session_send(session);
		if (session && session->ends)
			dnd_cache_session_end(session);
	}
}

static bool stop_asked(const struct dnd_cache_server *server)
{
	return server->options.stop_fn && server->options.stop_fn(server->options.user);
}

/* Returns how many clients may not have the message yet, and puts their descriptors into server->fds. */
static nfds_t tell_withdrawn(struct dnd_cache_server *server, enum dnd_wire_status status)
{
	nfds_t count = 0;

	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i] && dnd_cache_session_withdraw(server->sessions[i], status))
			server->fds[count++] = (struct pollfd){ .fd = server->sessions[i]->link.channel->fd, .events = POLLIN };
	return count;
}

/* Waits for all clients together, because a client that is gone never takes the message. */
static void withdraw_all(struct dnd_cache_server *server, enum dnd_wire_status status, const char *why)
{
	uint64_t until_ns = dnd_now_ns() + FAREWELL_MS * MS_NS;
	nfds_t count;

	while ((count = tell_withdrawn(server, status)) && dnd_now_ns() < until_ns)
		poll(server->fds, count, FAREWELL_NAP_MS);
	for (unsigned int i = 0; i < server->log.super.windows; i++) {
		if (!server->sessions[i])
			continue;
		dnd_cache_session_fail(server->sessions[i], -ESHUTDOWN, why);
		dnd_cache_session_end(server->sessions[i]);
	}
}

/* Ends the clients; afterwards all that they wrote goes to the drive. */
static void drain(struct dnd_cache_server *server)
{
	server->draining = true;
	dnd_cache_tell(server, DONARD_CACHE_DRAINING, "", dnd_cache_drive_fails(server) ? server->destage.why : "",
		       server->log.next - server->log.tail);
	withdraw_all(server, DND_WIRE_STOPPED, "the server ended under it");
}

static int fail_without_nvram(const struct dnd_cache_server *server)
{
	return dnd_fail(server->ctx, DND_E_REGION_GONE, "%s: the region was taken away while the cache used it. Add it again, and "
			"start again%s", dnd_memory_name(server->nvram.memory), server->persistent ?
			": what was acknowledged is in it." :
			". It is volatile: what was acknowledged, and not flushed to the drive, may be lost.");
}

/* While no request comes, there is no barrier that would report a reset.  So this reads the region's count of resets. */
static bool nvram_was_reset(const struct dnd_cache_server *server)
{
	return server->idle && dnd_region_check_resets(server->ctx, &server->nvram.memory->region);
}

static void look_around(struct dnd_cache_server *server)
{
	if (nvram_gone(server))
		dnd_cache_server_fail(server, fail_without_nvram(server));
	else if (nvram_was_reset(server))
		dnd_cache_server_fail(server, dnd_cache_break(&server->log));
	else if (!server->draining && stop_asked(server))
		drain(server);
}

/* The order is that of the log's steps: new messages, their barrier and answers, then reads, then the drive. */
static void go_round(struct dnd_cache_server *server)
{
	take_events(server);
	take_messages(server);
	take_completions(server);
	dnd_cache_group(server);
	/* Data that no barrier covers must not be read, because a power cut may still lose them. */
	if (server->ends)
		return;
	dnd_cache_reads_step(server);
	if (!server->ends)
		dnd_cache_destage_step(server);
	submit(server);
	send_messages(server);
	dnd_cache_report(server);
	look_around(server);
}

/* ---- waiting ---- */

static int wait_ms(const struct dnd_cache_server *server)
{
	uint64_t due_ns = dnd_cache_destage_due_ns(server), now_ns = dnd_now_ns();

	if (server->again)
		return 0;
	if (due_ns <= now_ns)
		return 1;
	return (int)dnd_min(TICK_MS, (due_ns - now_ns) / MS_NS + 1);
}

static int prepare_to_wait(struct dnd_cache_server *server)
{
	server->fds = calloc(server->log.super.windows + 5, sizeof(*server->fds));
	if (!server->fds)
		return dnd_fail_memory(server->ctx);
	server->queue_fd = donard_queue_descriptor(server->queue);
	return server->queue_fd < 0 ? server->queue_fd : 0;
}

static void wait_for_something(struct dnd_cache_server *server)
{
	struct pollfd *fds = server->fds;
	nfds_t count = 0;

	fds[count++] = (struct pollfd){ .fd = server->listener.events->fd, .events = POLLIN };
	fds[count++] = (struct pollfd){ .fd = server->nvram.memory->region.fd, .events = POLLPRI };
	/* A program that asks, and cannot be answered yet, would wake the server at once, again and again. */
	fds[count++] = (struct pollfd){ .fd = server->status_stuck ? -1 : server->status_fd, .events = POLLIN };
	fds[count++] = (struct pollfd){ .fd = server->queue_fd, .events = POLLIN };
	fds[count++] = (struct pollfd){ .fd = dnd_trimmer_descriptor(server->trimmer), .events = POLLIN };
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i])
			fds[count++] = (struct pollfd){ .fd = server->sessions[i]->link.channel->fd,
							.events = POLLIN };
	server->idle = !poll(fds, count, wait_ms(server)) && !server->again;
	server->again = false;
}

static bool drained(const struct dnd_cache_server *server)
{
	return server->draining && dnd_cache_log_empty(&server->log) &&
	       server->destage.state == DND_DESTAGE_IDLE && !server->active_reads;
}

static void run(struct dnd_cache_server *server)
{
	while (!server->ends && !drained(server)) {
		wait_for_something(server);
		go_round(server);
	}
}

/* ---- the call ---- */

/* The barrier fails as soon as the device is gone; the region may report that a little later. */
static void see_what_broke(struct dnd_cache_server *server)
{
	struct pollfd pollfd = { .fd = server->nvram.memory->region.fd, .events = POLLPRI };

	/* After a reset the region stays, and the clients are told at once. */
	if (!server->log.broken || dnd_region_check_resets(server->ctx, &server->nvram.memory->region) == -EIO)
		return;
	poll(&pollfd, 1, GOING_MS);
	if (!nvram_gone(server))
		return;
	server->ends = fail_without_nvram(server);
	server->why = dnd_failure_keep(server->ctx);
}

/* The reason that clients are told, as far as the protocol has a status for it. */
static enum dnd_wire_status farewell(const struct dnd_cache_server *server)
{
	if (nvram_gone(server))
		return DND_WIRE_REGION_GONE;
	if (server->log.broken)
		return DND_WIRE_NVRAM_FAILED;
	if (server->drive_gone)
		return DND_WIRE_DRIVE_FAILED;
	return DND_WIRE_STOPPED;
}

/* Keeps the context's failure, which says why the server ends; the steps here may fail as well. */
static void end_clients(struct dnd_cache_server *server)
{
	struct dnd_failure kept = dnd_failure_keep(server->ctx);

	if (server->sessions)
		withdraw_all(server, farewell(server), "the server ended under it");
	dnd_failure_put_back(server->ctx, &kept);
}

static int listen_for_clients(struct dnd_cache_server *server)
{
	char address[DND_PEER_BYTES];
	int rc = dnd_listen(server->ctx, &server->listener);

	if (rc)
		return rc;
	dnd_address_text(rdma_get_local_addr(server->listener.id), address);
	dnd_cache_tell(server, DONARD_CACHE_LISTENING, address, "", 0);
	return 0;
}

/* Opens the listener.  It does not listen for clients yet, because everything has to be ready for them first. */
static int begin(struct donard_context *ctx, const struct donard_cache_serve_options *options, struct dnd_cache_server **out)
{
	struct dnd_cache_server *server = calloc(1, sizeof(*server));
	int rc;

	*out = server;
	if (!server)
		return dnd_fail_memory(ctx);
	server->ctx = ctx;
	server->status_fd = -1;
	rc = take_options(server, options);
	return rc ? rc : dnd_listener_open(ctx, &server->listener, server->options.listen, server->options.port);
}

static int serve(struct dnd_cache_server *server)
{
	int rc = dnd_cache_start(server);

	if (!rc)
		rc = prepare_to_wait(server);
	if (!rc)
		rc = listen_for_clients(server);	/* from here on there are clients: what can fail comes before */
	if (rc)
		return rc;
	run(server);
	see_what_broke(server);
	if (server->ends)
		dnd_failure_put_back(server->ctx, &server->why);
	return server->ends;
}

static int end(struct dnd_cache_server *server, int rc)
{
	struct dnd_failure kept;

	if (!server)
		return rc;
	kept = dnd_failure_keep(server->ctx);
	end_clients(server);
	dnd_cache_report_close(server);
	dnd_cache_end(server);
	dnd_listener_close(&server->listener);
	dnd_failure_put_back(server->ctx, &kept);
	free(server->fds);
	free(server);
	return rc;
}

DND_PUBLIC int donard_cache_serve(struct donard_context *ctx, const char *nvram, const char *backing,
				  const struct donard_cache_serve_options *options)
{
	DND_USES(CONTEXT, ctx);
	struct dnd_cache_server *server;
	int rc = begin(ctx, options, &server);

	if (!rc)
		rc = dnd_cache_open_handles(server, nvram, backing);
	if (!rc)
		rc = serve(server);
	return end(server, rc);
}

DND_PUBLIC int donard_cache_serve_from(struct donard_memory *nvram, struct donard_file *backing,
				       const struct donard_cache_serve_options *options)
{
	DND_USES(MEMORY, nvram);
	DND_USES(FILE, backing);
	struct dnd_cache_server *server;
	int rc;

	if (!nvram)
		return -EINVAL;		/* without a context, nobody could read a text */
	rc = begin(nvram->ctx, options, &server);
	if (!rc)
		rc = dnd_cache_take_handles(server, nvram, backing);
	if (!rc)
		rc = serve(server);
	return end(server, rc);
}
