// SPDX-License-Identifier: Apache-2.0
/* A client on a link whose device, server and clock are played by this program. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "memory/memory.h"
#include "rdma/client.h"
#include "says.h"

#define BYTES		(4ULL << 20)
#define NONCE		77
#define TIMEOUT_MS	10000
#define WCS_MAX		64

static struct {
	struct fake *fake;
	double now, tick;		/* how far the clock goes with each look at it */
	bool disconnected;		/* the connection manager says so next */
	struct rdma_cm_event event;
	struct ibv_context verbs;
	struct ibv_device device;
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct ibv_mr mr;
	struct ibv_comp_channel channel;
	struct rdma_event_channel events;
	struct rdma_cm_id id;
	struct donard_memory *memory;
	struct donard_rdma_client *client;
	bool answers;			/* the server answers */
	bool holds;			/* the device completes no data */
	int refuses;			/* with this errno it takes no data */
	enum ibv_wc_status status;	/* with which data complete */
	unsigned int sent[DND_TYPE_END];
	unsigned int rights;		/* of the last registration */
	int exporter_result;		/* of another exporter's barrier */
	unsigned int posts, requests, signalled;	/* of data */
	uint64_t lengths[WCS_MAX], addresses[WCS_MAX];
	struct ibv_wc completions[WCS_MAX];
	unsigned int completion_count;
} scene;

/* ---- the played device and server ---- */

double __wrap_dnd_now_seconds(void);
double __wrap_dnd_now_seconds(void)
{
	scene.now += scene.tick;
	return scene.now;
}

int __wrap_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);
int __wrap_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	if (!scene.disconnected) {
		errno = EAGAIN;
		return -1;
	}
	scene.disconnected = false;
	scene.event.event = RDMA_CM_EVENT_DISCONNECTED;
	*event = &scene.event;
	return 0;
}

int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event);
int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	(void)channel;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	(void)count;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	(void)channel;
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}

int __wrap_dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
			unsigned int rights, struct dnd_registration *registration);
int __wrap_dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
			unsigned int rights, struct dnd_registration *registration)
{
	(void)memory;
	(void)offset;
	(void)length;
	(void)pd;
	scene.rights = rights;
	*registration = (struct dnd_registration){ .mr = &scene.mr };
	return 0;
}

void __wrap_dnd_unregister(struct dnd_registration *registration);
void __wrap_dnd_unregister(struct dnd_registration *registration)
{
	registration->mr = NULL;
}

int __wrap_dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf);
int __wrap_dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf)
{
	(void)dmabuf;
	return scene.exporter_result;
}

/* Nobody answers. */
int __wrap_dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port);
int __wrap_dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port)
{
	int rc = reach->ops->give_up(reach->user);

	(void)address, (void)port;
	return rc ? rc : dnd_fail(reach->ctx, DND_E_PEER_SILENT, "no answer");
}

static void complete(const struct ibv_wc *completion)
{
	assert_true(scene.completion_count < WCS_MAX);
	scene.completions[scene.completion_count++] = *completion;
}

/* The server's answer, in the first slot for what comes. */
static void answer(const struct dnd_message *message)
{
	const struct dnd_message words = {
		.type = message->type == DND_PING ? DND_ALIVE : DND_DONE, .nonce = NONCE, .sequence = message->sequence,
	};

	dnd_message_encode(&words, scene.client->link.messages);
	complete(&(struct ibv_wc){ .wr_id = DND_WR_RECV, .opcode = IBV_WC_RECV, .byte_len = DND_MESSAGE_BYTES });
}

static void take_message(const struct ibv_send_wr *wr)
{
	struct dnd_message message;

	assert_int_equal(dnd_message_decode(&message, (const uint8_t *)(uintptr_t)wr->sg_list->addr, DND_MESSAGE_BYTES), 0);
	scene.sent[message.type]++;
	complete(&(struct ibv_wc){ .wr_id = wr->wr_id });
	if (scene.answers && message.type != DND_TAKE)
		answer(&message);
}

