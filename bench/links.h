/* SPDX-License-Identifier: Apache-2.0 */
/* What a link between a drive and a region carries besides the payload is predicted from these facts. */
#ifndef BENCH_LINKS_H
#define BENCH_LINKS_H

#include <json-c/json.h>

struct cli;

/*
 * Adds to @links one object per path of @drive to @region: its direction ("to-region" or "from-region"), the
 * two functions, the route that the kernel gives, and the registers of both that cut payload into packets.
 * What cannot be read is null, and "unknown" says why.  Figures are made of it by donardstat/links.py.
 */
void bench_add_links(struct cli *cli, struct json_object *links, const char *direction, const char *drive,
		     const char *region);

#endif /* BENCH_LINKS_H */
