// SPDX-License-Identifier: Apache-2.0
/* See link.h. */
#include <fcntl.h>
#include <stdlib.h>

#include "rdma/device.h"
#include "rdma/link.h"

#define POLL_BATCH	16
#define MAX_RETRIES	7

static uint8_t *message_at(const struct dnd_link *link, uint32_t slot)
{
	return link->messages + (size_t)slot * link->size.message_bytes;
}

static int post_recv(struct dnd_link *link, uint32_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)message_at(link, slot),
		.length = link->size.message_bytes,
		.lkey = link->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = DND_WR_RECV | slot,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	return -ibv_post_recv(link->id->qp, &wr, &bad);
}

static int too_many(struct donard_context *ctx, const struct dnd_link *link, const char *what, uint32_t requests)
{
	const char *remedy = link->size.remedy;

	return dnd_fail_errno(ctx, errno, "%s: %s for %u requests cannot be made%s%s", ibv_get_device_name(link->id->verbs->device),
			      what, requests, remedy ? ". " : "", remedy ? remedy : "");
}

static int open_queue(struct donard_context *ctx, struct dnd_link *link)
{
	uint32_t entries = link->size.data_requests + link->size.sends + link->size.recvs;
	int flags;

	link->channel = ibv_create_comp_channel(link->id->verbs);
	if (!link->channel)
		return dnd_fail_errno(ctx, errno, "a completion channel cannot be made");
	flags = fcntl(link->channel->fd, F_GETFL);
	fcntl(link->channel->fd, F_SETFL, flags | O_NONBLOCK);
	link->cq = ibv_create_cq(link->id->verbs, (int)entries, NULL, link->channel, 0);
	if (!link->cq)
		return too_many(ctx, link, "a completion queue", entries);
	return 0;
}

static int open_pair(struct donard_context *ctx, struct dnd_link *link)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = link->cq,
		.recv_cq = link->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = link->size.data_requests + link->size.sends,
			.max_recv_wr = link->size.recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	if (rdma_create_qp(link->id, link->pd, &attr))
		return too_many(ctx, link, "a queue pair", attr.cap.max_send_wr);
	return 0;
}

/* Registers the messages without any rights for peers. */
static int open_messages(struct donard_context *ctx, struct dnd_link *link)
{
	size_t slots = (size_t)link->size.recvs + link->size.sends;

	link->messages = calloc(slots, link->size.message_bytes);
	link->free_sends = calloc(link->size.sends, sizeof(*link->free_sends));
	if (!link->messages || !link->free_sends)
		return dnd_fail_memory(ctx);
	for (uint32_t i = 0; i < link->size.sends; i++)
		link->free_sends[i] = link->size.sends - 1 - i;
	link->free_count = link->size.sends;
	link->mr = ibv_reg_mr(link->pd, link->messages, slots * link->size.message_bytes,
			      IBV_ACCESS_LOCAL_WRITE);
	if (!link->mr)
		return dnd_fail_errno(ctx, errno, "%s: message buffers cannot be registered. See "
				      "'ulimit -l'", ibv_get_device_name(link->id->verbs->device));
	return 0;
}

static int post_recvs(struct donard_context *ctx, struct dnd_link *link)
{
	int rc = 0;

	for (uint32_t slot = 0; slot < link->size.recvs && !rc; slot++)
		rc = post_recv(link, slot);
	if (rc)
		return dnd_fail_errno(ctx, rc, "receive requests cannot be posted");
	return 0;
}

int dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id,
		  const struct dnd_link_size *size)
{
	int rc;

	memset(link, 0, sizeof(*link));
	link->id = id;
	link->size = *size;
	link->heard = dnd_now_seconds();
	rc = dnd_device_check_port(ctx, id->verbs, id->port_num);
	if (rc)
		return rc;
	link->pd = ibv_alloc_pd(id->verbs);
	if (!link->pd)
		return dnd_fail_errno(ctx, errno, "%s: a protection domain cannot be made",
				      ibv_get_device_name(id->verbs->device));
	rc = open_messages(ctx, link);
	if (!rc)
		rc = open_queue(ctx, link);
	if (!rc)
		rc = open_pair(ctx, link);
	if (!rc)
		rc = post_recvs(ctx, link);
	if (rc)
		dnd_link_close(link);
	return rc;
}

void dnd_link_close(struct dnd_link *link)
{
	if (link->id && link->id->qp)
		rdma_destroy_qp(link->id);
	if (link->cq) {
		dnd_link_disarm(link);
		ibv_ack_cq_events(link->cq, link->unacked_events);
		ibv_destroy_cq(link->cq);
	}
	if (link->channel)
		ibv_destroy_comp_channel(link->channel);
	if (link->mr)
		ibv_dereg_mr(link->mr);
	if (link->pd)
		ibv_dealloc_pd(link->pd);
	free(link->messages);
	free(link->free_sends);
	memset(link, 0, sizeof(*link));
}