static int play_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	if (DND_WR_KIND(wr->wr_id) == DND_WR_SEND) {
		take_message(wr);
		return 0;
	}
	if (scene.refuses)
		return scene.refuses;
	scene.posts++;
	for (; wr; wr = wr->next) {
		scene.addresses[scene.requests % WCS_MAX] = wr->sg_list->addr;
		scene.lengths[scene.requests++ % WCS_MAX] = wr->sg_list->length;
		if (!(wr->send_flags & IBV_SEND_SIGNALED))
			continue;
		scene.signalled++;
		if (!scene.holds)
			complete(&(struct ibv_wc){ .wr_id = wr->wr_id, .status = scene.status });
	}
	return 0;
}

static int play_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static int play_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	int taken = (int)scene.completion_count;

	(void)cq;
	assert_true(taken <= count);
	memcpy(wc, scene.completions, sizeof(*wc) * scene.completion_count);
	scene.completion_count = 0;
	return taken;
}

static int play_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel;
	(void)cq;
	(void)context;
	return -1;
}

/* ---- the scene ---- */

static void play_link(struct dnd_link *link)
{
	scene.verbs.ops.post_send = play_post_send;
	scene.verbs.ops.post_recv = play_post_recv;
	scene.verbs.ops.poll_cq = play_poll_cq;
	scene.verbs.ops.req_notify_cq = play_notify;
	scene.verbs.device = &scene.device;
	scene.qp.context = scene.cq.context = &scene.verbs;
	scene.id.verbs = &scene.verbs;
	scene.id.qp = &scene.qp;
	scene.channel.fd = scene.events.fd = -1;
	link->id = &scene.id;
	link->channel = &scene.channel;
	link->cq = &scene.cq;
	link->mr = &scene.mr;
	link->size = dnd_talk_size(16);
	link->messages = calloc(link->size.recvs + link->size.sends, link->size.message_bytes);
	link->free_sends = calloc(link->size.sends, sizeof(*link->free_sends));
	for (uint32_t i = 0; i < link->size.sends; i++)
		link->free_sends[link->free_count++] = i;
	link->established = true;
}

static int setup(void **state)
{
	struct donard_rdma_client *client = calloc(1, sizeof(*client));

	(void)state;
	memset(&scene, 0, sizeof(scene));
	if (fake_setup((void **)&scene.fake))
		return -1;
	scene.client = client;
	scene.answers = true;
	scene.now = 1000;
	client->ctx = scene.fake->ctx;
	client->options = (struct donard_rdma_connect_options){ .timeout_ms = TIMEOUT_MS };
	client->offer = (struct dnd_offer){
		.rights = DND_RIGHTS, .length = BYTES, .nonce = NONCE, .silence_ms = TIMEOUT_MS, .target = "p2pmem0",
	};
	client->carries_reads = true;
	client->reach.ctx = client->ctx;
	client->reach.events = &scene.events;
	client->reach.id = &scene.id;
	strcpy(client->reach.peer, "192.0.2.7");
	play_link(&client->link);
	client->link.heard = client->looked = scene.now;
	if (dnd_flow_open(&client->flow, 16))
		return -1;
	return donard_memory_dram(client->ctx, BYTES, &scene.memory);
}

static int teardown(void **state)
{
	void *fake = scene.fake;

	(void)state;
	scene.tick = 1;
	donard_rdma_close(scene.client);
	donard_memory_free(scene.memory);
	return fake_teardown(&fake);
}

static int writes(uint64_t length)
{
	return donard_rdma_write(scene.client, 0, scene.memory, 0, length);
}

/* ---- tests ---- */

/* Four of sixteen requests are a chain; a rest is posted when the caller waits. */
static void requests_go_in_chains(void **state)
{
	(void)state;
	scene.holds = true;
	for (int i = 0; i < 16; i++)
		assert_int_equal(writes(100), 0);
	assert_int_equal(scene.sent[DND_TAKE], 1);
	assert_int_equal(scene.posts, 4);
	assert_int_equal(scene.signalled, 4);
	assert_int_equal(writes(100), -EAGAIN);
	complete(&(struct ibv_wc){ .wr_id = DND_WR_DATA | 4 });
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 4);
	assert_int_equal(writes(100), 0);
	assert_int_equal(scene.posts, 4);
	complete(&(struct ibv_wc){ .wr_id = DND_WR_DATA | 16 });
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 12);
	assert_int_equal(scene.posts, 5);
	complete(&(struct ibv_wc){ .wr_id = DND_WR_DATA | 17 });
	assert_int_equal(donard_rdma_wait(scene.client, 100, 0), 1);
	assert_int_equal(donard_rdma_wait(scene.client, 100, 0), 0);
}

