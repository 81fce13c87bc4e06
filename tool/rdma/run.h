/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "rdma write", "read", "lat", "bw" and the benchmark do with a client of the library: move a range once or more, or
 * time many requests, and verify what was moved by test data.
 */
#ifndef DONARD_TOOL_RDMA_RUN_H
#define DONARD_TOOL_RDMA_RUN_H

#include "rdma/job.h"

/* Returns 0 or -errno, with a text in the context. */
int cli_rdma_run(struct donard_context *ctx, const struct cli_rdma_options *options, struct cli_rdma_result *result);

#endif /* DONARD_TOOL_RDMA_RUN_H */
