/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a result as JSON. */
#ifndef DONARD_TOOL_RDMA_JSON_H
#define DONARD_TOOL_RDMA_JSON_H

#include <json-c/json.h>

#include "rdma/job.h"

void cli_add_latency(struct json_object *model, const struct cli_rdma_latency *latency);
/* Adds "verified_by", an array of "server" and "client". */
void cli_add_verified_by(struct json_object *model, unsigned int verified_by);

#endif /* DONARD_TOOL_RDMA_JSON_H */
