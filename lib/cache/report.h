/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says on its socket to whoever asks: this, and then a struct donard_cache_status. */
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
	uint64_t bytes;		/* of what follows; members that one side does not know are behind those that both do */
};

/* Of the region's server, or @name itself if that is a path; -ENAMETOOLONG. */
static inline int dnd_report_address(const char *name, struct sockaddr_un *address)
{
	const char *before = strchr(name, '/') ? "" : DND_REPORT_FOLDER "/cache-";
	int length = snprintf(address->sun_path, sizeof(address->sun_path), "%s%s", before, name);

	address->sun_family = AF_UNIX;
	return length < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

#endif /* DND_CACHE_REPORT_H */
