/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection, the same on both sides: queue pair, completion queue,
 * protection domain, and the small messages that travel beside the data.
 *
 * The connection manager's events come by a channel that the owner of the
 * link reads (the server has one for all); what they mean is told here.
 */
#ifndef DONARD_RDMA_LINK_H
#define DONARD_RDMA_LINK_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "rdma/protocol.h"

#define DND_LINK_RECVS	16
#define DND_LINK_SENDS	8

/* The kinds of work request; in the high bits of wr_id, a number below. */
#define DND_WR_DATA	(1ULL << 60)
#define DND_WR_RECV	(2ULL << 60)
#define DND_WR_SEND	(3ULL << 60)
#define DND_WR_KIND(id)	((id) & (15ULL << 60))
#define DND_WR_NUMBER(id) ((id) & ~(15ULL << 60))

struct dnd_link {
	struct rdma_cm_id *id;		/* the owner's */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;		/* of recvs and sends */
	unsigned int unacked_events;
	uint32_t sends_busy;		/* bit per slot of sends */
	uint32_t sequence;
	uint64_t nonce;
	bool established;
	bool lost;			/* disconnected, or an error completion came */
	enum ibv_wc_status status;	/* of the first error completion */
	double heard;			/* when the peer last showed a sign of life */
	uint8_t recvs[DND_LINK_RECVS][DND_MESSAGE_BYTES];
	uint8_t sends[DND_LINK_SENDS][DND_MESSAGE_BYTES];
};

/*
 * What to do with completions.  Nonzero ends dnd_link_poll() with it.  A message
 * has been decoded, and carries the link's nonce.
 */
struct dnd_link_handler {
	int (*on_message)(void *user, const struct dnd_message *message);
	int (*on_data)(void *user, uint64_t number);
	void *user;
};

/* @data_requests: that the owner will have outstanding.  Not yet connected. */
int dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id,
		  uint32_t data_requests);
/* Ends what is outstanding; after it nothing refers to memory of ours. */
void dnd_link_close(struct dnd_link *link);

/*
 * Parameters of a connection on which this side reads, or is read from, or
 * neither.  A side that is not to be read from takes no READ at all: siw (up to 7.3)
 * does not look at the rights of the memory that a READ names.
 */
void dnd_link_params(const struct rdma_cm_id *id, bool reads, bool is_read,
		     struct rdma_conn_param *param);
/* So that a dead link shows after about @timeout_ms; call before connecting. */
void dnd_link_set_timeout(struct rdma_cm_id *id, unsigned int timeout_ms);

/* Sends with the link's nonce; -EAGAIN when all slots are under way, -ECONNRESET. */
int dnd_link_send(struct dnd_link *link, struct dnd_message *message);

/*
 * Takes what has completed, at most once round.  Returns how many, -EPROTO for
 * a malformed message, -ECONNRESET after an error completion.
 */
int dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler);
/* Makes the channel's descriptor readable at the next completion. */
int dnd_link_arm(struct dnd_link *link);
void dnd_link_disarm(struct dnd_link *link);

/* Why the connection ended, "the link or the peer went silent ..." */
const char *dnd_link_status_text(const struct dnd_link *link);

#endif /* DONARD_RDMA_LINK_H */
