// SPDX-License-Identifier: Apache-2.0
/* Opens a region, claims and maps parts of it, runs its barrier. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/printable.h"
#include "region/control.h"
#include "region/holders.h"
#include "region/names.h"

/* Long enough for another copy to prove its route, by some requests to its drive, one after the other. */
#define CLAIM_WAIT_SECONDS	3.0
#define CLAIM_CALM_TRIES	10	/* then the range must belong to something other than a copy */
#define CLAIM_PAUSE_MS		5
/* For this long mmap() may return EAGAIN, while memory of a closed file is on its way back. */
#define SETTLE_SECONDS		1.0

int dnd_require_module(struct donard_context *ctx)
{
	int rc;

	if (dnd_sysfs_exists(ctx, "class/p2pmem"))
		return 0;
	rc = dnd_require_sysfs(ctx, "class/p2pmem");
	return rc ? rc : dnd_fail(ctx, DND_E_NO_MODULE, "the kernel module p2pmem is not loaded");
}

bool dnd_region_of_node(const struct donard_context *ctx, const struct stat *file, char name[P2PMEM_NAME_BYTES])
{
	return S_ISCHR(file->st_mode) &&
	       !dnd_sysfs_link_name(ctx, name, P2PMEM_NAME_BYTES, "dev/char/%u:%u", major(file->st_rdev), minor(file->st_rdev)) &&
	       dnd_region_number(name) >= 0;
}

/* A stale node, as in a container, has a device number that belongs to another region now. */
static int is_another(struct donard_context *ctx, struct dnd_region *region)
{
	region->info.name[sizeof(region->info.name) - 1] = '\0';
	dnd_make_printable(region->info.name, sizeof(region->info.name));
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: its node in %s leads to %s now. Have the node made anew "
			"(udev does so), or name %s.", region->name, ctx->dev_root, region->info.name,
			region->info.name);
}

/* Reads INFO of the open file, which also says which region it is. */
static int read_info(struct donard_context *ctx, struct dnd_region *region)
{
	struct dnd_bdf bdf;

	memset(&region->info, 0, sizeof(region->info));
	region->info.size = sizeof(region->info);
	if (ioctl(region->fd, P2PMEM_IOC_INFO, &region->info) < 0)
		return errno == ENODEV ? dnd_region_missing(ctx, region->name) :
					 dnd_fail_errno(ctx, errno, "%s: cannot be queried", region->name);
	if (strncmp(region->info.name, region->name, sizeof(region->info.name)))
		return is_another(ctx, region);
	bdf.domain = region->info.pci_domain;
	bdf.bus = region->info.pci_bus;
	bdf.devfn = region->info.pci_devfn;
	dnd_bdf_format(region->bdf, bdf);
	if (!region->info.granule_bytes)
		region->info.granule_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static int no_node(struct donard_context *ctx, const char *name)
{
	char path[PATH_MAX], number[32], making[PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/%s", ctx->dev_root, name);
	dnd_sysfs_read(ctx, number, sizeof(number), "class/p2pmem/%s/dev", name);
	dnd_node_making(path, 'c', number, making, sizeof(making));
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: the region exists, but %s has no node of it. %s.", name, ctx->dev_root,
			making);
}

int dnd_region_missing(struct donard_context *ctx, const char *name)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	char state[16];

	if (dnd_sysfs_read(ctx, state, sizeof(state), "class/p2pmem/%s/state", name))
		return dnd_sysfs_check(ctx, unread, dnd_fail(ctx, DND_E_NO_SUCH_REGION, "%s: there is no such region",
							     name));
	if (!strcmp(state, "ready"))
		return no_node(ctx, name);
	return dnd_fail(ctx, DND_E_REGION_GONE, "%s: the region is being taken away (%s). Wait, and "
			"add it again.", name, state);
}

static int open_failed(struct donard_context *ctx, const char *name, const char *path, int error_number)
{
	char remedy[256];

	if (error_number == ENOENT || error_number == ENODEV || error_number == ENXIO)
		return dnd_region_missing(ctx, name);
	dnd_node_remedy(path, remedy, sizeof(remedy));
	return dnd_fail_access(ctx, error_number, remedy, "%s: cannot be opened", name);
}