/* No chain has more than one MiB, which a message may have to wait behind. */
static void large_chains_are_short(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(writes(400 << 10), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 4, 0), 4);
	assert_int_equal(scene.posts, 2);
	assert_int_equal(writes(BYTES), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 1);
	assert_int_equal(scene.posts, 2 + 4);
	assert_int_equal(scene.lengths[4], 1 << 20);
}

/* The end is read back only after writes, and once; then the server is asked. */
static void end_of_writes_is_read_back(void **state)
{
	struct ibv_mr back = { .lkey = 9 };

	(void)state;
	scene.client->offer.read_back = true;
	scene.client->back_mr = &back;
	assert_int_equal(donard_rdma_read(scene.client, 0, scene.memory, 0, 100), 0);
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), 0);
	assert_int_equal(scene.requests, 1);
	assert_int_equal(writes(5), 0);
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), 0);
	assert_int_equal(scene.requests, 3);
	assert_int_equal(scene.lengths[2], 5);
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), 0);
	assert_int_equal(scene.requests, 3);
	assert_int_equal(scene.sent[DND_SYNC], 3);
	/* The library's own read does not count as one of the caller's requests. */
	assert_int_equal(donard_rdma_wait(scene.client, 9, 0), 2);
	scene.client->back_mr = NULL;
}

static void failure_stays(void **state)
{
	(void)state;
	scene.status = IBV_WC_REM_ACCESS_ERR;
	assert_int_equal(writes(1), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), -ECONNRESET);
	dnd_fail(scene.client->ctx, DND_E_BUSY, "another failure");
	assert_int_equal(writes(1), -ECONNRESET);
	assert_says(donard_error(scene.client->ctx), "the other side refused the access");
	assert_string_equal(donard_error_code(scene.client->ctx), "peer-lost");
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), -ECONNRESET);
}

static int stop(void *user)
{
	return *(int *)user;
}

static void stopping_ends_the_call_alone(void **state)
{
	int stops = 1;

	(void)state;
	scene.client->options.stop_fn = stop;
	scene.client->options.user = &stops;
	scene.holds = true;
	assert_int_equal(writes(1), 0);
	scene.now += 1;
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), -ECANCELED);
	stops = 0;
	complete(&(struct ibv_wc){ .wr_id = DND_WR_DATA | 1 });
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 1);
}

/* The server takes one request at a time: the next one waits for the answer to that whose caller stopped waiting. */
static void question_waits_for_the_one_before(void **state)
{
	int stops = 1;

	(void)state;
	scene.client->options.stop_fn = stop;
	scene.client->options.user = &stops;
	scene.answers = false;
	scene.now += 1;
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), -ECANCELED);
	assert_int_equal(scene.sent[DND_SYNC], 1);
	scene.now += 1;
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), -ECANCELED);
	assert_int_equal(scene.sent[DND_SYNC], 1);
	stops = 0;
	scene.answers = true;
	answer(&(struct dnd_message){ .type = DND_SYNC, .sequence = 1 });
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), 0);
	assert_int_equal(scene.sent[DND_SYNC], 2);
}

/* The server may answer the good-bye at any time, and counts nothing that is written after that. */
static void after_good_bye_there_is_only_leaving(void **state)
{
	int stops = 1;

	(void)state;
	scene.client->options.stop_fn = stop;
	scene.client->options.user = &stops;
	scene.answers = false;
	scene.now += 1;
	assert_int_equal(donard_rdma_leave(scene.client, NULL), -ECANCELED);
	assert_int_equal(scene.sent[DND_BYE], 1);
	assert_int_equal(writes(1), -EINVAL);
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), -EINVAL);
	stops = 0;
	scene.answers = true;
	answer(&(struct dnd_message){ .type = DND_BYE, .sequence = 1 });
	assert_int_equal(donard_rdma_leave(scene.client, NULL), 0);
	assert_int_equal(donard_rdma_leave(scene.client, NULL), -EINVAL);
}

