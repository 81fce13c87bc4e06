/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run; see run.h. */
#ifndef DONARD_TOOL_RDMA_WORK_H
#define DONARD_TOOL_RDMA_WORK_H

#include "rdma/job.h"
#include "rdma/pass.h"

struct cli_rdma_work {
	struct donard_context *ctx;
	struct cli_rdma_options options;	/* defaults filled in */
	struct cli_rdma_result *result;
	struct donard_rdma_client *client;
	struct donard_memory *near;
	struct donard_memory *back;		/* written data are read back into this; or NULL */
	uint64_t seed;				/* of the first pass */
	bool near_is_region;
	bool counting;				/* a movement of the caller's own is under way, and not a check */
	bool checking;				/* what was moved is being compared */
	uint64_t done_bytes, expected_bytes;	/* of all passes together, for progress */
	uint64_t bytes_before;			/* what the client had moved when the present movement began */
};

/* fail.c: sets the context's failure, and returns @error negative. */
int cli_rdma_fail(struct donard_context *ctx, int error, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* move.c */
/* Moves so many requests; after the end of the range it starts again at its beginning. */
int cli_rdma_move(struct cli_rdma_work *work, uint64_t requests);
/* Does the same one request at a time, and stores the time of each in @samples_ns[requests]. */
int cli_rdma_time(struct cli_rdma_work *work, uint64_t requests, uint64_t *samples_ns);
/* Reads a range of the offered memory into work->back.  It does not count as data moved. */
int cli_rdma_read_back(struct cli_rdma_work *work, uint64_t offset, uint64_t length);
/* How many bytes of the present movement have completed. */
uint64_t cli_rdma_under_way(const struct cli_rdma_work *work);

/* verify.c */
/* Fails if the server does not give what verification needs. */
int cli_rdma_check_verify(const struct cli_rdma_work *work);
/* Allocates work->back, unless nothing is to be read back, or the client may not read. */
int cli_rdma_open_back(struct cli_rdma_work *work);
/* Puts test data, if they are wanted, into the first @bytes of the side that the pass moves from. */
int cli_rdma_prepare(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes);
/* Compares them after the pass, at each end that can. */
int cli_rdma_verify(struct cli_rdma_work *work, uint32_t pass, uint64_t bytes);

static inline bool cli_rdma_reads(const struct cli_rdma_work *work)
{
	return work->options.direction == DONARD_RDMA_READ;
}

/* A pass over the range that the caller asked for. */
static inline struct cli_rdma_pass cli_rdma_range(const struct cli_rdma_work *work)
{
	return (struct cli_rdma_pass){ .length = work->result->length_bytes, .block = work->result->block_bytes };
}

static inline uint64_t cli_rdma_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif /* DONARD_TOOL_RDMA_WORK_H */
