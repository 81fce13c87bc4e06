// SPDX-License-Identifier: Apache-2.0
/* A server's session on a link whose device is played by this program, as is the barrier of its memory's device. */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "memory/memory.h"
#include "rdma/session.h"
#include "says.h"

static struct dnd_message played_sent;
static unsigned int played_sends;
static uint64_t played_done;	/* the slot whose send completes at the next look, plus one */
static uint8_t *played_ping;	/* where a ping of the client lies at the next look; or NULL */
static unsigned int played_looks;	/* for completions */
static bool played_arrives;	/* messages that are sent complete by themselves */

static atomic_uint barriers_to_hold, barriers_passed;
static atomic_int barrier_result;

static bool barrier_is_held(void)
{
	return atomic_load(&barriers_to_hold);
}

/*
 * The barrier of a device that gets ready when the test tells it to.  It gets ready by itself only after the test has failed.
 */
int __wrap_dnd_region_try_sync(const struct dnd_region *region, bool durable);
int __wrap_dnd_region_try_sync(const struct dnd_region *region, bool durable)
{
	double deadline = dnd_now_seconds() + HANG_SECONDS;

	(void)region;
	(void)durable;
	while (barrier_is_held() && dnd_now_seconds() < deadline)
		usleep(1000);
	atomic_fetch_add(&barriers_passed, 1);
	return atomic_load(&barrier_result);
}

static atomic_uint exporters_asked;
static atomic_int exporter_result;

int __wrap_dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf);
int __wrap_dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf)
{
	(void)dmabuf;
	atomic_fetch_add(&exporters_asked, 1);
	return atomic_load(&exporter_result);
}

static int play_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	assert_int_equal(dnd_message_decode(&played_sent, (const uint8_t *)(uintptr_t)wr->sg_list->addr, DND_MESSAGE_BYTES), 0);
	played_sends++;
	if (played_arrives)
		played_done = DND_WR_NUMBER(wr->wr_id) + 1;
	if (played_sent.type == DND_ALIVE)
		atomic_store(&barriers_to_hold, 0);
	return 0;
}

static int play_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	(void)cq;
	(void)count;
	played_looks++;
	if (played_ping) {
		dnd_message_encode(&(struct dnd_message){ .type = DND_PING }, played_ping);
		played_ping = NULL;
		*wc = (struct ibv_wc){ .wr_id = DND_WR_RECV, .opcode = IBV_WC_RECV, .byte_len = DND_MESSAGE_BYTES };
		return 1;
	}
	if (!played_done)
		return 0;
	*wc = (struct ibv_wc){ .wr_id = DND_WR_SEND | (played_done - 1), .status = IBV_WC_SUCCESS };
	played_done = 0;
	return 1;
}

static int play_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
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

/* ---- admission ---- */

static struct ibv_mr offered_mr;
static struct ibv_cq *offered_cq;
static struct dnd_offer offered;
static unsigned int accepted_reads;
static double registers_seconds;	/* how long that takes */

int __wrap_dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id, const struct dnd_link_size *size);
int __wrap_dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id, const struct dnd_link_size *size)
{
	(void)ctx;
	(void)id;
	(void)size;
	link->cq = offered_cq;
	link->heard = dnd_now_seconds() - registers_seconds;
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
	(void)rights;
	*registration = (struct dnd_registration){ .mr = &offered_mr };
	return 0;
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	(void)verbs;
	*attr = (struct ibv_device_attr){ .max_qp_rd_atom = 128, .max_qp_init_rd_atom = 128 };
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	(void)id;
	(void)level;
	(void)name;
	(void)value;
	(void)length;
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	accepted_reads = param->responder_resources;
	return dnd_offer_decode(&offered, param->private_data, param->private_data_len);
}

struct scene {
	struct fake *fake;
	struct ibv_context verbs;
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct ibv_mr mr;
	struct ibv_device device;
	struct ibv_comp_channel channel;
	struct rdma_cm_id id;
	struct donard_memory memory;
	struct dnd_service service;
	struct dnd_session session;
	unsigned int answered;
	bool program_changes, program_fails, program_keeps_up;
	bool client_pings;		/* while the program works */
	double program_seconds;		/* for which it works, and does not keep up */
	int program_returns;
};

