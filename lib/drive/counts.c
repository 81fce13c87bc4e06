// SPDX-License-Identifier: Apache-2.0
/* The block layer's counts for a drive (Documentation/block/stat.rst). */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "donard/counts.h"

#define SECTOR_BYTES	512	/* the unit of these counts, whatever the drive's block size is */

/* A namespace with several paths.  Before Linux 6.4 its head counts nothing, and each path counts its own commands. */
struct paths {
	unsigned int subsystem, namespace;	/* "nvme0n1", whose paths are nvme0c0n1 and so on */
	struct donard_drive_counts *counts;
};

/* Adds the numbers of a stat file to @counts. */
static int parse(const char *text, struct donard_drive_counts *counts)
{
	unsigned long long reads, sectors_read, writes, sectors_written, in_flight;

	if (sscanf(text, "%llu %*u %llu %*u %llu %*u %llu %*u %llu", &reads, &sectors_read, &writes,
		   &sectors_written, &in_flight) != 5)
		return -EINVAL;
	counts->reads += reads;
	counts->writes += writes;
	counts->read_bytes += sectors_read * SECTOR_BYTES;
	counts->written_bytes += sectors_written * SECTOR_BYTES;
	counts->in_flight += in_flight;
	return 0;
}

static int add_path(struct donard_context *ctx, const char *disk, void *user)
{
	struct paths *paths = user;
	unsigned int subsystem, namespace;
	char text[512];

	if (sscanf(disk, "nvme%uc%*un%u", &subsystem, &namespace) != 2 || subsystem != paths->subsystem ||
	    namespace != paths->namespace)
		return 0;
	/* A path that has just gone away no longer counts. */
	if (!dnd_sysfs_read(ctx, text, sizeof(text), "block/%s/stat", disk))
		parse(text, paths->counts);
	return 0;
}

static bool counts_nothing(struct donard_context *ctx, const char *name)
{
	uint64_t on = 1;

	dnd_sysfs_read_u64(ctx, &on, "block/%s/queue/iostats", name);
	return !on;
}

static int add_paths(struct donard_context *ctx, const char *name, struct donard_drive_counts *counts)
{
	struct paths paths = { .counts = counts };

	/* From Linux 6.4 on the head itself counts what its paths do, and keeps that while iostats is 0. */
	if (counts->reads || counts->writes || !counts_nothing(ctx, name) ||
	    sscanf(name, "nvme%un%u", &paths.subsystem, &paths.namespace) != 2)
		return 0;
	return dnd_for_each_entry(ctx, "block", add_path, &paths);
}

/* Finds "nvme0n1" for that name, for its device node, or for a link to the node. */
static int name_of(struct donard_context *ctx, const char *given, char name[NAME_MAX])
{
	char target[PATH_MAX];
	const char *found = given;

	if (given[0] == '/') {
		if (!realpath(given, target))
			return dnd_fail_errno(ctx, errno, "%s", given);
		found = strrchr(target, '/') + 1;
	}
	if (!found[0] || strchr(found, '/') || snprintf(name, NAME_MAX, "%s", found) >= NAME_MAX)
		return dnd_fail(ctx, DND_E_BAD_NAME, "'%s' is not the name of a block device; they look like "
				"nvme0n1 or /dev/nvme0n1", given);
	return 0;
}

static int sum_up(struct donard_context *ctx, const char *name, struct donard_drive_counts *counts)
{
	char text[512];

	if (dnd_sysfs_read(ctx, text, sizeof(text), "block/%s/stat", name) || parse(text, counts))
		return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: there is no such drive. A partition has none "
				"of these counts, but its drive has; 'lsblk' lists drives.", name);
	return add_paths(ctx, name, counts);
}

/* A file that could not be opened for lack of descriptors says neither that the drive is gone nor that a path is. */
static int read_counts(struct donard_context *ctx, const char *name, struct donard_drive_counts *counts)
{
	unsigned int unread = dnd_sysfs_unread(ctx);

	return dnd_sysfs_check(ctx, unread, sum_up(ctx, name, counts));
}

DND_PUBLIC int donard_drive_counts(struct donard_context *ctx, const char *drive,
				   struct donard_drive_counts *counts)
{
	DND_USES(CONTEXT, ctx);
	struct donard_drive_counts found = { .size = sizeof(found) };
	char name[NAME_MAX];
	int rc = dnd_struct_check(ctx, counts, "donard_drive_counts");

	if (!rc)
		rc = name_of(ctx, drive, name);
	if (!rc)
		rc = read_counts(ctx, name, &found);
	if (rc)
		return rc;
	dnd_struct_give(counts, &found, sizeof(found));
	return 0;
}
