// SPDX-License-Identifier: Apache-2.0
/*
 * The table of a device-mapper device.  The kernel shows it only to a process with
 * CAP_SYS_ADMIN (ctl_ioctl() in drivers/md/dm-ioctl.c).  Sysfs shows the name, the
 * UUID and the devices below, but not the types of the targets.  A UUID ("LVM-",
 * "CRYPT-") is what some program chose to write, and proves nothing.
 *
 * Sysfs does show everybody whether a target is in use at all.  A table holds a
 * reference to the module of each of its targets (get_target_type() in
 * drivers/md/dm-target.c).  If no module other than dm_mod has a user, all tables of
 * the machine use only the targets of dm_mod itself: linear, striped and error.
 */
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "drive/stack.h"

#define SECTOR_BYTES	512
#define FIRST_BYTES	(16U << 10)
#define MOST_BYTES	(1U << 20)

static struct dm_ioctl *ask(int fd, dev_t device, uint32_t bytes)
{
	struct dm_ioctl *io = calloc(1, bytes);

	if (!io)
		return NULL;
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = bytes;
	io->data_start = sizeof(*io);
	io->flags = DM_STATUS_TABLE_FLAG;
	io->dev = device;
	if (!ioctl(fd, DM_TABLE_STATUS, io))
		return io;
	free(io);
	return NULL;
}

static int each_target(const struct dm_ioctl *io, dnd_dm_target_fn fn, void *user)
{
	const char *data = (const char *)io + io->data_start;
	const struct dm_target_spec *spec;
	uint32_t at = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < io->target_count; i++) {
		struct dnd_dm_target target;

		spec = (const struct dm_target_spec *)(data + at);
		target.start_bytes = spec->sector_start * SECTOR_BYTES;
		target.length_bytes = spec->length * SECTOR_BYTES;
		snprintf(target.type, sizeof(target.type), "%.15s", spec->target_type);
		target.parameters = (const char *)(spec + 1);
		rc = fn(user, &target);
		at = spec->next;
	}
	return rc;
}

static int read_table(int fd, dev_t device, dnd_dm_target_fn fn, void *user)
{
	struct dm_ioctl *io;
	int rc = -E2BIG;

	for (uint32_t bytes = FIRST_BYTES; bytes <= MOST_BYTES; bytes *= 4) {
		io = ask(fd, device, bytes);
		if (!io)
			return errno ? -errno : -ENOMEM;
		if (!(io->flags & DM_BUFFER_FULL_FLAG))
			rc = each_target(io, fn, user);
		free(io);
		if (rc != -E2BIG)
			break;
	}
	return rc;
}

int dnd_dm_table(const struct donard_context *ctx, dev_t device, dnd_dm_target_fn fn, void *user)
{
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/mapper/control", ctx->dev_root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = read_table(fd, device, fn, user);
	close(fd);
	return rc;
}

/* Parses "259:1 2048".  Returns the text behind it, or NULL. */
static const char *take_device(const char *text, struct dnd_dm_device *device)
{
	unsigned long long sector;
	int used = 0;

	if (sscanf(text, " %15[0-9:] %llu%n", device->number, &sector, &used) != 2)
		return NULL;
	device->from_bytes = sector * SECTOR_BYTES;
	return text + used;
}

int dnd_dm_devices(const struct dnd_dm_target *target, struct dnd_dm_device *devices, int max,
		   uint64_t *chunk_bytes)
{
	const char *rest = target->parameters;
	unsigned long long chunk = 0;
	int count = 1, used = 0;

	if (!strcmp(target->type, "striped")) {
		if (sscanf(rest, "%d %llu%n", &count, &chunk, &used) != 2 || count < 1 || !chunk)
			return -EINVAL;
		rest += used;
	}
	if (count > max)
		return -E2BIG;
	for (int i = 0; i < count; i++) {
		rest = take_device(rest, &devices[i]);
		if (!rest)
			return -EINVAL;
	}
	*chunk_bytes = chunk * SECTOR_BYTES;
	return count;
}

static int count_entry(struct donard_context *ctx, const char *entry, void *data)
{
	(void)ctx;
	(void)entry;
	*(uint64_t *)data += 1;
	return 0;
}

/* Clears the flag at @data if anything but other modules uses this module. */
static int look_at_module(struct donard_context *ctx, const char *module, void *data)
{
	uint64_t references = UINT64_MAX, modules = 0;
	char folder[PATH_MAX];
	int rc;

	snprintf(folder, sizeof(folder), "module/%s/holders", module);
	dnd_sysfs_read_u64(ctx, &references, "module/%s/refcnt", module);
	rc = dnd_for_each_entry(ctx, folder, count_entry, &modules);
	if (rc || references > modules)
		*(bool *)data = false;
	return 0;
}

bool dnd_dm_all_plain(struct donard_context *ctx)
{
	bool plain = true;

	/* Targets that are built into the kernel count no users. */
	if (!dnd_sysfs_exists(ctx, "module/dm_mod/refcnt"))
		return false;
	if (dnd_for_each_entry(ctx, "module/dm_mod/holders", look_at_module, &plain))
		return false;
	return plain;
}