void dnd_link_params(const struct rdma_cm_id *id, bool reads, uint8_t peer_reads,
		     struct rdma_conn_param *param)
{
	struct ibv_device_attr attr;

	memset(param, 0, sizeof(*param));

	if (ibv_query_device(id->verbs, &attr))
		attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = 1;
	param->responder_resources = (uint8_t)dnd_min((uint64_t)attr.max_qp_rd_atom, peer_reads);
	if (reads)
		param->initiator_depth = (uint8_t)dnd_min((uint64_t)attr.max_qp_init_rd_atom,
							  UINT8_MAX);
	param->retry_count = MAX_RETRIES;
	param->rnr_retry_count = MAX_RETRIES;
}

/*
 * The device waits 4.096 us * 2^t in each of its tries; iWARP has no such setting.
 * All tries together get half of the time limit, so that a lost packet costs little.
 */
void dnd_link_set_timeout(struct rdma_cm_id *id, unsigned int timeout_ms)
{
	uint64_t tick_ns = 4096;
	uint8_t t = 0;

	while (t < 31 && (tick_ns << (t + 1)) * (MAX_RETRIES + 1) <= timeout_ms * 500000ULL)
		t++;
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &t, sizeof(t));
}

int dnd_link_send(struct dnd_link *link, const void *bytes, unsigned int flags)
{
	struct ibv_sge sge = { .length = link->size.message_bytes, .lkey = link->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
	}, *bad;
	uint32_t slot;
	int rc;

	if (!link->free_count)
		return -EAGAIN;
	slot = link->free_sends[link->free_count - 1];
	wr.wr_id = DND_WR_SEND | slot;
	sge.addr = (uintptr_t)message_at(link, link->size.recvs + slot);
	memcpy((void *)(uintptr_t)sge.addr, bytes, sge.length);
	rc = ibv_post_send(link->id->qp, &wr, &bad);
	if (rc) {
		link->lost = true;
		return -ECONNRESET;
	}
	link->free_count--;
	link->sent++;
	return 0;
}

static int take_message(struct dnd_link *link, const struct dnd_link_handler *handler,
			const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)DND_WR_NUMBER(wc->wr_id);
	uint8_t bytes[DND_LINK_MESSAGE_MAX];

	/* Any message shows that the peer has completed the connection. */
	link->established = true;
	/* An RDMA WRITE with immediate data uses up a slot as well, but writes nothing there. */
	if (wc->opcode != IBV_WC_RECV)
		return -EPROTO;
	memcpy(bytes, message_at(link, slot), wc->byte_len);
	if (post_recv(link, slot)) {
		link->lost = true;
		return -ECONNRESET;
	}
	link->heard = dnd_now_seconds();
	return handler->on_message(handler->user, bytes, wc->byte_len);
}

static int take(struct dnd_link *link, const struct dnd_link_handler *handler,
		const struct ibv_wc *wc)
{
	uint64_t number = DND_WR_NUMBER(wc->wr_id);

	if (wc->status != IBV_WC_SUCCESS) {
		/* Later requests are only flushed, so the first status is the cause. */
		if (!link->lost)
			link->status = wc->status;
		link->lost = true;
		return -ECONNRESET;
	}
	switch (DND_WR_KIND(wc->wr_id)) {
	case DND_WR_RECV:
		return take_message(link, handler, wc);
	case DND_WR_SEND:
		/* This is no sign of life: iWARP completes a message when TCP has taken it. */
		link->free_sends[link->free_count++] = (uint32_t)number;
		return 0;
	}
	link->heard = dnd_now_seconds();
	return handler->on_data(handler->user, number);
}

int dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler)
{
	struct ibv_wc completions[POLL_BATCH];
	int count = ibv_poll_cq(link->cq, POLL_BATCH, completions);
	int rc = 0;

	if (count < 0) {
		link->lost = true;
		return -ECONNRESET;
	}
	for (int i = 0; i < count; i++) {
		int one = take(link, handler, &completions[i]);

		rc = rc ? rc : one;
	}
	return rc ? rc : count;
}

int dnd_link_arm(struct dnd_link *link)
{
	return -ibv_req_notify_cq(link->cq, 0);
}

void dnd_link_disarm(struct dnd_link *link)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(link->channel, &cq, &context))
		link->unacked_events++;
}

const char *dnd_link_status_text(const struct dnd_link *link)
{
	switch (link->status) {
	case IBV_WC_SUCCESS:
	case IBV_WC_WR_FLUSH_ERR:
		return "the connection was closed by the other side";
	case IBV_WC_RETRY_EXC_ERR:
		return "the other side does not acknowledge any more: it, or the link, is down";
	case IBV_WC_REM_ACCESS_ERR:
		return "the other side refused the access: its memory or rights are gone";
	default:
		return ibv_wc_status_str(link->status);
	}
}

bool dnd_link_blames_peer(const struct dnd_link *link)
{
	switch (link->status) {
	case IBV_WC_BAD_RESP_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return true;
	default:
		return false;
	}
}
