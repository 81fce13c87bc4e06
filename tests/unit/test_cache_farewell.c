// SPDX-License-Identifier: Apache-2.0
/* How a server tells its clients that it withdraws (session.c), and how long it takes that for being on its way. */
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
	(void)link, (void)handler;
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

#define TEST(name)	cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_until_it_was_sent), TEST(waits_for_a_slot), TEST(iwarp_waits_until_the_client_closes),
		TEST(nothing_to_who_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
