/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of RDMA servers, and parts of a result as JSON. */
#ifndef DONARD_TOOL_RDMA_H
#define DONARD_TOOL_RDMA_H

#include <json-c/json.h>

#include "command.h"
#include "donard/rdma.h"

/* Removes the port and brackets from "ADDR:PORT".  Returns the port, 0 if there is none, -1 if this is no address. */
long cli_cut_port(char *address);
/*
 * Does so for a server on the command line; *port comes from there or from --port, and is 0 if neither names one.
 * Returns 0, or an exit code after it has printed an error.
 */
int cli_server(const struct cli *cli, char *address, uint16_t *port);
/* Adds the percentiles to an object that describes a latency. */
void cli_add_percentiles(struct json_object *latency, uint64_t p50_ns, uint64_t p90_ns, uint64_t p99_ns,
			 uint64_t p999_ns, uint64_t max_ns);
/* Add "latency_ns", and "verified_by", a list of words for DONARD_RDMA_BY_*. */
void cli_add_latency(struct json_object *model, const struct donard_rdma_latency *latency);
void cli_add_verified_by(struct json_object *model, unsigned int verified_by);

#endif /* DONARD_TOOL_RDMA_H */