static int answers(void *user, const struct donard_rdma_asked *asked, struct donard_rdma_answer *answer)
{
	struct scene *scene = user;

	scene->answered++;
	scene->session.link.heard -= scene->program_seconds;
	if (scene->client_pings)
		played_ping = scene->session.link.messages;
	if (scene->program_keeps_up)
		return donard_rdma_keep_up(asked);
	if (scene->program_fails)
		return donard_fail(scene->fake->ctx, EILSEQ, NULL, "the program's own words");
	if (scene->program_returns < 0)
		return donard_fail(scene->fake->ctx, -scene->program_returns, NULL, "the program's own words");
	if (scene->program_returns)
		return scene->program_returns;
	assert_ptr_equal(asked->memory, &scene->memory);
	assert_string_equal(asked->peer, "192.0.2.7");
	answer->value = asked->offset_bytes + asked->length_bytes + asked->value;
	answer->verdict = 42;
	answer->changed = scene->program_changes;
	return 0;
}

static void play_link(struct scene *scene)
{
	struct dnd_link *link = &scene->session.link;

	scene->verbs.ops.post_send = play_post_send;
	scene->verbs.ops.post_recv = play_post_recv;
	scene->verbs.ops.poll_cq = play_poll_cq;
	scene->verbs.ops.req_notify_cq = play_notify;
	scene->qp.context = scene->cq.context = &scene->verbs;
	scene->verbs.device = &scene->device;
	scene->id.verbs = &scene->verbs;
	scene->id.qp = &scene->qp;
	scene->channel.fd = -1;
	scene->session.id = link->id = &scene->id;
	link->channel = &scene->channel;
	link->cq = &scene->cq;
	link->mr = &scene->mr;
	link->size = dnd_talk_size(0);
	link->messages = calloc(link->size.recvs + link->size.sends, link->size.message_bytes);
	link->free_sends = calloc(link->size.sends, sizeof(*link->free_sends));
	link->heard = dnd_now_seconds();
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	atomic_store(&barrier_result, 0);
	if (fake_setup((void **)&scene->fake))
		return -1;
	scene->memory.ctx = scene->service.ctx = scene->fake->ctx;
	scene->memory.region.fd = scene->memory.dmabuf.fd = -1;
	scene->memory.length = 65536;
	strcpy(scene->memory.region.name, "p2pmem0");
	scene->service.memory = &scene->memory;
	scene->service.timeout_ms = 10000;
	scene->service.services = 1;
	scene->service.answer_fn = answers;
	scene->service.answer_user = scene;
	scene->session.service = &scene->service;
	strcpy(scene->session.peer, "192.0.2.7");
	play_link(scene);
	played_sends = played_looks = 0;
	played_done = 0;
	played_ping = NULL;
	played_arrives = false;
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	void *fake = scene->fake;

	free(scene->session.link.messages);
	free(scene->session.link.free_sends);
	free(scene);
	return fake_teardown(&fake);
}

/* Answers to pings have all slots: the answer waits for the first of them, and ends nobody. */
static void answer_waits_for_a_slot(void **state)
{
	struct scene *scene = *state;

	scene->session.heard.request = (struct dnd_message){ .type = DND_BYE, .sequence = 5 };
	for (int i = 0; i < 3; i++)
		assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(played_sends, 0);
	assert_int_equal(scene->session.heard.request.type, DND_BYE);
	played_done = 1;
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(played_sends, 1);
	assert_int_equal(played_sent.type, DND_DONE);
	assert_int_equal(played_sent.sequence, 5);
	assert_int_equal(scene->session.heard.request.type, 0);
	played_done = 1;
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(played_sends, 1);
}

/* So does the word that takes the memory back. */
static void withdrawal_waits_for_a_slot(void **state)
{
	struct scene *scene = *state;

	scene->session.heard.took = true;
	scene->session.link.size.sends = 1;
	played_done = 1;
	played_arrives = true;
	dnd_session_withdraw(&scene->session, DND_STATUS_STOPPED);
	assert_int_equal(played_sends, 1);
	assert_int_equal(played_sent.type, DND_WITHDRAWN);
	assert_int_equal(dnd_heard_end(&scene->session.heard), DONARD_RDMA_CLIENT_LOST);
}

