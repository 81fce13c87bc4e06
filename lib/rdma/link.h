/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection, the same on both sides: queue pair, completion queue,
 * protection domain, and the small messages that travel beside the data.  What
 * messages mean is the protocol's above; here they are so many bytes.
 *
 * The connection manager's events come by a channel that the owner of the
 * link reads (the server has one for all); what they mean is told here.
 */
#ifndef DONARD_RDMA_LINK_H
#define DONARD_RDMA_LINK_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/base.h"

#define DND_LINK_MESSAGE_MAX	128	/* bytes */

/* The kinds of work request; in the high bits of wr_id, a number below. */
#define DND_WR_DATA	(1ULL << 60)
#define DND_WR_RECV	(2ULL << 60)
#define DND_WR_SEND	(3ULL << 60)
#define DND_WR_KIND(id)	((id) & (15ULL << 60))
#define DND_WR_NUMBER(id) ((id) & ~(15ULL << 60))

struct dnd_link_size {
	uint32_t data_requests;		/* that the owner will have outstanding */
	uint32_t message_bytes;		/* of each message, in both directions */
	uint32_t recvs, sends;		/* messages that may be under way to and from here */
};

struct dnd_link {
	struct rdma_cm_id *id;		/* the owner's */
	struct dnd_link_size size;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;		/* of the messages */
	uint8_t *messages;		/* those received, then those sent */
	uint32_t *free_sends;		/* slots that no message is under way from */
	uint32_t free_count;
	unsigned int unacked_events;
	bool established;
	bool lost;			/* disconnected, or an error completion came */
	enum ibv_wc_status status;	/* of the first error completion */
	double heard;			/* when the peer last showed a sign of life */
};

/*
 * What to do with completions.  Nonzero is what dnd_link_poll() returns.  The bytes of a
 * message are gone when on_message returns; its place takes the next one already.
 */
struct dnd_link_handler {
	int (*on_message)(void *user, const uint8_t *bytes, size_t length);
	int (*on_data)(void *user, uint64_t number);
	void *user;
};

/* Not yet connected. */
int dnd_link_open(struct donard_context *ctx, struct dnd_link *link, struct rdma_cm_id *id,
		  const struct dnd_link_size *size);
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

/*
 * @flags: of verbs, such as IBV_SEND_FENCE.  -EAGAIN when all slots are under way,
 * -ECONNRESET.
 */
int dnd_link_send(struct dnd_link *link, const void *bytes, unsigned int flags);
static inline uint32_t dnd_link_sends_under_way(const struct dnd_link *link)
{
	return link->size.sends - link->free_count;
}

/*
 * Takes what has completed, at most once round.  Returns how many, -EPROTO for
 * a malformed message, -ECONNRESET after an error completion: the first failure.  What came
 * in the same round behind it is handed over all the same, since nobody else would ever see it.
 */
int dnd_link_poll(struct dnd_link *link, const struct dnd_link_handler *handler);
/* Makes the channel's descriptor readable at the next completion. */
int dnd_link_arm(struct dnd_link *link);
void dnd_link_disarm(struct dnd_link *link);

/* Why the connection ended, "the link or the peer went silent ..." */
const char *dnd_link_status_text(const struct dnd_link *link);

#endif /* DONARD_RDMA_LINK_H */
