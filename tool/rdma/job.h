/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be moved, and what came of it; see run.h. */
#ifndef DONARD_TOOL_RDMA_JOB_H
#define DONARD_TOOL_RDMA_JOB_H

#include "donard/copy.h"
#include "donard/rdma.h"
#include "rdma/latency.h"

enum cli_rdma_mode {
	CLI_RDMA_TRANSFER,	/* moves the range @iterations times, and verifies each time */
	CLI_RDMA_BANDWIDTH,	/* @iterations requests that cycle through the range */
	CLI_RDMA_LATENCY,	/* the same, one request after the other, each timed */
};

/*
 * Zero means the default.
 * @local: the near side: "dram" (the default), a region, or a GPU.  A write sends the contents of a region unchanged,
 *	unless @verify asks for test data
 * @overwrite: test data, and what BANDWIDTH and LATENCY read, may also overwrite a near side that is persistent memory
 * @length_bytes: default: up to the end of the offered memory, but for BANDWIDTH and LATENCY at most queue_depth blocks, and
 *	as many as 1 GiB has.  TRANSFER of more than 1 GiB fails by default.  If it is given, the near side is registered before
 *	the client connects
 * @one_block: BANDWIDTH goes round in one block by default
 * @block_bytes: 64 KiB; LATENCY: 8
 * @queue_depth: 16; LATENCY: always 1
 * @iterations: 1 for TRANSFER, else 1000 requests
 * @begin_fn, @end_fn: called before the first request, and when the server has confirmed the last byte or the work has failed,
 *	as by donard_copy(); the payload is the near side if that is DRAM, and the memory for reading back
 */
struct cli_rdma_options {
	const char *address;
	const char *local;
	enum cli_rdma_mode mode;
	unsigned int direction;		/* DONARD_RDMA_WRITE or DONARD_RDMA_READ */
	uint16_t port;
	bool verify;
	bool overwrite;
	bool one_block;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	uint32_t iterations;
	unsigned int timeout_ms;
	donard_progress_fn progress_fn;
	void *progress_user;
	donard_begin_fn begin_fn;
	donard_end_fn end_fn;
	void *interval_user;
};

#define CLI_RDMA_BY_SERVER	(1U << 0)
#define CLI_RDMA_BY_CLIENT	(1U << 1)

/*
 * Filled in after a failure, too.
 * @bytes, @requests: how many completed; none after a reset
 * @seconds: from the first request to the completion of the last one, without verification
 * @verified_bytes: test data that were compared and found equal; with verify all of them, since each round over the range
 *	has data of its own
 * @verified_by: CLI_RDMA_BY_*.  After a write the server compares, and the client also reads the bytes back and compares
 *	them, if it may read.  Before a read the server writes the test data, which the client then compares
 * @durable: what was moved survives a power cut
 */
struct cli_rdma_result {
	uint64_t bytes;
	uint64_t requests;
	uint64_t verified_bytes;
	double seconds;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t block_bytes;
	uint32_t queue_depth;
	uint32_t iterations;
	unsigned int verified_by;
	uint64_t local_resets;
	enum donard_rdma_method local_method;
	char local_reason[DONARD_REASON_BYTES];
	struct donard_rdma_client_info server;	/* what is known of the other side, and of the connection */
	struct donard_rdma_durability durability;
	struct cli_rdma_latency latency;
};

#endif /* DONARD_TOOL_RDMA_JOB_H */