/* Requests that the device did not take are lost, even if the caller wants to stop at the same time. */
static void refused_requests_end_the_connection(void **state)
{
	int stops = 1;

	(void)state;
	scene.client->options.stop_fn = stop;
	scene.client->options.user = &stops;
	assert_int_equal(writes(1), 0);
	scene.refuses = ENOMEM;
	scene.now += 1;
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), -ENOMEM);
	scene.refuses = stops = 0;
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), -ENOMEM);
	assert_int_equal(scene.posts, 0);
}

/* The caller stopped while the library read back; its own requests alone are counted, before and after. */
static void stopped_reading_back_is_not_counted(void **state)
{
	struct ibv_mr back = { .lkey = 9 };
	int stops = 0;

	(void)state;
	scene.client->options.stop_fn = stop;
	scene.client->options.user = &stops;
	scene.client->offer.read_back = true;
	scene.client->back_mr = &back;
	assert_int_equal(writes(5), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 1);
	scene.holds = true;
	stops = 1;
	scene.now += 1;
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), -ECANCELED);
	assert_int_equal(scene.requests, 2);
	assert_int_equal(donard_rdma_wait(scene.client, 0, 0), 0);
	stops = 0;
	scene.holds = false;
	assert_int_equal(writes(5), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 1);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 0);
	scene.client->back_mr = NULL;
}

/* Requests name it by its offset in the dma-buf. */
static void memory_without_a_mapping_has_its_offset(void **state)
{
	struct donard_memory memory = {
		.ctx = scene.client->ctx, .region.fd = -1, .dmabuf = { .fd = 0, .writable = true }, .dmabuf_offset = 8192,
		.length = 65536,
	};
	struct donard_rdma_registration_info info = { .size = sizeof(info) };

	(void)state;
	assert_int_equal(donard_rdma_attach(scene.client, &memory, DONARD_RDMA_READ, &info), 0);
	assert_int_equal((uintptr_t)info.address, 8192);
	assert_int_equal(donard_rdma_read(scene.client, 0, &memory, 100, 10), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 1);
	assert_int_equal(scene.addresses[0], 8192 + 100);
}

/* The bytes that the server calls durable may come from a source that was reset between two checks. */
static void reset_source_is_not_durable(void **state)
{
	(void)state;
	assert_int_equal(writes(5), 0);
	scene.client->near->resets = 1;
	assert_int_equal(donard_rdma_sync(scene.client, NULL, NULL), -EIO);
	assert_string_equal(donard_error_code(scene.client->ctx), "device");
}

/* Another barrier may have heard of it: the kernel reports a reset once. */
static void reset_target_is_not_durable(void **state)
{
	(void)state;
	assert_int_equal(donard_rdma_read(scene.client, 0, scene.memory, 0, 5), 0);
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 1);
	scene.client->near->resets = 1;
	assert_int_equal(donard_rdma_sync(scene.client, scene.memory, NULL), -EIO);
	assert_string_equal(donard_error_code(scene.client->ctx), "device");
}

/* The exporter's errors mean none of what the connection means by them. */
static void exporters_failure_is_told(int error_number)
{
	struct donard_memory memory = {
		.ctx = scene.client->ctx, .region.fd = -1, .dmabuf = { .fd = eventfd(0, EFD_CLOEXEC), .writable = true }, .length = 65536,
	};

	scene.exporter_result = -error_number;
	assert_int_equal(donard_rdma_attach(scene.client, &memory, DONARD_RDMA_READ, NULL), 0);
	assert_int_equal(donard_rdma_sync(scene.client, &memory, NULL), -error_number);
	assert_says(donard_error(scene.client->ctx), "its bytes cannot be accessed");
	assert_int_equal(donard_rdma_wait(scene.client, 0, 0), -error_number);
	dnd_near_detach(scene.client, scene.client->near);
	close(memory.dmabuf.fd);
}

static void exporter_without_memory(void **state)
{
	(void)state;
	exporters_failure_is_told(ENOMEM);
}

