// SPDX-License-Identifier: Apache-2.0
/*
 * The memory that a server lets a client reach, and how it cuts the client off (session.c); how it tells its clients that it
 * withdraws, and for how long it waits for that message.
 */
#include <errno.h>

#include "unit.h"
#include "cache/server.h"

static struct {
	struct dnd_cache_server server;
	struct ibv_device device;
	struct ibv_context verbs;
	struct rdma_cm_id id;
	struct dnd_cache_session session;
	unsigned int sent;
	int send_rc, poll_rc;
	void (*comes)(const struct dnd_link_handler *handler);	/* when the link is polled, or NULL */
	struct donard_memory memory;
	struct dnd_cache_window windows[2];
	struct dnd_cache_session *sessions[2];
	struct ibv_qp qp;
	struct ibv_mr written, all;
	struct dnd_wire_offer offer;
	uint32_t vendor;
	unsigned int rights;	/* to the window */
	char order[8];		/* of what ends */
} scene;

int __wrap_dnd_link_send(struct dnd_link *link, const void *bytes, unsigned int flags);
int __wrap_dnd_link_send(struct dnd_link *link, const void *bytes, unsigned int flags)
{
	struct dnd_wire_message message;

	(void)flags;
	if (scene.send_rc)
		return scene.send_rc;
	assert_int_equal(dnd_wire_decode(&message, scene.session.nonce, bytes, DND_WIRE_MESSAGE_BYTES), 0);
	assert_int_equal(message.type, DND_WIRE_WITHDRAWN);
	assert_int_equal(message.status, DND_WIRE_STOPPED);
	link->free_count--;
	scene.sent++;
	return 0;
}

int __wrap_dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler);
int __wrap_dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler)
{
	(void)link;
	if (scene.comes)
		scene.comes(handler);
	return scene.poll_rc;
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

/* ---- admission ---- */

#define WINDOW_BYTES	8192U
#define DATA_AT		65536U
#define ADDRESS		0x100000U

int __wrap_dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id,
			 const struct dnd_link_size *size);
int __wrap_dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id,
			 const struct dnd_link_size *size)
{
	(void)ctx, (void)size;
	link->id = id;
	id->qp = &scene.qp;
	return 0;
}

static void ends(char what)
{
	scene.order[strlen(scene.order)] = what;
}

void __wrap_dnd_link_close(struct dnd_link *link);
void __wrap_dnd_link_close(struct dnd_link *link)
{
	(void)link;
	ends('l');
}

/* Others hold the log's other parts, so a peer gets rights to its own one alone. */
int __wrap_dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
			unsigned int rights, struct dnd_registration *registration);
int __wrap_dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
			unsigned int rights, struct dnd_registration *registration)
{
	(void)pd;
	assert_ptr_equal(memory, &scene.memory);
	registration->mr = rights ? &scene.written : &scene.all;
	if (!rights)
		return 0;
	assert_int_equal(offset, DATA_AT + WINDOW_BYTES);
	assert_int_equal(length, WINDOW_BYTES);
	scene.rights = rights;
	return 0;
}

void __wrap_dnd_unregister(struct dnd_registration *registration);
void __wrap_dnd_unregister(struct dnd_registration *registration)
{
	ends(registration->mr == &scene.written ? 'w' : 's');
	registration->mr = NULL;
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	(void)verbs;
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = scene.vendor;
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	(void)id, (void)level, (void)name, (void)value, (void)length;
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	return dnd_wire_offer_decode(&scene.offer, param->private_data, param->private_data_len);
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
	ends('q');
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

static void forget_reads(struct dnd_cache_server *server, struct dnd_cache_session *session)
{
	(void)server;
	assert_null(session->link.id->qp);
}

static void admit(uint32_t vendor)
{
	struct dnd_cache_server *server = &scene.server;

	scene.vendor = vendor;
	scene.written.rkey = 11;
	scene.all.rkey = 12;
	scene.memory.window.data = (void *)(uintptr_t)ADDRESS;
	scene.memory.length = DATA_AT + 2 * WINDOW_BYTES;
	scene.memory.region.fd = scene.memory.dmabuf.fd = -1;
	scene.sessions[0] = &scene.session;
	server->nvram.memory = &scene.memory;
	server->sessions = scene.sessions;
	server->log.windows = scene.windows;
	server->log.super = (struct dnd_cache_super){
		.windows = 2, .window_bytes = WINDOW_BYTES, .data_at = DATA_AT, .block_bytes = 4096, .drive_bytes = 1 << 20,
	};
	server->request_bytes_max = 4096;
	server->options.timeout_ms = 10000;
	server->drive.disk = "nvme1n1";
	strcpy(scene.memory.region.name, "p2pmem2");
	server->forget_reads = forget_reads;
	dnd_cache_admit(server, &scene.id, 4, 1);
	assert_non_null(scene.sessions[1]);
}

/* A client gets the key of its own window.  At the end the queue pair is destroyed before the window. */
static void reaches_its_window_and_nothing_else(void **state)
{
	(void)state;
	admit(0xffffff);
	assert_int_equal(scene.rights, DONARD_RDMA_WRITE);
	assert_int_equal(scene.offer.window_rkey, 11);
	assert_int_equal(scene.offer.window_address, ADDRESS + DATA_AT + WINDOW_BYTES);
	assert_int_equal(scene.offer.window_bytes, WINDOW_BYTES);
	assert_false(scene.offer.flags & DND_WIRE_READ_BACK);
	dnd_cache_session_end(scene.sessions[1]);
	assert_string_equal(scene.order, "qwsl");
	assert_null(scene.sessions[1]);
	assert_true(scene.server.again);
}

/* Clients may read the log only on a device that does DMA, or if the server's options say so. */
static void reads_back_where_bytes_may_be_held(void **state)
{
	(void)state;
	admit(0x2c9);
	assert_int_equal(scene.rights, DONARD_RDMA_WRITE | DONARD_RDMA_READ);
	assert_true(scene.offer.flags & DND_WIRE_READ_BACK);
	dnd_cache_session_end(scene.sessions[1]);
	scene.server.options.flags = DONARD_CACHE_READ_BACK;
	admit(0xffffff);
	assert_int_equal(scene.rights, DONARD_RDMA_WRITE | DONARD_RDMA_READ);
	assert_true(scene.offer.flags & DND_WIRE_READ_BACK);
	memset(scene.order, 0, sizeof(scene.order));
	dnd_cache_session_end(scene.sessions[1]);
}

/* ---- the farewell ---- */

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.device.transport_type = IBV_TRANSPORT_IB;
	scene.verbs.device = &scene.device;
	scene.id.verbs = &scene.verbs;
	scene.session = (struct dnd_cache_session){ .server = &scene.server, .id = &scene.id, .nonce = 7,
						    .link = { .size = { .sends = 4, .recvs = 4 }, .free_count = 4 } };
	return 0;
}