/* A client that left has its answer only when that was sent: the end of the connection would discard it. */
static void answer_to_a_good_bye_arrives(void **state)
{
	struct scene *scene = *state;

	scene->session.heard.took = scene->session.heard.said_bye = true;
	scene->session.link.size.sends = 1;
	played_done = 1;
	dnd_session_withdraw(&scene->session, DND_STATUS_STOPPED);
	assert_int_equal(dnd_link_sends_under_way(&scene->session.link), 0);
	assert_int_equal(played_sends, 0);
	assert_int_equal(dnd_heard_end(&scene->session.heard), DONARD_RDMA_CLIENT_LEFT);
}

static void nobody_is_withdrawn_from_twice(void **state)
{
	struct scene *scene = *state;

	scene->session.heard = (struct dnd_heard){ .took = true, .said_bye = true, .cut_off = true };
	dnd_session_withdraw(&scene->session, DND_STATUS_STOPPED);
	assert_int_equal(played_sends, 0);
	assert_int_equal(played_looks, 0);
}

static void asks(struct scene *scene, uint32_t service)
{
	scene->session.heard.request = (struct dnd_message){
		.type = DND_ASK, .sequence = 7, .word = service, .offset = 3, .length = 4096, .value = 11,
	};
	scene->session.link.free_count = scene->session.link.size.sends;
}

/* The program's words, and its own failure. */
static void program_answers(void **state)
{
	struct scene *scene = *state;

	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(played_sent.type, DND_DONE);
	assert_int_equal(played_sent.sequence, 7);
	assert_int_equal(played_sent.word, 42);
	assert_int_equal(played_sent.value, 3 + 4096 + 11);
	assert_false(scene->session.changed);
	scene->program_changes = true;
	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_true(scene->session.changed);
	scene->program_fails = true;
	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), -EILSEQ);
	assert_string_equal(donard_error(scene->fake->ctx), "the program's own words");
}

/* The server has read nothing meanwhile, so that what the client said is still there. */
static void slow_program_does_not_silence_its_client(void **state)
{
	struct scene *scene = *state;

	scene->program_seconds = 20;
	scene->client_pings = true;
	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(played_sent.type, DND_ALIVE);
	scene->client_pings = false;
	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), -ETIMEDOUT);
}

/* They mean a reset, a removal or the server's end only if the library says so. */
static void program_has_its_own_numbers(void **state)
{
	static const int errors[] = { -EIO, -ENODEV, -ECANCELED, -EPROTO };
	struct scene *scene = *state;
	int rc;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		scene->program_returns = errors[i];
		asks(scene, 0);
		rc = dnd_session_serve(&scene->session);
		assert_true(rc < 0 && rc != -EIO && rc != -ENODEV && rc != -ECANCELED);
		assert_string_equal(donard_error(scene->fake->ctx), "the program's own words");
	}
	scene->program_returns = 1;
	asks(scene, 0);
	rc = dnd_session_serve(&scene->session);
	assert_true(rc < 0 && rc != -ECANCELED);
	assert_says(donard_error(scene->fake->ctx), "1");
}

/* Which it has not, or of more than is offered. */
static void strange_questions_end_a_client(void **state)
{
	struct scene *scene = *state;

	asks(scene, 1);
	assert_int_equal(dnd_session_serve(&scene->session), -EPROTO);
	asks(scene, 32);
	assert_int_equal(dnd_session_serve(&scene->session), -EPROTO);
	asks(scene, 0);
	scene->session.heard.request.length = 65536;
	assert_int_equal(dnd_session_serve(&scene->session), -EPROTO);
	assert_int_equal(scene->answered, 0);
	assert_int_equal(played_sends, 0);
}

