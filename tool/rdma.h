/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of RDMA servers, and percentiles as JSON. */
#ifndef DONARD_TOOL_RDMA_H
#define DONARD_TOOL_RDMA_H

#include <json-c/json.h>

#include "command.h"

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

#endif /* DONARD_TOOL_RDMA_H */