static bool on_its_way(void)
{
	return dnd_cache_session_withdraw(&scene.session, DND_WIRE_STOPPED);
}

static void waits_until_it_was_sent(void **state)
{
	(void)state;
	assert_true(on_its_way());
	assert_true(on_its_way());
	scene.session.link.free_count = 4;
	assert_false(on_its_way());
	assert_int_equal(scene.sent, 1);
}

static void waits_for_a_slot(void **state)
{
	(void)state;
	scene.send_rc = -EAGAIN;
	assert_true(on_its_way());
	scene.send_rc = 0;
	assert_true(on_its_way());
	assert_int_equal(scene.sent, 1);
}

/* TCP has it then, perhaps behind much that the client did not take yet. */
static void iwarp_waits_until_the_client_closes(void **state)
{
	(void)state;
	scene.device.transport_type = IBV_TRANSPORT_IWARP;
	assert_true(on_its_way());
	scene.session.link.free_count = 4;
	assert_true(on_its_way());
	scene.poll_rc = -ECONNRESET;
	assert_false(on_its_way());
	scene.poll_rc = 0;
	assert_false(on_its_way());
	assert_int_equal(scene.sent, 1);
}

static void nothing_to_who_has_gone(void **state)
{
	(void)state;
	scene.session.ends = -ECONNRESET;
	assert_false(on_its_way());
	scene.session.ends = 0;
	scene.send_rc = -ECONNRESET;
	assert_false(on_its_way());
	assert_int_equal(scene.sent, 0);
}

/* ---- silence ---- */

/* ends_after() - how the session ends once its client was silent for that long, if it does. */
static int ends_after(double seconds)
{
	scene.server.options.timeout_ms = 10000;
	scene.session.link.heard = dnd_now_seconds() - seconds;
	dnd_cache_session_take(&scene.session);
	return scene.session.ends;
}

/* It may have to register a large buffer before it can say anything. */
static void first_message_may_take_a_minute(void **state)
{
	(void)state;
	assert_int_equal(ends_after(50), 0);
	assert_int_equal(ends_after(61), -ETIMEDOUT);
}

static void later_silence_is_that_of_the_options(void **state)
{
	(void)state;
	scene.session.came = true;
	assert_int_equal(ends_after(9), 0);
	assert_int_equal(ends_after(11), -ETIMEDOUT);
}

/* ---- who is still there ---- */

static void read_was_sent(struct dnd_cache_server *server, uint64_t number)
{
	(void)server, (void)number;
}

static void data_were_taken(const struct dnd_link_handler *handler)
{
	assert_int_equal(handler->on_data(handler->user, 0), 0);
}

static void ping_comes(const struct dnd_link_handler *handler)
{
	const struct dnd_wire_message ping = { .type = DND_WIRE_PING, .nonce = 7 };
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES];

	dnd_wire_encode(&ping, bytes);
	assert_int_equal(handler->on_message(handler->user, bytes, sizeof(bytes)), 0);
}

/* Over soft iWARP, this machine's TCP takes the data. */
static void only_a_message_says_that_it_is_there(void **state)
{
	uint64_t before = dnd_now_ns();

	(void)state;
	scene.server.read_sent = read_was_sent;
	scene.comes = data_were_taken;
	assert_int_equal(ends_after(1), 0);
	assert_int_equal(scene.session.said_ns, 0);
	scene.comes = ping_comes;
	assert_int_equal(ends_after(1), 0);
	assert_in_range(scene.session.said_ns, before, dnd_now_ns());
}

#define TEST(name)	cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_until_it_was_sent), TEST(waits_for_a_slot), TEST(iwarp_waits_until_the_client_closes),
		TEST(nothing_to_who_has_gone), TEST(reaches_its_window_and_nothing_else), TEST(reads_back_where_bytes_may_be_held),
		TEST(first_message_may_take_a_minute), TEST(later_silence_is_that_of_the_options),
		TEST(only_a_message_says_that_it_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
