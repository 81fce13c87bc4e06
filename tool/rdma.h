/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of RDMA servers; parts of a result as JSON. */
#ifndef DONARD_TOOL_RDMA_H
#define DONARD_TOOL_RDMA_H

#include <json-c/json.h>

#include "command.h"
#include "donard/rdma.h"

/* Cuts the port off "ADDR:PORT", and brackets. Returns the port, 0 if it has none, -1 if it is none. */
long cli_cut_port(char *address);
/* The same for a server on the command line, or --port; 0 when neither names a port. */
int cli_server(const struct cli *cli, char *address, uint16_t *port);
/* Of what is called a latency. */
void cli_add_percentiles(struct json_object *latency, uint64_t p50_ns, uint64_t p90_ns, uint64_t p99_ns,
			 uint64_t p999_ns, uint64_t max_ns);
/* "latency_ns"; DONARD_RDMA_BY_* as a list of words */
void cli_add_latency(struct json_object *model, const struct donard_rdma_latency *latency);
void cli_add_verified_by(struct json_object *model, unsigned int verified_by);

#endif /* DONARD_TOOL_RDMA_H */
