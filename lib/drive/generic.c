// SPDX-License-Identifier: Apache-2.0
/* See generic.h. */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "drive/generic.h"

#define IDENTIFY		0x06
#define IDENTIFY_BYTES		4096
#define ID_FORMAT		26	/* FLBAS: which format is in use */
#define ID_PROTECTION		29	/* DPS */
#define ID_FORMATS		128	/* four bytes each: metadata (2), log2 of the block, - */
#define FOLIO_ORDER_MAX		11	/* of the page cache; each folio begins at a multiple of its size */
#define LBAS_MAX		65536	/* in one command: 16 bits, zero-based */

/* The character device lies beside the block device, for a multipath head as for a plain namespace. */
int dnd_generic_find(struct donard_context *ctx, const struct dnd_drive *drive, char *name,
		     size_t name_bytes, dev_t *device)
{
	const char *disk = drive->blockdev.disk;
	unsigned int number[2];
	char text[32];

	snprintf(name, name_bytes, "ng%s", disk + strlen("nvme"));
	if (dnd_sysfs_read(ctx, text, sizeof(text), "block/%s/device/%s/dev", disk, name) ||
	    sscanf(text, "%u:%u", &number[0], &number[1]) != 2)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the kernel has no generic device for "
				"its namespace (%s). Leave PASSTHROUGH out.", drive->path,
				name);
	*device = makedev(number[0], number[1]);
	return 0;
}

static uint64_t queue_value(struct donard_context *ctx, const struct dnd_drive *drive,
			    const char *name, uint64_t otherwise)
{
	uint64_t value = otherwise;

	dnd_sysfs_read_u64(ctx, &value, "block/%s/queue/%s", drive->blockdev.disk, name);
	return value;
}

/*
 * A command cannot be split.  The kernel would refuse one with more pages than
 * segments, and some kernels would bounce it.  The limit is one page less, for
 * memory that begins within a page.
 */
int dnd_generic_limits(struct donard_context *ctx, const struct dnd_drive *drive,
		       struct dnd_generic *generic)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t segments = queue_value(ctx, drive, "max_segments", 0), bytes;

	generic->block_fd = drive->fd;
	generic->size_bytes = drive->size_bytes;
	generic->lba_bytes = drive->blockdev.block_bytes;
	generic->start_bytes = drive->blockdev.start_bytes;
	generic->memory_align_bytes = (uint32_t)queue_value(ctx, drive, "dma_alignment", 511) + 1;
	bytes = queue_value(ctx, drive, "max_hw_sectors_kb", 0) << 10;
	bytes = dnd_min(bytes, segments > 1 ? (segments - 1) * page : 0);
	bytes = dnd_min(bytes, (uint64_t)LBAS_MAX * generic->lba_bytes);
	generic->limit_bytes = dnd_round_down(bytes, generic->lba_bytes);
	if (generic->limit_bytes && generic->start_bytes % generic->lba_bytes == 0)
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the limits of %s are unknown or unusable. Leave "
			"PASSTHROUGH out.", drive->path, drive->blockdev.disk);
}

const char *dnd_generic_unfit(const uint8_t identify[4096], uint32_t lba_bytes)
{
	uint8_t flags = identify[ID_FORMAT];
	const uint8_t *format = identify + ID_FORMATS + 4 * ((flags & 0xf) | (flags >> 5 & 3) << 4);

	if (identify[ID_PROTECTION] & 7)
		return "it is formatted with protection information";
	if (format[0] || format[1])
		return "it is formatted with metadata";
	if (format[2] > 31 || 1U << format[2] != lba_bytes)
		return "its logical block is not that of the block device";
	return NULL;
}

static int unfit(struct donard_context *ctx, const struct dnd_drive *drive, const char *why)
{
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: PASSTHROUGH cannot be used for its namespace: "
			"%s. Leave PASSTHROUGH out.", drive->path, why);
}

static int no_node(struct donard_context *ctx, const struct dnd_drive *drive, const char *path, dev_t device)
{
	char number[32], making[PATH_MAX + 256];

	snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
	dnd_node_making(path, 'c', number, making, sizeof(making));
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: there is no node %s of its generic device. %s, or leave "
			"PASSTHROUGH out.", drive->path, path, making);
}