/* No end has the text of an earlier failure. */
static void each_end_has_its_text(void **state)
{
	struct scene *scene = *state;

	dnd_fail(scene->fake->ctx, DND_E_BUSY, "an earlier failure");
	asks(scene, 0);
	scene->memory.region.fd = 0;
	atomic_store(&barrier_result, -EFBIG);
	assert_true(dnd_session_serve(&scene->session) < 0);
	assert_says(donard_error(scene->fake->ctx), "p2pmem0: its bytes cannot be accessed");
	scene->memory.region.fd = -1;
	atomic_store(&barrier_result, 0);
}

static int told_to_end(void *user)
{
	(void)user;
	return -ECANCELED;
}

static int client_goes(void *user)
{
	struct scene *scene = user;

	scene->session.over = true;
	return 0;
}

static int goes_on(void *user)
{
	(void)user;
	return 0;
}

/* A client whose last word waits for the barrier of a PMR, which takes its time. */
static void says_bye_to_a_pmr(struct scene *scene)
{
	scene->session.heard = (struct dnd_heard){
		.took = true, .said_bye = true, .request = { .type = DND_BYE, .sequence = 5 },
	};
	scene->session.link.free_count = scene->session.link.size.sends;
	for (uint32_t i = 0; i < scene->session.link.size.sends; i++)
		scene->session.link.free_sends[i] = i;
	scene->memory.region.fd = open("/dev/null", O_RDONLY);
	scene->memory.region.info.flags = P2PMEM_REGION_PERSISTENT;
	scene->service.rights = DONARD_RDMA_READ | DONARD_RDMA_WRITE;
	scene->service.meanwhile_fn = goes_on;
	atomic_store(&barriers_passed, 0);
	atomic_store(&barriers_to_hold, 1);
	atomic_store(&barrier_result, 0);
}

static void forget_pmr(struct scene *scene)
{
	double deadline = dnd_now_seconds() + HANG_SECONDS;

	atomic_store(&barriers_to_hold, 0);
	while (!atomic_load(&barriers_passed) && dnd_now_seconds() < deadline)
		usleep(1000);
	close(scene->memory.region.fd);
	scene->memory.region.fd = -1;
}

/* Nobody zeroes persistent memory. */
static void lost_client_may_leave_bytes(void **state)
{
	struct scene *scene = *state;

	scene->service.rights = DONARD_RDMA_WRITE;
	assert_int_equal(dnd_session_lost(&scene->session), -ECONNRESET);
	assert_says(donard_error(scene->fake->ctx), "left without saying good-bye");
	assert_null(strstr(donard_error(scene->fake->ctx), "What it wrote"));
	scene->memory.region.info.flags = P2PMEM_REGION_PERSISTENT;
	assert_int_equal(dnd_session_lost(&scene->session), -ECONNRESET);
	assert_says(donard_error(scene->fake->ctx), "What it wrote stays");
	scene->service.rights = DONARD_RDMA_READ;
	assert_int_equal(dnd_session_lost(&scene->session), -ECONNRESET);
	assert_null(strstr(donard_error(scene->fake->ctx), "What it wrote"));
}

/* The client hears that the server is there: here the barrier ends only then. */
static void client_hears_of_a_barrier(void **state)
{
	struct scene *scene = *state;

	says_bye_to_a_pmr(scene);
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	/* One ALIVE or more, as fast as the host is, and the answer. */
	assert_true(played_sends >= 2);
	assert_int_equal(played_sent.type, DND_DONE);
	assert_int_equal(played_sent.sequence, 5);
	assert_true(played_sent.durable);
	forget_pmr(scene);
}

/* A client that stays hears the same, and is not taken for one that left. */
static void sync_is_no_farewell(void **state)
{
	struct scene *scene = *state;

	says_bye_to_a_pmr(scene);
	scene->session.heard.said_bye = false;
	scene->session.heard.request.type = DND_SYNC;
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(played_sent.type, DND_DONE);
	assert_true(played_sent.durable);
	assert_false(scene->session.durable);
	assert_int_equal(dnd_heard_end(&scene->session.heard), DONARD_RDMA_CLIENT_LOST);
	forget_pmr(scene);
}

