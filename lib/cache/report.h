/* SPDX-License-Identifier: Apache-2.0 */
/* A server sends this head, and then a struct donard_cache_status, to every client of its status socket. */
#ifndef DND_CACHE_REPORT_H
#define DND_CACHE_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/base.h"

#define DND_REPORT_FOLDER	"/run/donard"
#define DND_REPORT_MAGIC	{ 'd', 'o', 'n', 'a', 'r', 'd', 'C', 'S' }

struct dnd_report_head {
	char magic[8];
	uint64_t bytes;		/* how many follow; members that only one side knows come after those that both know */
};

/* The socket of the server for the region @name, or @name itself if that is a path; 0 or -ENAMETOOLONG. */
static inline int dnd_report_address(const char *name, struct sockaddr_un *address)
{
	const char *before = strchr(name, '/') ? "" : DND_REPORT_FOLDER "/cache-";
	int length = snprintf(address->sun_path, sizeof(address->sun_path), "%s%s", before, name);

	address->sun_family = AF_UNIX;
	return length < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

#endif /* DND_CACHE_REPORT_H */
