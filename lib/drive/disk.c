// SPDX-License-Identifier: Apache-2.0
/* Looks disks and partitions up in sysfs; see disk.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "drive/disk.h"

const char *dnd_disk_describe(const char *disk)
{
	static const struct {
		const char *prefix, *what;
	} known[] = {
		{ "loop", "a loop device" },
		{ "sd", "a SCSI, SATA or USB disk" },
		{ "vd", "a virtio disk" },
		{ "zram", "compressed RAM" },
		{ "ram", "a RAM disk" },
		{ "nbd", "a network block device" },
		{ "pmem", "a persistent memory device" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(disk, known[i].prefix, strlen(known[i].prefix)))
			return known[i].what;
	return "a block device of another kind";
}

static int not_nvme(struct donard_context *ctx, const char *label, const char *disk)
{
	return dnd_fail(ctx, DND_E_NOT_NVME, "%s: %s is %s, not an NVMe drive", label, disk,
			dnd_disk_describe(disk));
}

/* The folder of a partition in sysfs lies in that of its disk. */
int dnd_disk_name(struct donard_context *ctx, const char *number, char *disk,
			   size_t disk_bytes)
{
	if (dnd_sysfs_exists(ctx, "dev/block/%s/partition", number))
		return dnd_sysfs_link_name(ctx, disk, disk_bytes, "dev/block/%s/..", number);
	return dnd_sysfs_link_name(ctx, disk, disk_bytes, "dev/block/%s", number);
}

int dnd_disk_number(struct donard_context *ctx, dev_t *device, const char *format, ...)
{
	unsigned int major_number, minor_number;
	char path[PATH_MAX], number[32];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (dnd_sysfs_read(ctx, number, sizeof(number), "%s", path) ||
	    sscanf(number, "%u:%u", &major_number, &minor_number) != 2)
		return -ENODEV;
	*device = makedev(major_number, minor_number);
	return 0;
}

/*
 * The last number of a name is the namespace's in its subsystem: the kernel gives one to each (ns_head.instance), which all its
 * disks share, but no private namespace of another controller, whatever its NSID.  It compares UUIDs and the like itself before.
 * These say less: many drives report none, some report those of another.
 */
static bool has_paths(const char *disk, unsigned int *number)
{
	unsigned int instance;
	int used = 0;

	return sscanf(disk, "nvme%un%u%n", &instance, number, &used) == 2 && !disk[used];
}

/* Controllers with one NQN are of one subsystem to the kernel, too. */
void dnd_disk_medium(struct donard_context *ctx, const char *disk, char medium[DND_MEDIUM_BYTES])
{
	unsigned int number;
	char nqn[224] = "";

	medium[0] = '\0';
	if (has_paths(disk, &number) && !dnd_sysfs_read(ctx, nqn, sizeof(nqn), "block/%s/device/subsysnqn", disk) && nqn[0])
		snprintf(medium, DND_MEDIUM_BYTES, "%u of %s", number, nqn);
}

/* Reads nothing of a disk that has another number. */
bool dnd_disk_is_twin(struct donard_context *ctx, const char *disk, const struct dnd_span *span)
{
	char medium[DND_MEDIUM_BYTES];
	unsigned int number;

	if (!span->medium[0] || !strcmp(disk, span->disk) || !has_paths(disk, &number) || number != strtoul(span->medium, NULL, 10))
		return false;
	dnd_disk_medium(ctx, disk, medium);
	return !strcmp(medium, span->medium);
}

static bool is_same(const char *disk_a, const char *medium_a, const char *disk_b, const char *medium_b)
{
	return !strcmp(disk_a, disk_b) || (medium_a[0] && !strcmp(medium_a, medium_b));
}

bool dnd_blockdev_is_same(const struct dnd_blockdev *a, const struct dnd_blockdev *b)
{
	return is_same(a->disk, a->medium, b->disk, b->medium);
}

int dnd_disk_span(struct donard_context *ctx, dev_t device, struct dnd_span *span)
{
	uint64_t start = 0, sectors = 0;
	char number[32];
	int rc;

	snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
	rc = dnd_disk_name(ctx, number, span->disk, sizeof(span->disk));
	if (rc)
		return rc;
	dnd_disk_medium(ctx, span->disk, span->medium);
	span->from_bytes = 0;
	span->end_bytes = UINT64_MAX;
	if (!dnd_sysfs_exists(ctx, "dev/block/%s/partition", number))
		return 0;
	dnd_sysfs_read_u64(ctx, &start, "dev/block/%s/start", number);
	dnd_sysfs_read_u64(ctx, &sectors, "dev/block/%s/size", number);
	span->from_bytes = start * DND_SECTOR_BYTES;
	span->end_bytes = (start + sectors) * DND_SECTOR_BYTES;
	return 0;
}

