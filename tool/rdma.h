/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of RDMA servers. */
#ifndef DONARD_TOOL_RDMA_H
#define DONARD_TOOL_RDMA_H

#include "command.h"

/* Removes the port and brackets from "ADDR:PORT".  Returns the port, 0 if there is none, -1 if this is no address. */
long cli_cut_port(char *address);
/*
 * Does so for a server on the command line; *port comes from there or from --port, and is 0 if neither names one.
 * Returns 0, or an exit code after it has printed an error.
 */
int cli_server(const struct cli *cli, char *address, uint16_t *port);

#endif /* DONARD_TOOL_RDMA_H */
