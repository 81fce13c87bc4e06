/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the link between a region and a drive or NIC, from which its traffic besides the payload is predicted. */
#ifndef BENCH_LINKS_H
#define BENCH_LINKS_H

#include <json-c/json.h>

#include "donard/donard.h"

struct cli;

/*
 * Adds to @links one object per path between the client @name and @region, unless it is there: its direction ("to-region" or
 * "from-region"), the two functions, the route that the kernel gives, and the registers of both that cut payload into
 * packets.  What cannot be read is null, and "unknown" says why.  The client is a drive ("/dev/nvme0n1"), of type
 * DONARD_CLIENT_NVME, or an RDMA device ("mlx5_0"), of type DONARD_CLIENT_RDMA; one in software has one object, without a
 * direction.  Figures are made of it by donardstat/links.py.
 */
void bench_add_links(struct cli *cli, struct json_object *links, const char *direction, enum donard_client_type type,
		     const char *name, const char *region);

#endif /* BENCH_LINKS_H */