static int no_access(struct donard_context *ctx, const struct dnd_drive *drive, const char *path,
		     int error_number)
{
	const char *obstacle = dnd_node_obstacle(path, drive->writable);

	return dnd_fail_access(ctx, error_number, obstacle ? obstacle : "Run as root (CAP_SYS_ADMIN), or leave "
			       "PASSTHROUGH out", "%s: its generic device %s cannot be used",
			       drive->path, path);
}

static int open_node(struct donard_context *ctx, const struct dnd_drive *drive,
		     struct dnd_generic *generic, char *path, size_t path_bytes)
{
	struct stat st;
	char name[64];
	dev_t device;
	int rc = dnd_generic_find(ctx, drive, name, sizeof(name), &device);

	if (rc)
		return rc;
	snprintf(path, path_bytes, "%s/%s", ctx->dev_root, name);
	generic->fd = open(path, O_CLOEXEC | (drive->writable ? O_RDWR : O_RDONLY));
	if (generic->fd < 0)
		return errno == ENOENT ? no_node(ctx, drive, path, device) : no_access(ctx, drive, path, errno);
	if (!fstat(generic->fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == device)
		return 0;
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: %s is not the generic device of its "
			"namespace. Have udev make the node anew.", drive->path, path);
}

static int check_namespace(struct donard_context *ctx, const struct dnd_drive *drive,
			   struct dnd_generic *generic, const char *path)
{
	uint64_t expected = 0;
	int nsid = ioctl(generic->fd, NVME_IOCTL_ID);

	if (nsid < 0)
		return no_access(ctx, drive, path, errno);
	generic->nsid = (uint32_t)nsid;
	dnd_sysfs_read_u64(ctx, &expected, "block/%s/nsid", drive->blockdev.disk);
	if (generic->nsid != expected)
		return unfit(ctx, drive, "the generic device is that of another one");
	return 0;
}

static int identify(struct donard_context *ctx, const struct dnd_drive *drive,
		    const struct dnd_generic *generic, const char *path)
{
	uint8_t answer[IDENTIFY_BYTES] __attribute__((aligned(4096))) = { 0 };
	struct nvme_passthru_cmd command = {
		.opcode = IDENTIFY,
		.nsid = generic->nsid,
		.addr = (uintptr_t)answer,
		.data_len = sizeof(answer),
	};
	const char *why;
	int status = ioctl(generic->fd, NVME_IOCTL_ADMIN_CMD, &command);

	if (status < 0)
		return no_access(ctx, drive, path, errno);
	why = status ? "it does not say how it is formatted" :
		       dnd_generic_unfit(answer, generic->lba_bytes);
	return why ? unfit(ctx, drive, why) : 0;
}

static int check_zoned(struct donard_context *ctx, const struct dnd_drive *drive)
{
	return dnd_blockdev_is_zoned(ctx, &drive->blockdev) ? unfit(ctx, drive, "it is zoned") : 0;
}

bool dnd_generic_kernel_fits(const char *release)
{
	unsigned int major_number = 0, minor_number = 0;

	return sscanf(release, "%u.%u", &major_number, &minor_number) == 2 &&
	       (major_number > 6 || (major_number == 6 && minor_number >= 12));
}

static int check_kernel(struct donard_context *ctx, const struct dnd_drive *drive)
{
	struct utsname name;

	if (uname(&name) || dnd_generic_kernel_fits(name.release))
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: PASSTHROUGH needs Linux 6.12 or later, and this is "
			"%s: older ones may report an NVMe command as done that never reached the "
			"drive. Leave PASSTHROUGH out.", drive->path, name.release);
}