/* The end of the server does not wait for the device; the client gets no answer, and learns that. */
static void server_ends_during_a_barrier(void **state)
{
	struct scene *scene = *state;

	says_bye_to_a_pmr(scene);
	scene->service.meanwhile_fn = told_to_end;
	dnd_fail(scene->fake->ctx, DND_E_BUSY, "an earlier failure");
	assert_int_equal(dnd_session_serve(&scene->session), -ECANCELED);
	assert_string_equal(donard_error(scene->fake->ctx), "the server ended under it");
	assert_int_equal(atomic_load(&barriers_passed), 0);
	assert_int_equal(scene->session.heard.request.type, DND_BYE);
	assert_true(dnd_heard_cut_off(&scene->session.heard));
	assert_int_equal(dnd_heard_end(&scene->session.heard), DONARD_RDMA_CLIENT_LOST);
	forget_pmr(scene);
}

/* Nobody waits for the answer then, and others wait for their turn. */
static void work_ends_with_its_client(void **state)
{
	struct scene *scene = *state;

	scene->service.user = scene;
	scene->program_keeps_up = true;
	asks(scene, 0);
	scene->service.meanwhile_fn = client_goes;
	assert_int_equal(dnd_session_serve(&scene->session), -ECONNRESET);
	assert_says(donard_error(scene->fake->ctx), "left without saying good-bye");
	scene->session.over = false;
	scene->session.looked = 0;
	says_bye_to_a_pmr(scene);
	scene->service.meanwhile_fn = client_goes;
	assert_int_equal(dnd_session_serve(&scene->session), -ESHUTDOWN);
	assert_int_equal(atomic_load(&barriers_passed), 0);
	assert_false(scene->session.durable);
	assert_int_equal(played_sends, 0);
	forget_pmr(scene);
}

static void barrier_tells_of_a_reset(void **state)
{
	struct scene *scene = *state;

	says_bye_to_a_pmr(scene);
	atomic_store(&barrier_result, -EIO);
	assert_int_equal(dnd_session_serve(&scene->session), -EIO);
	assert_int_equal(scene->session.heard.request.type, DND_BYE);
	/* One ALIVE or more, and no answer. */
	assert_true(played_sends >= 1);
	assert_int_equal(played_sent.type, DND_ALIVE);
	forget_pmr(scene);
}

/* The barrier of imported memory is its exporter's. */
static void exporter_is_asked(void **state)
{
	struct scene *scene = *state;

	scene->memory.region.name[0] = '\0';
	strcpy(scene->memory.dmabuf.name, "dma-buf of udmabuf");
	scene->memory.dmabuf.fd = open("/dev/null", O_RDONLY);
	scene->service.meanwhile_fn = goes_on;
	atomic_store(&exporters_asked, 0);
	atomic_store(&exporter_result, 0);
	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	assert_int_equal(atomic_load(&exporters_asked), 1);
	assert_int_equal(scene->answered, 1);
	atomic_store(&exporter_result, -EIO);
	asks(scene, 0);
	assert_int_equal(dnd_session_serve(&scene->session), -EIO);
	assert_int_equal(scene->answered, 1);
	assert_says(donard_error(scene->fake->ctx), "dma-buf of udmabuf: its exporter reports");
	atomic_store(&exporter_result, -ENODEV);
	assert_int_equal(dnd_session_serve(&scene->session), -ENODEV);
	assert_says(donard_error(scene->fake->ctx), "dma-buf of udmabuf: its exporter took it back");
	close(scene->memory.dmabuf.fd);
}

/* Clients name the bytes of memory without a mapping by their offset in the dma-buf. */
static void offer_names_the_first_byte(void **state)
{
	struct scene *scene = *state;
	struct dnd_session session;
	uint8_t byte;

	offered_cq = &scene->cq;
	scene->service.rights = DONARD_RDMA_READ;
	scene->memory.dmabuf_offset = 8192;
	assert_int_equal(dnd_session_begin(&session, &scene->service, &scene->id, 16), 0);
	assert_int_equal(offered.address, 8192);
	scene->memory.window.data = &byte;
	assert_int_equal(dnd_session_begin(&session, &scene->service, &scene->id, 16), 0);
	assert_int_equal(offered.address, (uintptr_t)&byte);
	scene->memory.window.data = NULL;
}

