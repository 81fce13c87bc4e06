/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection, the same on both sides: queue pair, completion queue,
 * protection domain, and the small messages that travel beside the data.  The
 * protocol above gives messages their meaning; here they are only bytes.
 *
 * The owner of the link reads the connection manager's events from a channel (a
 * server has one for all clients), and sets established when one says so.
 */
#ifndef DONARD_RDMA_LINK_H
#define DONARD_RDMA_LINK_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/base.h"

#define DND_LINK_MESSAGE_MAX	128	/* bytes */

/* The kinds of work request, in the high bits of wr_id; the low bits have a number. */
#define DND_WR_DATA	(1ULL << 60)
#define DND_WR_RECV	(2ULL << 60)
#define DND_WR_SEND	(3ULL << 60)
#define DND_WR_KIND(id)	((id) & (15ULL << 60))
#define DND_WR_NUMBER(id) ((id) & ~(15ULL << 60))

struct dnd_link_size {
	uint32_t data_requests;		/* how many the owner will have outstanding at most */
	uint32_t message_bytes;		/* the size of every message, in both directions */
	uint32_t recvs, sends;		/* how many messages may be under way to and from here */
	const char *remedy;		/* if the device cannot do that many; NULL: none, because the peer chose the numbers */
};

struct dnd_link {
	struct rdma_cm_id *id;		/* belongs to the owner */
	struct dnd_link_size size;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;		/* registers the messages */
	uint8_t *messages;		/* slots for those received, then for those sent */
	uint32_t *free_sends;		/* slots from which no message is being sent */
	uint32_t free_count;
	uint64_t sent;			/* how many messages were, since the beginning */
	unsigned int unacked_events;
	bool established;
	bool lost;			/* a call failed, or an error completion came */
	enum ibv_wc_status status;	/* of the first error completion */
	double heard;			/* when the peer last showed a sign of life */
};

/*
 * What to do with completions.  dnd_link_poll() returns what they return, if that is not 0.  The bytes
 * of a message are valid only until on_message returns.
 */
struct dnd_link_handler {
	int (*on_message)(void *user, const uint8_t *bytes, size_t length);
	int (*on_data)(void *user, uint64_t number);
	void *user;
};

/* @id is not connected yet. */
int dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id,
		  const struct dnd_link_size *size);
/* Ends outstanding requests; afterwards the device does not refer to our memory any more. */
void dnd_link_close(struct dnd_link *link);

/*
 * Sets the parameters of a connection on which this side reads, and the peer has up to @peer_reads
 * READs under way.  A side that must not be read from accepts no READ at all, because siw (up to
 * 7.3) does not check the rights of the memory that a READ names.  A side accepts no more READs than the
 * peer asks for: the peer's kernel gives the number to its own device, which may refuse more than it can
 * have under way (cm_rep_handler() of drivers/infiniband/core/cm.c, mlx5_ib_modify_qp()).
 */
void dnd_link_params(const struct rdma_cm_id *id, bool reads, uint8_t peer_reads,
		     struct rdma_conn_param *param);
/* Makes a dead link show after about @timeout_ms.  To be called before connecting. */
void dnd_link_set_timeout(struct rdma_cm_id *id, unsigned int timeout_ms);

/*
 * Sends a message.  @flags are those of verbs, such as IBV_SEND_FENCE.  Returns 0, -EAGAIN if
 * no slot is free, or -ECONNRESET.
 */
int dnd_link_send(struct dnd_link *link, const void *bytes, unsigned int flags);
static inline uint32_t dnd_link_sends_under_way(const struct dnd_link *link)
{
	return link->size.sends - link->free_count;
}

/* How many of these have completed.  The device sends neither them again, nor anything that was posted before them. */
static inline uint64_t dnd_link_sends_over(const struct dnd_link *link)
{
	return link->sent - dnd_link_sends_under_way(link);
}

/*
 * Takes completions, by one poll of the queue.  Returns how many, or the first failure: -EPROTO
 * for a malformed message, -ECONNRESET for an error completion, or what the handler returned.
 * Completions behind the failure are handed over as well, since they would be lost otherwise.
 */
int dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler);
/* Makes the channel's descriptor readable at the next completion. */
int dnd_link_arm(struct dnd_link *link);
void dnd_link_disarm(struct dnd_link *link);

/* Says why the connection ended, such as "the connection was closed by the other side". */
const char *dnd_link_status_text(const struct dnd_link *link);
/* Did the device itself say that the peer, or the way to it, failed?  Then this end's device had not been removed. */
bool dnd_link_blames_peer(const struct dnd_link *link);

#endif /* DONARD_RDMA_LINK_H */