static int check_ring(struct donard_context *ctx, const struct dnd_drive *drive,
		      const struct dnd_generic *generic, const char *path)
{
	int setup, rc = dnd_nvme_probe(generic->fd, &setup);

	/* EINVAL: a kernel before Linux 5.19 does not know such large entries. */
	if (setup && setup != -EINVAL)
		return dnd_fail_uring(ctx, -setup, true);
	if (rc == -EACCES || rc == -EPERM)
		return no_access(ctx, drive, path, -rc);
	if (!rc)
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: this kernel takes no NVMe commands by io_uring "
			"(%s). Leave PASSTHROUGH out.", drive->path,
			strerror(-rc));
}

static int refuse_file(struct donard_context *ctx, const struct dnd_drive *drive)
{
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: it is a file, and only the file system "
			"knows where its blocks are; PASSTHROUGH is for a whole NVMe namespace or "
			"a partition. Name one, or leave PASSTHROUGH out.", drive->path);
}

/* The kernel would silently bounce memory that is not aligned enough for the drive. */
static int check_block(struct donard_context *ctx, const struct dnd_drive *drive, uint32_t align,
		       const struct dnd_generic *generic)
{
	if (generic->limit_bytes >= align && generic->memory_align_bytes <= align)
		return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: one NVMe command cannot move a block "
			"of %u bytes. Leave PASSTHROUGH out.", drive->path, align);
}

static int open_checked(struct donard_context *ctx, const struct dnd_drive *drive,
			struct dnd_generic *generic)
{
	char path[PATH_MAX];
	int rc = check_kernel(ctx, drive);

	if (!rc)
		rc = dnd_generic_limits(ctx, drive, generic);
	if (!rc)
		rc = check_zoned(ctx, drive);
	if (!rc)
		rc = open_node(ctx, drive, generic, path, sizeof(path));
	if (!rc)
		rc = check_namespace(ctx, drive, generic, path);
	if (!rc)
		rc = identify(ctx, drive, generic, path);
	return rc ? rc : check_ring(ctx, drive, generic, path);
}

int dnd_generic_open(struct donard_context *ctx, const struct dnd_drive *drive, uint32_t align,
		     struct dnd_generic *generic)
{
	int rc;

	if (drive->is_file)
		return refuse_file(ctx, drive);
	if (drive->blockdev.stack)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: %s is made of other devices, and PASSTHROUGH "
				"sends commands to one drive. Leave PASSTHROUGH out.", drive->path,
				drive->blockdev.disk);
	rc = open_checked(ctx, drive, generic);
	return rc ? rc : check_block(ctx, drive, align, generic);
}

void dnd_generic_close(struct dnd_generic *generic)
{
	if (generic->fd >= 0)
		close(generic->fd);
	generic->fd = -1;
}

/* A device that is gone has no size.  The drive's own answer reports that better, so it is no failure here. */
int dnd_generic_check(const struct dnd_generic *generic, bool writes)
{
	uint64_t bytes = 0;
	int block_bytes = 0, read_only = 0;

	if (ioctl(generic->block_fd, BLKGETSIZE64, &bytes) || !bytes || ioctl(generic->block_fd, BLKSSZGET, &block_bytes))
		return 0;
	if (bytes != generic->size_bytes || (uint32_t)block_bytes != generic->lba_bytes)
		return -ESTALE;
	return writes && !ioctl(generic->block_fd, BLKROGET, &read_only) && read_only ? -EROFS : 0;
}

int dnd_generic_write_back(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset,
			   uint64_t length)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;

	if (!sync_file_range(drive->fd, (off_t)offset, (off_t)length, flags))
		return 0;
	return dnd_fail_errno(ctx, errno, "%s: its page cache cannot be written back", drive->path);
}

/*
 * The kernel drops whole folios, and keeps one of which only a part is to go.  So this asks for more: what lies beside the
 * range and is clean is on the drive already, and what is dirty stays.
 */
void dnd_generic_drop_cached(const struct dnd_drive *drive, uint64_t offset, uint64_t length)
{
	uint64_t folio = (uint64_t)sysconf(_SC_PAGESIZE) << FOLIO_ORDER_MAX;
	uint64_t start = dnd_round_down(offset, folio);

	posix_fadvise(drive->fd, (off_t)start, (off_t)(dnd_round_up(offset + length, folio) - start),
		      POSIX_FADV_DONTNEED);
}