static unsigned int accepted(struct scene *scene, uint8_t reads)
{
	struct dnd_session session;

	assert_int_equal(dnd_session_begin(&session, &scene->service, &scene->id, reads), 0);
	return accepted_reads;
}

/* The client's kernel gives the number to its device, which may refuse a larger one than it can do. */
static void no_more_reads_than_the_client_asks_for(void **state)
{
	struct scene *scene = *state;

	offered_cq = &scene->cq;
	scene->service.rights = DONARD_RDMA_READ | DONARD_RDMA_WRITE;
	assert_int_equal(accepted(scene, 16), 16);
	assert_int_equal(accepted(scene, 255), 128);
	assert_int_equal(accepted(scene, 0), 0);
	scene->service.rights = DONARD_RDMA_WRITE;
	assert_int_equal(accepted(scene, 16), 0);
}

/* It cannot know of the offer before, nor say anything: what the server registers is none of its silence. */
static void clients_time_begins_with_the_offer(void **state)
{
	struct scene *scene = *state;
	struct dnd_session session;

	offered_cq = &scene->cq;
	scene->service.rights = DONARD_RDMA_READ;
	registers_seconds = 20;
	assert_int_equal(dnd_session_begin(&session, &scene->service, &scene->id, 16), 0);
	registers_seconds = 0;
	assert_int_equal(dnd_session_serve(&session), 0);
	session.link.heard -= 20;
	assert_int_equal(dnd_session_serve(&session), -ETIMEDOUT);
	assert_says(donard_error(scene->fake->ctx), "was silent for 10000 ms");
}

/* It may have to register a large near side before it can say anything. */
static void first_message_may_take_a_minute(void **state)
{
	struct scene *scene = *state;

	scene->session.link.established = true;
	scene->session.link.heard -= 50;
	assert_int_equal(dnd_session_serve(&scene->session), 0);
	scene->session.link.heard -= 11;
	assert_int_equal(dnd_session_serve(&scene->session), -ETIMEDOUT);
	assert_says(donard_error(scene->fake->ctx), "was silent for 60000 ms");
	scene->service.timeout_ms = 90000;
	assert_int_equal(dnd_session_serve(&scene->session), 0);
}

static void later_silence_is_that_of_the_options(void **state)
{
	struct scene *scene = *state;

	scene->session.link.established = scene->session.heard.any = true;
	scene->session.link.heard -= 11;
	assert_int_equal(dnd_session_serve(&scene->session), -ETIMEDOUT);
	assert_says(donard_error(scene->fake->ctx), "was silent for 10000 ms");
}

/* A client takes no name of several words. */
static void offer_of_an_imported_buffer(void **state)
{
	struct scene *scene = *state;
	struct dnd_session session;

	offered_cq = &scene->cq;
	scene->service.rights = DONARD_RDMA_READ;
	scene->memory.region.name[0] = '\0';
	strcpy(scene->memory.dmabuf.name, "dma-buf of udmabuf");
	assert_int_equal(dnd_session_begin(&session, &scene->service, &scene->id, 16), 0);
	assert_string_equal(offered.target, "dma-buf");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(answer_waits_for_a_slot), CASE(withdrawal_waits_for_a_slot), CASE(answer_to_a_good_bye_arrives),
		CASE(nobody_is_withdrawn_from_twice), CASE(lost_client_may_leave_bytes), CASE(each_end_has_its_text), CASE(client_hears_of_a_barrier),
		CASE(program_answers), CASE(slow_program_does_not_silence_its_client), CASE(program_has_its_own_numbers), CASE(strange_questions_end_a_client), CASE(sync_is_no_farewell), CASE(offer_names_the_first_byte),
		CASE(no_more_reads_than_the_client_asks_for), CASE(offer_of_an_imported_buffer), CASE(clients_time_begins_with_the_offer), CASE(exporter_is_asked),
		CASE(first_message_may_take_a_minute), CASE(later_silence_is_that_of_the_options),
		CASE(server_ends_during_a_barrier), CASE(work_ends_with_its_client),
		CASE(barrier_tells_of_a_reset),
	};

	return cmocka_run_group_tests_name("rdma_session", tests, NULL, NULL);
}
