/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's run, in order: find the server, register the near side, connect and
 * read the offer, check the request against it, move, verify, say good-bye.
 * If the length is not given, the near side is registered only after the offer.
 */
#ifndef DONARD_RDMA_CLIENT_H
#define DONARD_RDMA_CLIENT_H

#include "rdma/address.h"
#include "rdma/pass.h"
#include "rdma/reach.h"
#include "rdma/register.h"
#include "rdma/talk.h"

/* Memory of this process: the source of RDMA WRITEs, or the destination of RDMA READs. */
struct dnd_near {
	struct donard_memory *memory;
	struct dnd_registration registration;
};

/* A movement between memory here and a range of the offered memory. */
struct dnd_job {
	struct dnd_pass pass;
	const struct dnd_near *near;
	uint64_t offset;	/* where the range begins in the offered memory */
	uint64_t started_ns;
	bool reads;
	bool counts;		/* it is progress of the caller's request, and not of a check */
};

struct dnd_client {
	struct donard_context *ctx;
	struct donard_rdma_options options;	/* defaults filled in */
	struct donard_rdma_result *result;
	struct dnd_reach reach;
	struct dnd_link link;
	struct dnd_offer offer;
	uint32_t sequence;			/* number of the last request */
	struct dnd_near local;
	struct dnd_near back;			/* written data are read back into this */
	uint32_t slots;				/* the most work requests that may be under way */
	bool carries_reads;			/* the connection allows RDMA READs */
	bool reading_refused;
	bool refused;				/* the caller's begin_fn failed */
	bool parted;				/* the server has answered the good-bye */
	struct dnd_interval interval;

	struct dnd_job job;			/* the present movement */
	uint64_t done_bytes, expected_bytes;	/* of all passes together, for progress */

	struct dnd_message answer;		/* type 0: there is none yet */
	enum dnd_rdma_status withdrawn;		/* why the server withdrew the memory; DND_STATUS_OK: it did not */
	double pinged, looked;
};

/* connect.c */
/* Finds the route to the server, and thereby the device; sends nothing to the server yet. */
int dnd_client_find(struct dnd_client *client);
int dnd_client_connect(struct dnd_client *client);

/* wait.c */
/* The time between two pings. */
double dnd_client_ping_seconds(const struct dnd_client *client);
/* Sends pings, checks deadlines, and asks whether the caller wants to stop.  To be called often. */
int dnd_client_tick(struct dnd_client *client);
/* Does this between the steps of long work here, and counts the server as heard.  @user is the client. */
int dnd_client_keep_up(void *user);
/* Runs the barrier of the near side's device, which also finds a reset of the device. */
int dnd_client_settle_near(struct dnd_client *client);
/* Takes completions.  If there are none for a while, sleeps unless @spin. */
int dnd_client_wait(struct dnd_client *client, bool spin);
/* Sends the request, and waits for the answer in client->answer. */
int dnd_client_ask(struct dnd_client *client, struct dnd_message *request);
/* Waits for an answer that is not needed, for @seconds at most, without pings and other deadlines. */
void dnd_client_linger(struct dnd_client *client, double seconds);
/*
 * The functions here and in engine.c and verify.c return some errors without a text:
 * -ECONNRESET, -ETIMEDOUT, -ENODEV (the near side's region), -EPROTO, -EPROTONOSUPPORT
 * and -ECANCELED.  This sets the text for these, and returns others unchanged.
 */
int dnd_client_explain(struct dnd_client *client, int rc);

/* engine.c */
/* Moves so many requests as the options say; after the end of the range it starts again at its beginning. */
int dnd_client_move(struct dnd_client *client, uint64_t requests);
/* Does the same one request at a time, and stores the time of each in @samples_ns[requests]. */
int dnd_client_time(struct dnd_client *client, uint64_t requests, uint64_t *samples_ns);
/* Reads a range of the offered memory into client->back.  It does not count as data moved. */
int dnd_client_read_back(struct dnd_client *client, uint64_t offset, uint64_t length);

/* A pass over the range that the caller asked for, from its beginning. */
static inline struct dnd_pass dnd_client_pass(const struct dnd_client *client)
{
	return (struct dnd_pass){ .length = client->result->length_bytes,
				  .block = client->result->block_bytes };
}

/* Reads back the end of the written data if the offer asks for that; then no device there holds bytes back any more. */
int dnd_client_push(struct dnd_client *client);

/* near.c: the near side */
/* Fails with a text if the device was reset, as far as the kernel has noticed. */
int dnd_client_check_near(struct dnd_client *client);
/* To be called after an access by the CPU, with its result: sets the text for a reset (-EIO); else returns @rc. */
int dnd_client_near_failed(struct dnd_client *client, int rc);
/* To be called after the answer to the good-bye: notes whether the moved data are durable, and if not, why. */
void dnd_client_judge_durable(struct dnd_client *client);

/* verify.c */
/* Puts test data, if they are wanted, into the first @bytes of the side that the pass moves from. */
int dnd_client_prepare(struct dnd_client *client, uint32_t pass, uint64_t bytes);
/* Compares them after the pass, at each end that can. */
int dnd_client_verify(struct dnd_client *client, uint32_t pass, uint64_t bytes);
/* Allocates client->back, unless nothing is to be read back, or the client may not read. */
int dnd_client_open_back(struct dnd_client *client);

static inline bool dnd_client_verifies(const struct dnd_client *client)
{
	return client->options.flags & DONARD_RDMA_VERIFY;
}

static inline bool dnd_client_reads(const struct dnd_client *client)
{
	return client->options.direction == DONARD_RDMA_READ;
}

/* latency.c: fills in the percentiles, and sorts the samples */
void dnd_latency_summarise(uint64_t *samples_ns, size_t count, struct donard_rdma_latency *latency);

#endif /* DONARD_RDMA_CLIENT_H */
