// SPDX-License-Identifier: Apache-2.0
/* Whether a client lost its own device: the connection manager's events are played by this program, and so are the wait for them and its clock. */
#include <poll.h>

#include "unit.h"
#include "rdma/link.h"
#include "rdma/reach.h"
#include "says.h"

#define NOTHING	(-1)

static struct {
	int now, later;		/* an event that has come, and one that comes during the second wait, or NOTHING */
	int status, error_number;	/* of the event, and behind it */
	unsigned int waits;
	int now_ms;
	struct rdma_cm_event event;
	struct rdma_event_channel channel;
} scene;

int __wrap_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);
int __wrap_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	assert_ptr_equal(channel, &scene.channel);
	if (scene.now == NOTHING)
		return -1;
	scene.event = (struct rdma_cm_event){ .event = (enum rdma_cm_event_type)scene.now, .status = scene.status };
	scene.now = NOTHING;
	*event = &scene.event;
	if (scene.error_number)
		errno = scene.error_number;
	return 0;
}

int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event);
int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event)
{
	assert_ptr_equal(event, &scene.event);
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	assert_int_equal(count, 1);
	assert_int_equal(fds->fd, scene.channel.fd);
	assert_in_range(timeout_ms, 1, 1000);
	if (++scene.waits != 2) {
		scene.now_ms++;		/* as by a signal */
		return -1;
	}
	scene.now = scene.later;
	if (scene.later == NOTHING)
		scene.now_ms += timeout_ms;
	return scene.later != NOTHING;
}

double __wrap_dnd_now_seconds(void);
double __wrap_dnd_now_seconds(void)
{
	return scene.now_ms / 1000.0;
}

static int dial_error;

int __wrap_dnd_dial(struct rdma_cm_id *id, struct rdma_conn_param *param, int (*give_up_fn)(void *user), void *user, int *error_number);
int __wrap_dnd_dial(struct rdma_cm_id *id, struct rdma_conn_param *param, int (*give_up_fn)(void *user), void *user, int *error_number)
{
	(void)id;
	(void)param;
	(void)give_up_fn;
	(void)user;
	*error_number = dial_error;
	return 0;
}

static int connect_fails(struct donard_context *ctx, int error_number)
{
	struct dnd_reach reach = { .ctx = ctx, .peer = "192.0.2.7:7077", .server = "a server", .listen_option = "it" };
	struct rdma_conn_param param = { 0 };

	dial_error = error_number;
	return dnd_reach_connect(&reach, &param);
}

/* A failure on this machine is not reported as the peer's silence. */
static void failures_here_and_there(void **state)
{
	struct donard_context *ctx;

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(connect_fails(ctx, ECONNREFUSED), -ECONNREFUSED);
	assert_int_equal(connect_fails(ctx, EHOSTUNREACH), -ETIMEDOUT);
	assert_int_equal(connect_fails(ctx, EAGAIN), -EAGAIN);
	assert_string_equal(donard_error_code(ctx), "system");
	assert_int_equal(connect_fails(ctx, ENOMEM), -ENOMEM);
	donard_close(ctx);
}

static int refused_with(struct donard_context *ctx, const void *bytes, size_t length, bool *unheard)
{
	struct dnd_reach reach = {
		.ctx = ctx, .peer = "192.0.2.7:7077", .server = "a server", .listen_option = "it", .unheard = true,
	};
	int rc = dnd_reach_stranger(&reach, bytes, length);

	*unheard = reach.unheard;
	return rc;
}

/* A refusal by the kernel carries no data.  One with data comes from a program that listens. */
static void strangers_are_somebody(void **state)
{
	struct donard_context *ctx;
	bool unheard;

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(refused_with(ctx, NULL, 0, &unheard), -ECONNREFUSED);
	assert_int_equal(refused_with(ctx, "\0\0\0\0\0\5", 6, &unheard), -ECONNREFUSED);
	assert_true(unheard);
	assert_int_equal(refused_with(ctx, "DNWC\0\1\0\1", 8, &unheard), -EPROTO);
	assert_says(donard_error(ctx), "192.0.2.7:7077: what listens there is no a server");
	assert_false(unheard);
	donard_close(ctx);
}

