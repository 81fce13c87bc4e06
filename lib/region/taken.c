// SPDX-License-Identifier: Apache-2.0
/* Whether a region, or a GPU's memory in one, was taken back from those who hold it. */
#include <poll.h>
#include <sys/ioctl.h>

#include "region/region.h"

bool dnd_region_called_back(const struct dnd_region *region)
{
	struct pollfd pollfd = { .fd = region->fd, .events = POLLPRI };

	return region->fd >= 0 && poll(&pollfd, 1, 0) == 1 &&
	       pollfd.revents & (POLLPRI | POLLERR | POLLHUP);
}

bool dnd_region_lost_memory(const struct dnd_region *region)
{
	return region->info.kind == P2PMEM_KIND_GPU_NVIDIA && !dnd_region_called_back(region);
}

/* Asks the region each time, since the answer changes with the first pin, by this file or another. */
bool dnd_region_may_revoke(const struct dnd_region *region)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	return region->info.kind == P2PMEM_KIND_GPU_NVIDIA &&
	       (ioctl(region->fd, P2PMEM_IOC_INFO, &info) || info.flags & P2PMEM_REGION_REVOCABLE);
}
