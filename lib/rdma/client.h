/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's connection: it finds the server, registers the caller's memory, connects and reads the offer.  Then it makes the
 * requests, questions and barriers that the caller asks for, and at the end says good-bye.  Right before the first request,
 * question or barrier it tells the server that it takes the offer.
 *
 * Ownership: the connection owns its registrations and none of the memory.  It destroys the queue pair before it ends
 * them: then no request refers to the memory.
 */
#ifndef DONARD_RDMA_CLIENT_H
#define DONARD_RDMA_CLIENT_H

#include "rdma/address.h"
#include "rdma/flow.h"
#include "rdma/reach.h"
#include "rdma/register.h"
#include "rdma/talk.h"

/* Memory of this process that is registered: the source of RDMA WRITEs, or the destination of RDMA READs. */
struct dnd_near {
	struct dnd_near *next;
	struct donard_memory *memory;
	struct dnd_registration registration;
	bool target;			/* RDMA READs may write it */
	uint64_t resets;		/* how many its device had seen when it was registered */
};

struct donard_rdma_client {
	struct donard_context *ctx;
	struct donard_rdma_connect_options options;	/* defaults filled in; address only until it is connected */
	struct dnd_reach reach;
	struct dnd_link link;
	struct dnd_offer offer;
	struct dnd_near *near;			/* the one that was used last is the first */
	struct dnd_flow flow;
	uint64_t told;				/* completed requests that were reported to the caller, or that the library made for itself */
	uint64_t own;				/* number of the library's own request until it is among @told; else 0 */
	uint64_t pace_ns, pace_bytes;		/* the time and bytes_done at which the measurement of the rate began; 0: none has */
	uint32_t sequence, answered;		/* numbers of the last question, and of the last that was answered */
	enum donard_rdma_transport transport;
	bool carries_reads;			/* the connection allows RDMA READs */
	bool reading_refused;
	bool taken;				/* the server knows that its offer is taken */
	bool said_bye;				/* the server may have served the good-bye */
	bool parted;				/* it has answered that */
	bool holds_back;			/* a device of the server may hold back the end of what was written */
	uint64_t written_end;			/* of the last write, in the offered memory; 0: nothing was written */
	uint64_t back;				/* written bytes are read back into this */
	struct ibv_mr *back_mr;			/* registers it; or NULL */

	struct dnd_message answer;		/* type 0: there is none yet */
	enum dnd_rdma_status withdrawn;		/* why the server withdrew the memory; DND_STATUS_OK: it did not */
	uint64_t remote_resets, local_resets;
	double pinged, looked;
	double asked;				/* when the first ping was sent of those that have no answer */
	int over;				/* what the connection ended with; 0: it goes on */
	struct dnd_failure reason;		/* its text */
};

/* connect.c: finds the server and connects to it; fills in the offer.  To be disconnected after a failure, too. */
int dnd_client_connect(struct donard_rdma_client *client);
/* Closes whatever is open of the connection. */
void dnd_client_disconnect(struct donard_rdma_client *client);

/* near.c: the caller's memory */
/* Registers the memory for that use, unless it is registered for it already.  Returns 0 or -errno with a text. */
int dnd_near_attach(struct donard_rdma_client *client, struct donard_memory *memory, bool target);
/* NULL: it is not attached. */
struct dnd_near *dnd_near_find(struct donard_rdma_client *client, const struct donard_memory *memory);
void dnd_near_detach(struct donard_rdma_client *client, struct dnd_near *near);
/*
 * Checks each memory: -ENODEV without a text if its region is going away; -EIO with a text if its device was reset, as far as
 * the kernel has noticed.
 */
int dnd_near_check(struct donard_rdma_client *client);
/* Sets the text for the reset of this memory's device, and counts the reset.  Returns -EIO. */
int dnd_near_was_reset(struct donard_rdma_client *client, const struct dnd_near *near);
/* -ENODEV with a text for the one whose region went away. */
int dnd_near_gone_text(struct donard_rdma_client *client);

/* wait.c */
/* The time between two pings. */
double dnd_client_ping_seconds(const struct donard_rdma_client *client);
/* Handles messages that have come and timers that are due, between the steps of long work at this end.  @user is the client. */
int dnd_client_keep_up(void *user);
/* Takes completions.  If there are none for a while, sleeps unless @spin. */
int dnd_client_wait(struct donard_rdma_client *client, bool spin);
/* Sends the message, and waits for the answer in client->answer. */
int dnd_client_ask(struct donard_rdma_client *client, struct dnd_message *request);
/* Waits for an answer that is not needed, for @seconds at most, without pings and other deadlines. */
void dnd_client_linger(struct donard_rdma_client *client, double seconds);
/*
 * The functions here and in post.c return some errors without a text: -ECONNRESET, -ETIMEDOUT, -ENODEV, -EPROTO,
 * -EPROTONOSUPPORT and -ECANCELED.  This sets the text for these, and returns others unchanged.
 */
int dnd_client_explain(struct donard_rdma_client *client, int rc);

/* post.c: the data path */
/* Posts what there is room for: whole chains, and the rest too if @all. */
int dnd_client_post(struct donard_rdma_client *client, bool all);
/* Waits until @requests have finished since the connection began. */
int dnd_client_finish(struct donard_rdma_client *client, uint64_t requests, bool spin);
/*
 * If a device of the server may hold back the end of what was written, reads that back, and returns when it has come.
 * One device serves the requests of a connection in order, so this read comes behind all writes.
 */
int dnd_client_push(struct donard_rdma_client *client);
/* If the request that dnd_client_push() made has completed, counts it as told: the caller never hears of it. */
void dnd_client_count_own(struct donard_rdma_client *client);

#endif /* DONARD_RDMA_CLIENT_H */
