// SPDX-License-Identifier: Apache-2.0
/* Resolves block devices through sysfs; see blockdev.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "drive/blockdev.h"

#define SECTOR_BYTES 512

static const char *describe(const char *disk)
{
	static const struct {
		const char *prefix, *what;
	} known[] = {
		{ "dm-", "a device-mapper device (LVM, dm-crypt or multipath)" },
		{ "md", "a software RAID (md)" },
		{ "loop", "a loop device" },
		{ "sd", "a SCSI, SATA or USB disk" },
		{ "vd", "a virtio disk" },
		{ "zram", "compressed RAM" },
		{ "ram", "a RAM disk" },
		{ "nbd", "a network block device" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(disk, known[i].prefix, strlen(known[i].prefix)))
			return known[i].what;
	return "not an NVMe device";
}

static int not_nvme(struct donard_context *ctx, const char *label, const char *disk)
{
	return dnd_fail(ctx, DND_E_NOT_NVME, "%s: %s is %s, not an NVMe drive", label, disk,
			describe(disk));
}

/* Folder of the disk below sysfs; a partition's folder lies in the disk's. */
static int disk_name(struct donard_context *ctx, const char *number,
		     struct dnd_blockdev *blockdev)
{
	if (dnd_sysfs_exists(ctx, "dev/block/%s/partition", number))
		return dnd_sysfs_link_name(ctx, blockdev->disk, sizeof(blockdev->disk),
					   "dev/block/%s/..", number);
	return dnd_sysfs_link_name(ctx, blockdev->disk, sizeof(blockdev->disk), "dev/block/%s",
				   number);
}

static int read_geometry(struct donard_context *ctx, const char *number,
			 struct dnd_blockdev *blockdev)
{
	uint64_t start = 0, sectors = 0, block = SECTOR_BYTES, request_kib = 0;
	int rc;

	dnd_sysfs_read_u64(ctx, &start, "dev/block/%s/start", number);
	rc = dnd_sysfs_read_u64(ctx, &sectors, "dev/block/%s/size", number);
	dnd_sysfs_read_u64(ctx, &block, "block/%s/queue/logical_block_size", blockdev->disk);
	dnd_sysfs_read_u64(ctx, &request_kib, "block/%s/queue/max_sectors_kb", blockdev->disk);
	blockdev->start_bytes = start * SECTOR_BYTES;
	blockdev->length_bytes = sectors * SECTOR_BYTES;
	blockdev->block_bytes = (uint32_t)block;
	blockdev->request_bytes = request_kib << 10;
	return rc;
}

static int add_controller(struct donard_context *ctx, const char *name, void *data)
{
	struct dnd_blockdev *blockdev = data;
	size_t count = blockdev->controller_count;
	char transport[16];

	dnd_sysfs_read(ctx, transport, sizeof(transport), "class/nvme/%s/transport", name);
	if (strcmp(transport, "pcie") || count == DND_CONTROLLERS ||
	    dnd_sysfs_read(ctx, blockdev->controllers[count], DONARD_BDF_BYTES,
			   "class/nvme/%s/address", name))
		return 0;
	blockdev->controller_count++;
	snprintf(blockdev->controller_names[count], sizeof(blockdev->controller_names[count]),
		 "%s", name);
	return 0;
}

/* Entries of a subsystem: "nvme0" is a controller, "nvme0n1" a head. */
static int add_if_controller(struct donard_context *ctx, const char *entry, void *data)
{
	unsigned int number;
	int used = 0;

	if (sscanf(entry, "nvme%u%n", &number, &used) != 1 || entry[used])
		return 0;
	return add_controller(ctx, entry, data);
}

static int find_controllers(struct donard_context *ctx, struct dnd_blockdev *blockdev)
{
	char parent[64], folder[PATH_MAX];

	if (dnd_sysfs_link_name(ctx, parent, sizeof(parent), "block/%s/device", blockdev->disk))
		return 0;
	if (strncmp(parent, "nvme-subsys", 11))
		return add_if_controller(ctx, parent, blockdev);
	snprintf(folder, sizeof(folder), "class/nvme-subsystem/%s", parent);
	return dnd_for_each_entry(ctx, folder, add_if_controller, blockdev);
}

int dnd_blockdev_resolve(struct donard_context *ctx, dev_t device, const char *label,
			 struct dnd_blockdev *blockdev)
{
	char number[32];
	int rc;

	memset(blockdev, 0, sizeof(*blockdev));
	snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
	rc = disk_name(ctx, number, blockdev);
	if (rc)
		return dnd_fail(ctx, DND_E_NOT_NVME, "%s: block device %s is not in sysfs", label,
				number);
	if (strncmp(blockdev->disk, "nvme", 4) || read_geometry(ctx, number, blockdev))
		return not_nvme(ctx, label, blockdev->disk);
	rc = find_controllers(ctx, blockdev);
	if (rc)
		return rc;
	if (!blockdev->controller_count)
		return dnd_fail(ctx, DND_E_NOT_NVME, "%s: %s has no PCIe controller (NVMe over "
				"fabrics?)", label, blockdev->disk);
	return 0;
}

static enum dnd_health controller_health(struct donard_context *ctx, const char *name)
{
	char state[32];

	if (dnd_sysfs_read(ctx, state, sizeof(state), "class/nvme/%s/state", name) ||
	    !strncmp(state, "deleting", strlen("deleting")) || !strcmp(state, "dead"))
		return DND_HEALTH_GONE;
	return strcmp(state, "live") ? DND_HEALTH_RESETTING : DND_HEALTH_LIVE;
}

enum dnd_health dnd_blockdev_health(struct donard_context *ctx,
				    const struct dnd_blockdev *blockdev)
{
	enum dnd_health best = DND_HEALTH_GONE, health;

	if (!dnd_sysfs_exists(ctx, "block/%s", blockdev->disk))
		return DND_HEALTH_GONE;
	for (size_t i = 0; i < blockdev->controller_count; i++) {
		health = controller_health(ctx, blockdev->controller_names[i]);
		if (health > best)
			best = health;
	}
	return best;
}

static bool same_disk(struct donard_context *ctx, dev_t device, const char *number)
{
	struct dnd_blockdev wanted = { 0 }, mounted = { 0 };
	char text[32];

	snprintf(text, sizeof(text), "%u:%u", major(device), minor(device));
	if (!strcmp(text, number))
		return true;
	if (disk_name(ctx, text, &wanted) || disk_name(ctx, number, &mounted))
		return false;
	/* A partition conflicts with its disk, not with its neighbours. */
	return !strcmp(wanted.disk, mounted.disk) &&
	       !dnd_sysfs_exists(ctx, "dev/block/%s/partition", text);
}

void dnd_blockdev_mount_point(struct donard_context *ctx, dev_t device, char *text,
			      size_t text_bytes)
{
	char line[2048], number[32], place[1024];
	FILE *mounts = fopen("/proc/self/mountinfo", "re");

	text[0] = '\0';
	if (!mounts)
		return;
	while (!text[0] && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*d %*d %31s %*s %1023s", number, place) == 2 &&
		    same_disk(ctx, device, number))
			snprintf(text, text_bytes, "%s", place);
	fclose(mounts);
}