static int answer_fails(struct donard_context *ctx, int status, int error_number)
{
	struct dnd_reach reach = { .ctx = ctx, .peer = "192.0.2.7:7077", .server = "a server", .events = &scene.channel };
	struct rdma_conn_param param = { 0 };
	int rc;

	dial_error = 0;
	scene.waits = 0;
	scene.now = RDMA_CM_EVENT_CONNECT_ERROR;
	scene.status = status;
	scene.error_number = error_number;
	rc = dnd_reach_connect(&reach, &param);
	scene.status = scene.error_number = 0;
	return rc;
}

/* The same holds if librdmacm fails on this machine after the server's answer. */
static void own_queue_pair_is_refused(void **state)
{
	struct donard_context *ctx;

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(answer_fails(ctx, -1, EINVAL), -EINVAL);
	assert_says(donard_error(ctx), "192.0.2.7:7077: the server answered");
	assert_int_equal(answer_fails(ctx, -1, 0), -EIO);
	assert_int_equal(answer_fails(ctx, -ETIMEDOUT, EINVAL), -ETIMEDOUT);
	assert_string_equal(donard_error_code(ctx), "peer-silent");
	donard_close(ctx);
}

static bool lost_device(int now, int later, bool peer_failed)
{
	struct dnd_reach reach = { .events = &scene.channel };

	scene.now = now;
	scene.later = later;
	scene.waits = 0;
	scene.channel.fd = 77;
	return dnd_reach_lost_device(&reach, peer_failed);
}

static void an_event_that_came_is_enough(void **state)
{
	(void)state;
	assert_true(lost_device(RDMA_CM_EVENT_DEVICE_REMOVAL, NOTHING, false));
	assert_true(lost_device(RDMA_CM_EVENT_DEVICE_REMOVAL, NOTHING, true));
	assert_false(lost_device(RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL, false));
	assert_int_equal(scene.waits, 0);
}

/* The requests failed first. */
static void a_late_event_is_waited_for(void **state)
{
	(void)state;
	assert_true(lost_device(NOTHING, RDMA_CM_EVENT_DEVICE_REMOVAL, false));
	assert_true(lost_device(RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_DEVICE_REMOVAL, false));
	assert_false(lost_device(NOTHING, RDMA_CM_EVENT_DISCONNECTED, false));
	assert_int_equal(scene.waits, 2);
}

static void the_wait_ends(void **state)
{
	(void)state;
	assert_false(lost_device(NOTHING, NOTHING, false));
	assert_in_range(scene.waits, 2, 3);
}

/* The device reported that the peer failed, so the device itself is there. */
static void nobody_waits_if_the_peer_failed(void **state)
{
	(void)state;
	assert_false(lost_device(NOTHING, RDMA_CM_EVENT_DEVICE_REMOVAL, true));
	assert_int_equal(scene.waits, 0);
}

/* An earlier look took the event. */
static void what_was_seen_is_remembered(void **state)
{
	struct dnd_reach reach = { .events = &scene.channel };

	(void)state;
	scene.waits = 0;
	scene.now = RDMA_CM_EVENT_DISCONNECTED;
	assert_int_equal(dnd_reach_take_events(&reach), -ECONNRESET);
	assert_false(dnd_reach_lost_device(&reach, false));
	assert_int_equal(scene.waits, 0);
}

static bool blames_peer(enum ibv_wc_status status)
{
	return dnd_link_blames_peer(&(struct dnd_link){ .lost = true, .status = status });
}

static void some_statuses_name_the_peer(void **state)
{
	(void)state;
	assert_true(blames_peer(IBV_WC_RETRY_EXC_ERR));
	assert_true(blames_peer(IBV_WC_REM_ACCESS_ERR));
	assert_false(blames_peer(IBV_WC_SUCCESS));
	assert_false(blames_peer(IBV_WC_WR_FLUSH_ERR));
	assert_false(blames_peer(IBV_WC_FATAL_ERR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_here_and_there), cmocka_unit_test(own_queue_pair_is_refused),
		cmocka_unit_test(an_event_that_came_is_enough), cmocka_unit_test(a_late_event_is_waited_for),
		cmocka_unit_test(the_wait_ends), cmocka_unit_test(nobody_waits_if_the_peer_failed),
		cmocka_unit_test(strangers_are_somebody), cmocka_unit_test(what_was_seen_is_remembered),
		cmocka_unit_test(some_statuses_name_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
