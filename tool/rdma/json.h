/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a result that several commands print. */
#ifndef DONARD_TOOL_RDMA_JSON_H
#define DONARD_TOOL_RDMA_JSON_H

#include "fields.h"
#include "rdma/job.h"

/* Of struct cli_rdma_latency */
extern const struct cli_field cli_rdma_latency_fields[];
/* The word for CLI_RDMA_BY_SERVER or _CLIENT. */
const char *cli_rdma_verifier(unsigned int by);

#endif /* DONARD_TOOL_RDMA_JSON_H */