int dnd_region_open(struct donard_context *ctx, const char *name, struct dnd_region *region)
{
	char path[PATH_MAX];
	int rc;

	region->fd = -1;
	rc = dnd_region_name(ctx, name, region->name);
	if (!rc)
		rc = dnd_require_module(ctx);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/%s", ctx->dev_root, region->name);
	region->fd = open(path, O_RDWR | O_CLOEXEC);
	if (region->fd < 0)
		return open_failed(ctx, region->name, path, errno);
	rc = read_info(ctx, region);
	if (rc)
		dnd_region_close(region);
	return rc;
}

/* The kernel refuses only the mapping, with EACCES, which would send the reader to the rights of the node. */
static int not_both_ways(struct donard_context *ctx, const struct dnd_region *region, int fd)
{
	return dnd_fail_member(ctx, DND_E_PERMISSION, DND_AT("descriptor"), "%s: descriptor %d is not open for reading and writing. "
			       "Open the node O_RDWR.", region->name, fd);
}

int dnd_region_adopt(struct donard_context *ctx, int fd, struct dnd_region *region)
{
	int rc;

	region->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (region->fd < 0)
		return dnd_fail_errno(ctx, errno, "%s: its descriptor cannot be duplicated",
				      region->name);
	rc = (fcntl(region->fd, F_GETFL) & O_ACCMODE) == O_RDWR ? read_info(ctx, region) : not_both_ways(ctx, region, fd);
	if (rc)
		dnd_region_close(region);
	return rc;
}

int dnd_region_ask_again(struct donard_context *ctx, struct dnd_region *region)
{
	return dnd_region_called_back(region) ? dnd_region_access_failed(ctx, region, ENODEV) : read_info(ctx, region);
}

void dnd_region_close(struct dnd_region *region)
{
	if (region->fd >= 0)
		close(region->fd);
	region->fd = -1;
}

/* " (in folios of 1 GiB, each with one owner)" if the folios are large; else "". */
static void folios_text(const struct dnd_region *region, char *text, size_t text_bytes)
{
	char size[64];

	text[0] = '\0';
	if (region->info.folio_bytes > region->info.granule_bytes)
		snprintf(text, text_bytes, " (in folios of %s, each with one owner)",
			 donard_format_size(size, sizeof(size), region->info.folio_bytes));
}

static int no_space(struct donard_context *ctx, const struct dnd_region *region, uint64_t length,
		    const char *holders)
{
	char folios[128];

	folios_text(region, folios, sizeof(folios));
	if (length > region->info.region_bytes)
		return dnd_fail_member(ctx, DND_E_NO_SPACE, DND_MOST("length", length, region->info.region_bytes),
				       "%s: %llu bytes are more than the %llu of the whole region. "
				       "Ask for less, or use a larger region.", region->name,
				       (unsigned long long)length, (unsigned long long)region->info.region_bytes);
	return dnd_fail_member(ctx, DND_E_NO_SPACE, DND_VALUE("length", length),
			       "%s: less than %llu bytes are free%s%s. Wait for a holder to end, or "
			       "use another region.", region->name, (unsigned long long)length, folios, holders);
}

static bool is_of_gpu(const struct dnd_region *region)
{
	return region->info.kind == P2PMEM_KIND_GPU_NVIDIA;
}

/* A GPU's region has no memory of its own, only what programs pin. */
static int nothing_to_claim(struct donard_context *ctx, const struct dnd_region *region)
{
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: its memory is the GPU's own, and the GPU's driver alone allocates it. Use memory "
			"of the GPU instead (gpu:%s).", region->name, region->bdf);
}

static int is_disk(struct donard_context *ctx, const char *name)
{
	char disk[32];

	dnd_sysfs_read(ctx, disk, sizeof(disk), "class/p2pmem/%s/pmem", name);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: it is the pmem device %s%s, whose driver alone has the memory. Use "
			"that device, or remove the region and add it with another page type.", name,
			disk[0] ? "/dev/" : "of the nvdimm layer", disk);
}

static int limit_failed(struct donard_context *ctx, const struct dnd_region *region, uint64_t offset, uint64_t length,
			int error_number, const char *limit)
{
	return dnd_fail(ctx, error_number == EAGAIN ? DND_E_LOCKED_MEMORY : DND_E_NO_MEMORY, "%s: bytes %llu to %llu cannot be mapped: "
			"%s.", region->name, (unsigned long long)offset, (unsigned long long)(offset + length), limit);
}