bool dnd_spans_meet(const struct dnd_span *a, const struct dnd_span *b)
{
	return is_same(a->disk, a->medium, b->disk, b->medium) && a->from_bytes < b->end_bytes && b->from_bytes < a->end_bytes;
}

bool dnd_disk_is_stack(const char *disk)
{
	return !strncmp(disk, "dm-", 3) || !strncmp(disk, "md", 2);
}

bool dnd_disk_path(const char *disk, const char *controller_name, char folder[DND_PATH_BYTES])
{
	unsigned int subsystem, head, controller;

	if (sscanf(disk, "nvme%un%u", &subsystem, &head) != 2 || sscanf(controller_name, "nvme%u", &controller) != 1)
		return false;
	snprintf(folder, DND_PATH_BYTES, "class/nvme/%s/nvme%uc%un%u", controller_name, subsystem, controller, head);
	return true;
}

/*
 * On a drive with protection information the block layer computes checksums of all data by the CPU, unless
 * it is told not to (bio_integrity_prep() in block/bio-integrity*.c).  "nop" is metadata of another kind.
 */
static void add_integrity(struct donard_context *ctx, const char *folder, struct dnd_blockdev *blockdev)
{
	char format[64] = "";
	uint64_t verify = 0, generate = 0;

	if (dnd_sysfs_read(ctx, format, sizeof(format), "%s/integrity/format", folder) ||
	    !strcmp(format, "none") || !strcmp(format, "nop"))
		return;
	dnd_sysfs_read_u64(ctx, &verify, "%s/integrity/read_verify", folder);
	dnd_sysfs_read_u64(ctx, &generate, "%s/integrity/write_generate", folder);
	blockdev->has_checksums = true;
	blockdev->reads_checked |= verify != 0;
	blockdev->writes_summed |= generate != 0;
}

/*
 * With native multipath the path that a request takes decides.  The disk itself does so for the requests of some file systems
 * (fs_bio_integrity_alloc(), Linux 7.1).
 */
void dnd_disk_read_integrity(struct donard_context *ctx, struct dnd_blockdev *blockdev)
{
	char folder[DND_PATH_BYTES];

	blockdev->has_checksums = blockdev->reads_checked = blockdev->writes_summed = false;
	snprintf(folder, sizeof(folder), "block/%s", blockdev->disk);
	add_integrity(ctx, folder, blockdev);
	for (size_t i = 0; blockdev->multipath && i < blockdev->controller_count; i++)
		if (dnd_disk_path(blockdev->disk, blockdev->controller_names[i], folder))
			add_integrity(ctx, folder, blockdev);
}

static int read_geometry(struct donard_context *ctx, const char *number,
			 struct dnd_blockdev *blockdev)
{
	uint64_t start = 0, sectors = 0, block = DND_SECTOR_BYTES, request_kib = 0;
	uint64_t dma_mask = DND_SECTOR_BYTES - 1;
	int rc;

	dnd_sysfs_read_u64(ctx, &start, "dev/block/%s/start", number);
	rc = dnd_sysfs_read_u64(ctx, &sectors, "dev/block/%s/size", number);
	dnd_sysfs_read_u64(ctx, &block, "block/%s/queue/logical_block_size", blockdev->disk);
	dnd_sysfs_read_u64(ctx, &request_kib, "block/%s/queue/max_sectors_kb", blockdev->disk);
	dnd_sysfs_read_u64(ctx, &dma_mask, "block/%s/queue/dma_alignment", blockdev->disk);
	blockdev->memory_align_bytes = (uint32_t)dma_mask + 1;
	blockdev->start_bytes = start * DND_SECTOR_BYTES;
	blockdev->length_bytes = sectors * DND_SECTOR_BYTES;
	blockdev->block_bytes = (uint32_t)block;
	blockdev->request_bytes = request_kib << 10;
	return rc;
}

static int add_controller(struct donard_context *ctx, const char *name, void *data)
{
	struct dnd_blockdev *blockdev = data;
	char transport[16], address[DONARD_BDF_BYTES];
	size_t count = blockdev->controller_count;

	/* The controller has just gone away. */
	if (dnd_sysfs_read(ctx, transport, sizeof(transport), "class/nvme/%s/transport", name) ||
	    dnd_sysfs_read(ctx, address, sizeof(address), "class/nvme/%s/address", name))
		return 0;
	if (strcmp(transport, "pcie"))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: its controller %s is not on PCIe but reached by %s, "
				"which moves data through DRAM. Use a drive on PCIe, or disconnect %s if other "
				"controllers serve it, too (nvme disconnect -d %s).", blockdev->disk, name,
				transport, name, name);
	if (count == DND_CONTROLLERS)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: it has more than %d controllers, and each "
				"of them would need a route. Unbind some of them.", blockdev->disk,
				DND_CONTROLLERS);
	memcpy(blockdev->controllers[count], address, sizeof(address));
	snprintf(blockdev->controller_names[count], sizeof(blockdev->controller_names[count]),
		 "%s", name);
	blockdev->controller_count++;
	return 0;
}