static void exporter_out_of_time(void **state)
{
	(void)state;
	exporters_failure_is_told(ETIMEDOUT);
}

/* Its removal does not wait for a server that does not answer. */
static void region_goes_away_before_the_answer(void **state)
{
	const struct donard_rdma_connect_options options = {
		.size = sizeof(options), .address = "192.0.2.7", .rights = DONARD_RDMA_WRITE, .memory = scene.memory,
	};
	struct donard_rdma_client *client;
	int fds[2];

	(void)state;
	assert_int_equal(donard_rdma_connect(scene.client->ctx, &options, &client), -ETIMEDOUT);
	assert_int_equal(pipe(fds), 0);
	close(fds[1]);			/* poll() then reports it like a region that is being removed */
	scene.memory->region.fd = fds[0];
	assert_int_equal(donard_rdma_connect(scene.client->ctx, &options, &client), -ENODEV);
	assert_string_equal(donard_error_code(scene.client->ctx), "region-gone");
	scene.memory->region.fd = -1;
	close(fds[0]);
}

/* Over iWARP a read's answer is a write by the server, which needs a right. */
static void reads_need_rights(void **state)
{
	(void)state;
	assert_int_equal(writes(5), 0);
	assert_int_equal(scene.rights, 0);
	assert_int_equal(donard_rdma_attach(scene.client, scene.memory, DONARD_RDMA_READ, NULL), 0);
	assert_int_equal(scene.rights, DONARD_RDMA_LOCAL_WRITE);
	dnd_near_detach(scene.client, scene.client->near);
	scene.device.transport_type = IBV_TRANSPORT_IWARP;
	assert_int_equal(donard_rdma_attach(scene.client, scene.memory, DONARD_RDMA_READ, NULL), 0);
	assert_int_equal(scene.rights, DONARD_RDMA_LOCAL_WRITE | DONARD_RDMA_WRITE);
}

/* Four of them within what the server waits, however short that is. */
static void pings_are_in_time(void **state)
{
	(void)state;
	scene.client->offer.silence_ms = 100;
	scene.client->pinged = scene.now;
	for (unsigned int i = 1; i <= 4; i++) {
		scene.now += 0.026;
		assert_int_equal(donard_rdma_wait(scene.client, 0, 0), 0);
		assert_int_equal(scene.sent[DND_PING], i);
	}
}

/* A call that has nothing to wait for looks after the connection, too. */
static void waiting_for_nothing_keeps_the_connection(void **state)
{
	(void)state;
	scene.now += 5;
	assert_int_equal(donard_rdma_wait(scene.client, 1, 0), 0);
	assert_int_equal(scene.sent[DND_PING], 1);
}

static void memory_of_another_context_is_refused(void **state)
{
	struct donard_context *other;
	struct donard_memory *memory;

	(void)state;
	assert_int_equal(donard_open(&other, NULL), 0);
	assert_int_equal(donard_memory_dram(other, BYTES, &memory), 0);
	assert_int_equal(donard_rdma_write(scene.client, 0, memory, BYTES, 1), -EINVAL);
	assert_says(donard_error(scene.client->ctx), "another context");
	donard_memory_free(memory);
	donard_close(other);
}

/* The server has been silent since it was first asked whether it is there. */
static void silent_server_is_found(void **state)
{
	(void)state;
	scene.answers = false;
	for (int seconds = 0; seconds <= TIMEOUT_MS / 1000; seconds++, scene.now += 1)
		assert_int_equal(donard_rdma_wait(scene.client, 0, 0), 0);
	scene.now += 1;
	assert_int_equal(donard_rdma_wait(scene.client, 0, 0), -ETIMEDOUT);
	assert_string_equal(donard_error_code(scene.client->ctx), "peer-silent");
}

/* A caller that sends nothing for an hour gets no answer in it, which is not the server's silence. */
static void caller_may_have_been_away(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++, scene.now += 3600) {
		assert_int_equal(donard_rdma_wait(scene.client, 0, 0), 0);
		assert_int_equal(scene.sent[DND_PING], 2 * i);
		scene.now += 3;
		assert_int_equal(donard_rdma_wait(scene.client, 0, 0), 0);
	}
}