static int range_failed(struct donard_context *ctx, const struct dnd_region *region,
			uint64_t offset, uint64_t length, int error_number)
{
	char holders[256], folios[128], limit[DND_LIMIT_BYTES];

	if (dnd_map_limit(error_number, length, false, limit, sizeof(limit)))
		return limit_failed(ctx, region, offset, length, error_number, limit);
	dnd_region_holders_text(ctx, region->name, holders, sizeof(holders));
	folios_text(region, folios, sizeof(folios));
	switch (error_number) {
	case EBUSY:
	case EEXIST:
		return dnd_fail(ctx, DND_E_BUSY, "%s: bytes %llu to %llu have another owner%s%s. "
				"Wait for it to end, or choose another offset.", region->name,
				(unsigned long long)offset, (unsigned long long)(offset + length),
				folios, holders);
	case ENOSPC:
		return no_space(ctx, region, length, holders);
	case ENODEV:
		return dnd_fail(ctx, DND_E_REGION_GONE, "%s: the region is going away. Choose "
				"another region.", region->name);
	case EOPNOTSUPP:	/* other regions refuse nothing with it */
		return is_of_gpu(region) ? nothing_to_claim(ctx, region) : is_disk(ctx, region->name);
	}
	return dnd_fail_errno(ctx, error_number, "%s: bytes %llu to %llu cannot be mapped",
			      region->name, (unsigned long long)offset,
			      (unsigned long long)(offset + length));
}

/* Sleeps the whole time even if signals interrupt it, as a profiler's timer does: else the tries would be used up too soon. */
static void nap(void)
{
	struct timespec pause = { .tv_nsec = CLAIM_PAUSE_MS * 1000000L };

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

static void *try_map(const struct dnd_region *region, uint64_t file_offset, uint64_t length)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd,
		    (off_t)file_offset);
}

static int map(struct dnd_region *region, uint64_t file_offset, uint64_t length,
	       struct dnd_window *window)
{
	double until = dnd_now_seconds() + SETTLE_SECONDS;
	void *address = try_map(region, file_offset, length);

	if (address == MAP_FAILED && errno == EAGAIN && dnd_map_limit(EAGAIN, length, false, NULL, 0))
		return -EAGAIN;
	while (address == MAP_FAILED && errno == EAGAIN) {
		if (dnd_now_seconds() >= until)
			return dnd_region_persistent(region) ? -EBUSY : -ENOSPC;
		nap();
		address = try_map(region, file_offset, length);
	}
	if (address == MAP_FAILED)
		return -errno;
	window->map = address;
	window->map_bytes = length;
	window->file_offset = file_offset;
	window->data = address;
	return 0;
}

static int claim(struct dnd_region *region, uint64_t offset, uint64_t length)
{
	struct p2pmem_claim claim = {
		.size = sizeof(claim),
		.region_offset = offset,
		.length = length,
		.file_offset = offset,
	};

	/* mmap() claims memory of a persistent region, whose offsets are those of the file. */
	if (dnd_region_persistent(region))
		return 0;
	return ioctl(region->fd, P2PMEM_IOC_CLAIM, &claim) < 0 ? -errno : 0;
}

static uint64_t start_of(const struct dnd_region *region, uint64_t offset)
{
	return dnd_round_down(offset, region->info.granule_bytes);
}

static uint64_t end_of(const struct dnd_region *region, uint64_t end)
{
	return dnd_round_up(end, region->info.granule_bytes);
}

int dnd_region_try_claim(struct dnd_region *region, uint64_t offset, uint64_t length,
			 struct dnd_window *window)
{
	uint64_t start = start_of(region, offset);
	uint64_t bytes = end_of(region, offset + length) - start;
	int rc = claim(region, start, bytes);

	if (!rc)
		rc = map(region, start, bytes, window);
	if (!rc)
		window->data = window->map + (offset - start);
	return rc;
}

int dnd_region_map(struct donard_context *ctx, struct dnd_region *region, uint64_t file_offset,
		   uint64_t length, uint64_t skip, struct dnd_window *window)
{
	int rc = map(region, file_offset, length, window);

	if (rc)
		return range_failed(ctx, region, file_offset, length, -rc);
	window->data += skip;
	return 0;
}

/* The kernel does not show who owns the range, only that some file owns as little as spare blocks do. */
static bool may_be_spare(struct donard_context *ctx, const struct dnd_region *region)
{
	return !dnd_region_persistent(region) && dnd_region_has_small_holder(ctx, region->name, region->info.folio_bytes);
}