/*
 * A subsystem's entries are controllers, such as "nvme0", and heads, such as "nvme0n1".  A controller need not serve
 * every namespace.  If nvme3 serves nvme0n1, the path "nvme0c3n1" lies below nvme3.
 */
static int add_if_path(struct donard_context *ctx, const char *entry, void *data)
{
	struct dnd_blockdev *blockdev = data;
	char path[DND_PATH_BYTES];
	unsigned int controller;
	int used = 0;

	if (sscanf(entry, "nvme%u%n", &controller, &used) != 1 || entry[used] || !dnd_disk_path(blockdev->disk, entry, path) ||
	    !dnd_sysfs_exists(ctx, "%s", path))
		return 0;
	return add_controller(ctx, entry, blockdev);
}

static int find_controllers(struct donard_context *ctx, struct dnd_blockdev *blockdev)
{
	char parent[64], folder[PATH_MAX];

	if (dnd_sysfs_link_name(ctx, parent, sizeof(parent), "block/%s/device", blockdev->disk))
		return 0;
	blockdev->multipath = !strncmp(parent, "nvme-subsys", 11);
	if (!blockdev->multipath)
		return add_controller(ctx, parent, blockdev);
	snprintf(folder, sizeof(folder), "class/nvme-subsystem/%s", parent);
	return dnd_for_each_entry(ctx, folder, add_if_path, blockdev);
}

/* File systems such as btrfs have device numbers of their own, which belong to no disk. */
static int not_in_sysfs(struct donard_context *ctx, const char *label, const char *number)
{
	int rc = dnd_require_sysfs(ctx, "dev/block");

	return rc ? rc : dnd_fail(ctx, DND_E_NOT_NVME, "%s: block device %s is not in sysfs", label, number);
}

int dnd_disk_look_up(struct donard_context *ctx, dev_t device, const char *label, char number[32],
		     struct dnd_blockdev *blockdev)
{
	memset(blockdev, 0, sizeof(*blockdev));
	snprintf(number, 32, "%u:%u", major(device), minor(device));
	if (dnd_disk_name(ctx, number, blockdev->disk, sizeof(blockdev->disk)))
		return not_in_sysfs(ctx, label, number);
	dnd_disk_medium(ctx, blockdev->disk, blockdev->medium);
	if (read_geometry(ctx, number, blockdev))
		return not_nvme(ctx, label, blockdev->disk);
	/* The properties of its queue are found only below block/. */
	return dnd_sysfs_exists(ctx, "block/%s", blockdev->disk) ? 0 : dnd_require_sysfs(ctx, "block");
}

/* A container may hide a folder of sysfs alone. */
static int no_controller(struct donard_context *ctx, const char *label, const char *disk)
{
	int rc = dnd_require_sysfs(ctx, "class/nvme");

	if (rc)
		return rc;
	if (!dnd_sysfs_exists(ctx, "class/nvme"))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the controllers of %s are not known, since /sys/class/nvme is not "
				"there. Give this container the whole sysfs of its host.", label, disk);
	return dnd_fail(ctx, DND_E_NOT_NVME, "%s: %s has no controller now. Bring one back (echo 1 | sudo tee /sys/bus/pci/rescan, "
			"or dmesg tells why it went)", label, disk);
}

int dnd_disk_find_controllers(struct donard_context *ctx, const char *label,
			      struct dnd_blockdev *blockdev)
{
	int rc;

	if (strncmp(blockdev->disk, "nvme", 4))
		return not_nvme(ctx, label, blockdev->disk);
	rc = find_controllers(ctx, blockdev);
	if (rc)
		return rc;
	if (!blockdev->controller_count)
		return no_controller(ctx, label, blockdev->disk);
	return 0;
}

int dnd_disk_resolve(struct donard_context *ctx, dev_t device, const char *label,
			       struct dnd_blockdev *blockdev)
{
	char number[32];
	int rc = dnd_disk_look_up(ctx, device, label, number, blockdev);

	return rc ? rc : dnd_disk_find_controllers(ctx, label, blockdev);
}

