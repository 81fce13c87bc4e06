/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's run, in order: find the server, register the near side, connect and
 * read the offer, check what is asked against it, move, verify, say good-bye.
 */
#ifndef DONARD_RDMA_CLIENT_H
#define DONARD_RDMA_CLIENT_H

#include "rdma/address.h"
#include "rdma/pass.h"
#include "rdma/reach.h"
#include "rdma/register.h"
#include "rdma/talk.h"

/* Memory of this process that requests write from, or read into. */
struct dnd_near {
	struct donard_memory *memory;
	struct dnd_registration registration;
};

/* What is moved between memory here and a range there. */
struct dnd_job {
	struct dnd_pass pass;
	const struct dnd_near *near;
	uint64_t offset;	/* of the range in what is offered */
	uint64_t started_ns;
	bool reads;
	bool counts;		/* as progress of what was asked for */
};

struct dnd_client {
	struct donard_context *ctx;
	struct donard_rdma_options options;	/* defaults filled in */
	struct donard_rdma_result *result;
	struct dnd_reach reach;
	struct dnd_link link;
	struct dnd_offer offer;
	uint32_t sequence;			/* of the last request */
	struct dnd_near local;
	struct dnd_near back;			/* what was written is read back here, to be compared */
	uint32_t slots;				/* work requests that may be under way */
	bool carries_reads;			/* the connection can */
	bool reading_refused;
	bool refused;				/* by the caller's begin_fn */
	bool parted;				/* the server has answered the good-bye */
	struct dnd_interval interval;

	struct dnd_job job;			/* under way */
	uint64_t done_bytes, expected_bytes;	/* over all passes, for progress */

	struct dnd_message answer;		/* type 0: none yet */
	enum dnd_rdma_status withdrawn;		/* DND_STATUS_OK: it was not */
	double pinged, looked;
};

/* connect.c */
/* The way to the server, and with it the device; says nothing to the server yet. */
int dnd_client_find(struct dnd_client *client);
int dnd_client_connect(struct dnd_client *client);

/* wait.c */
/* Between two pings. */
double dnd_client_ping_seconds(const struct dnd_client *client);
/* To be called every now and then: pings, deadlines, the caller's wish to stop. */
int dnd_client_tick(struct dnd_client *client);
/* The same between the steps of long work of @user, the client, for which the server is not to blame. */
int dnd_client_keep_up(void *user);
/* The barrier of the near side's device, which also tells whether the device was reset meanwhile. */
int dnd_client_settle_near(struct dnd_client *client);
/* Takes completions; when there are none for a while, sleeps unless @spin. */
int dnd_client_wait(struct dnd_client *client, bool spin);
/* Asks the server, and waits for its answer in client->answer. */
int dnd_client_ask(struct dnd_client *client, struct dnd_message *request);
/* Waits for an answer that nothing depends on: no pings, no deadlines but this. */
void dnd_client_linger(struct dnd_client *client, double seconds);
/*
 * What these functions return has no text yet: -ECONNRESET, -ETIMEDOUT, -ENODEV
 * (the near side's region), -EPROTO, -ECANCELED get theirs here; others pass.
 */
int dnd_client_explain(struct dnd_client *client, int rc);

/* engine.c */
/* Moves so many requests, going round in the range, as the options say. */
int dnd_client_move(struct dnd_client *client, uint64_t requests);
/* The same one by one, into @samples_ns[requests]. */
int dnd_client_time(struct dnd_client *client, uint64_t requests, uint64_t *samples_ns);
/* Reads a range of what is offered into client->back; counts for nothing. */
int dnd_client_read_back(struct dnd_client *client, uint64_t offset, uint64_t length);

/* The range that was asked for, from its beginning. */
static inline struct dnd_pass dnd_client_pass(const struct dnd_client *client)
{
	return (struct dnd_pass){ .length = client->result->length_bytes,
				  .block = client->result->block_bytes };
}

/* Reads the end of what was written, where the offer asks for it: no device there holds bytes back after it. */
int dnd_client_push(struct dnd_client *client);

/* near.c: the near side; what fails here has its text */
/* Fails once its device was reset, as far as the kernel has noticed. */
int dnd_client_check_near(struct dnd_client *client);
/* After an access by the CPU that came to @rc, without a text. */
int dnd_client_near_failed(struct dnd_client *client, int rc);
/* After the good-bye and its answer: is what was moved durable?  Else why not. */
void dnd_client_judge_durable(struct dnd_client *client);

/* verify.c */
/* Test data, where the options ask for them, in the first @bytes of the side that a pass moves from. */
int dnd_client_prepare(struct dnd_client *client, uint32_t pass, uint64_t bytes);
/* Compares them after it, at each end that can. */
int dnd_client_verify(struct dnd_client *client, uint32_t pass, uint64_t bytes);
/* Memory to read back into; none where nothing is to be, or may be, read back. */
int dnd_client_open_back(struct dnd_client *client);

static inline bool dnd_client_verifies(const struct dnd_client *client)
{
	return client->options.flags & DONARD_RDMA_VERIFY;
}

static inline bool dnd_client_reads(const struct dnd_client *client)
{
	return client->options.direction == DONARD_RDMA_READ;
}

/* latency.c: sorts the samples */
void dnd_latency_summarise(uint64_t *samples_ns, size_t count, struct donard_rdma_latency *latency);

#endif /* DONARD_RDMA_CLIENT_H */