/* Which takes so many seconds of the played clock. */
static double closing_takes(double tick)
{
	double began = scene.now;

	scene.answers = false;
	scene.tick = tick;
	donard_rdma_close(scene.client);
	scene.client = NULL;
	scene.tick = 0;
	return scene.now - began;
}

/* The server takes a good-bye during its work as the end, and answers nothing. */
static void closing_ends_with_the_connection(void **state)
{
	(void)state;
	scene.disconnected = true;
	assert_true(closing_takes(0.25) < 1);
	assert_int_equal(scene.sent[DND_BYE], 1);
}

static void nobody_is_left_to_say_good_bye_to(void **state)
{
	(void)state;
	scene.client->reach.over = true;
	assert_true(closing_takes(0.25) < 1);
	assert_int_equal(scene.sent[DND_BYE], 0);
}

/* The kernel does not wait long for holders of unplugged memory, so a close releases it soon. */
static void closing_gives_unplugged_memory_back(void **state)
{
	(void)state;
	scene.client->over = -ENODEV;
	assert_true(closing_takes(0.25) < 2);
	assert_int_equal(scene.sent[DND_BYE], 1);
}

static void nothing_left_to_register(void **state)
{
	struct donard_rdma_registration *registration;

	(void)state;
	assert_int_equal(donard_rdma_register(scene.memory, BYTES, 0, NULL, DONARD_RDMA_READ, &registration), -ENXIO);
	assert_int_equal(donard_rdma_register(scene.memory, BYTES + 1, 0, NULL, DONARD_RDMA_READ, &registration), -ENXIO);
	assert_int_equal(donard_rdma_register(scene.memory, 1, BYTES, NULL, DONARD_RDMA_READ, &registration), -ENXIO);
}

/* A question of no bytes goes past no end: it is a wrong question. */
static void questions_are_about_bytes(void **state)
{
	struct donard_rdma_question question = { .size = sizeof(question) };
	struct donard_rdma_answer reply = { .size = sizeof(reply) };
	struct donard_failure failure = { .size = sizeof(failure) };

	(void)state;
	scene.client->offer.services = 1;
	assert_int_equal(donard_rdma_ask(scene.client, &question, &reply), -EINVAL);
	assert_says(donard_error(scene.fake->ctx), "192.0.2.7: a question is about at least 1 byte");
	assert_int_equal(donard_failure_get(scene.fake->ctx, &failure), 0);
	assert_string_equal(failure.member, "length");
	assert_int_equal(failure.limit, 1);
	question.offset_bytes = BYTES;
	question.length_bytes = 1;
	assert_int_equal(donard_rdma_ask(scene.client, &question, &reply), -ENXIO);
	assert_int_equal(scene.sent[DND_ASK], 0);
	question.offset_bytes = BYTES - 1;
	assert_int_equal(donard_rdma_ask(scene.client, &question, &reply), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(requests_go_in_chains), CASE(large_chains_are_short), CASE(end_of_writes_is_read_back), CASE(failure_stays),
		CASE(stopping_ends_the_call_alone), CASE(silent_server_is_found), CASE(caller_may_have_been_away),
		CASE(question_waits_for_the_one_before), CASE(questions_are_about_bytes), CASE(after_good_bye_there_is_only_leaving),
		CASE(refused_requests_end_the_connection), CASE(stopped_reading_back_is_not_counted),
		CASE(memory_without_a_mapping_has_its_offset), CASE(reset_source_is_not_durable),
		CASE(reset_target_is_not_durable), CASE(exporter_without_memory), CASE(exporter_out_of_time),
		CASE(region_goes_away_before_the_answer), CASE(reads_need_rights), CASE(pings_are_in_time),
		CASE(waiting_for_nothing_keeps_the_connection), CASE(memory_of_another_context_is_refused),
		CASE(nothing_left_to_register), CASE(closing_ends_with_the_connection), CASE(nobody_is_left_to_say_good_bye_to),
		CASE(closing_gives_unplugged_memory_back),
	};

	return cmocka_run_group_tests_name("rdma_client", tests, NULL, NULL);
}
