/* SPDX-License-Identifier: Apache-2.0 */
/* For imported.c and importbad.c: exporters, and memory that came from them. */
#include "library.h"

#include "modules/exporter/exporter.h"

#define BYTES (2 * MIB)

static inline struct donard_memory *import(int fd, uint64_t offset, uint64_t length)
{
	struct donard_memory *memory;

	GOES(donard_memory_from_dmabuf(ctx, fd, offset, length, &memory));
	return memory;
}

/* --- exporters --- */

static struct donard_memory *owner;	/* of what exported() gave last */

static inline int exported(const char *region, uint64_t offset, int flags)
{
	int fd;

	GOES(donard_memory_claim(ctx, region, offset, BYTES, &owner));
	GOES(donard_memory_export(owner, 0, 0, flags, &fd));
	return fd;
}

static int exporter_fd = -1;

static inline int stranger(enum exporter_mode mode, int inner_fd)
{
	struct exporter_export export = { .mode = mode, .inner_fd = inner_fd, .bytes = BYTES };
	int fd;

	if (exporter_fd < 0)
		exporter_fd = open("/dev/" EXPORTER_NODE, O_RDWR | O_CLOEXEC);
	WORKS(exporter_fd);
	fd = ioctl(exporter_fd, EXPORTER_EXPORT, &export);
	WORKS(fd);
	return fd;
}

static inline int located(int region, int fd)
{
	struct p2pmem_locate_dmabuf place = { .size = sizeof(place), .dmabuf_fd = fd };

	return ioctl(region, P2PMEM_IOC_LOCATE_DMABUF, &place);
}