int dnd_region_claim(struct donard_context *ctx, struct dnd_region *region, uint64_t offset,
		     uint64_t length, struct dnd_window *window)
{
	double until = dnd_now_seconds() + CLAIM_WAIT_SECONDS;
	int rc = dnd_region_try_claim(region, offset, length, window);
	unsigned int calm = 0;	/* tries in a row without a holder of spare blocks */

	while (rc == -EBUSY && calm < CLAIM_CALM_TRIES && dnd_now_seconds() < until) {
		calm = may_be_spare(ctx, region) ? 0 : calm + 1;
		nap();
		rc = dnd_region_try_claim(region, offset, length, window);
	}
	return rc ? range_failed(ctx, region, start_of(region, offset),
				 end_of(region, offset + length) - start_of(region, offset), -rc) : 0;
}

int dnd_region_scratch(struct donard_context *ctx, struct dnd_region *region, uint64_t length,
		       struct dnd_window *window)
{
	if (is_of_gpu(region))
		return nothing_to_claim(ctx, region);
	if (dnd_region_persistent(region))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: persistent memory is never used as "
				"scratch space: its bytes are somebody's data. Use a volatile "
				"region.", region->name);
	if (length > region->info.region_bytes)	/* mmap() says ENOMEM if that is more than the address space */
		return no_space(ctx, region, length, "");
	return dnd_region_map(ctx, region, 0, dnd_round_up(length, region->info.granule_bytes), 0, window);
}

void dnd_window_unmap(struct dnd_window *window)
{
	if (window->map_bytes)
		munmap(window->map, window->map_bytes);
	memset(window, 0, sizeof(*window));
}

int dnd_region_export(const struct dnd_region *region, uint64_t file_offset, uint64_t length,
		      int access)
{
	struct p2pmem_export_dmabuf export = {
		.size = sizeof(export),
		.file_offset = file_offset,
		.length = length,
		.fd_flags = (uint32_t)access | O_CLOEXEC,
	};
	int fd = ioctl(region->fd, P2PMEM_IOC_EXPORT_DMABUF, &export);

	return fd < 0 ? -errno : fd;
}

/*
 * INFO asks the device, but fails while the region is being removed.  Then STATUS gives the resets that the kernel has
 * noticed, and shows whether the device is still there.
 */
static int count_resets(const struct dnd_region *region, uint64_t *resets)
{
	struct p2pmem_info info = { .size = sizeof(info) };
	struct p2pmem_status status = { .size = sizeof(status) };

	if (!ioctl(region->fd, P2PMEM_IOC_INFO, &info)) {
		*resets = info.resets;
		return 0;
	}
	if (errno != ENODEV || ioctl(region->fd, P2PMEM_IOC_STATUS, &status))
		return -errno;
	*resets = status.resets;
	return status.state == P2PMEM_STATE_READY || status.state == P2PMEM_STATE_DRAINING ? 0 : -ENODEV;
}

int dnd_region_check_resets(struct donard_context *ctx, const struct dnd_region *region)
{
	uint64_t resets = region->info.resets;
	int rc = count_resets(region, &resets);

	/* A reset counts even if the region is gone by now: the contents were lost before that. */
	if (resets != region->info.resets)
		rc = -EIO;
	return rc ? dnd_region_access_failed(ctx, region, -rc) : 0;
}

uint64_t dnd_region_resets(const struct dnd_region *region)
{
	struct p2pmem_status status = { .size = sizeof(status) };

	return region->fd < 0 || ioctl(region->fd, P2PMEM_IOC_STATUS, &status) ? 0 : status.resets;
}

int dnd_region_try_sync(const struct dnd_region *region, bool durable)
{
	struct p2pmem_sync sync = {
		.size = sizeof(sync),
		.flags = durable ? P2PMEM_SYNC_DURABLE : 0,
	};

	return ioctl(region->fd, P2PMEM_IOC_SYNC, &sync) ? -errno : 0;
}

int dnd_region_sync(struct donard_context *ctx, const struct dnd_region *region, bool durable)
{
	int rc = dnd_region_try_sync(region, durable);

	if (!rc)
		return 0;
	if (rc == -EIO || rc == -ENODEV)
		return dnd_region_access_failed(ctx, region, -rc);
	return dnd_fail_errno(ctx, -rc, "%s: the barrier failed", region->name);
}
