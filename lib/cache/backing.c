// SPDX-License-Identifier: Apache-2.0
/* See backing.h. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cache/backing.h"
#include "cache/log.h"

#define DRIVE_BYTES	80	/* limits the drive's name, so that identities of the drive and its partitions begin alike */
#define NAME_BYTES	256	/* for the drive's name; the longest, of an NVMe namespace without EUI, has 143 */

static int read_identity(struct donard_context *ctx, const char *disk, char *text, size_t bytes)
{
	static const char *const places[] = { "wwid", "device/wwid", "dm/uuid", "md/uuid" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!dnd_sysfs_read(ctx, text, bytes, "class/block/%s/%s", disk, places[i]) && *text)
			return 0;
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the kernel has no lasting name for it (wwid), without which a "
			"swapped drive would go unnoticed. Use another drive.", disk);
}

void dnd_backing_fit(const char *text, char *identity, size_t bytes)
{
	size_t length = strlen(text), kept = bytes - sizeof("#00000000");

	if (length < bytes)
		snprintf(identity, bytes, "%s", text);
	else
		snprintf(identity, bytes, "%.*s#%08x", (int)kept, text, dnd_cache_checksum(0, text, length));
}

/* Appends ",part=1,start=2048" if the device is a partition: its number alone may be reused for another part of the drive. */
static void add_partition(const struct donard_context *ctx, dev_t device, char *text, size_t bytes)
{
	size_t used = strlen(text);
	uint64_t part, start = 0;

	if (dnd_sysfs_read_u64(ctx, &part, "dev/block/%u:%u/partition", major(device), minor(device)))
		return;
	dnd_sysfs_read_u64(ctx, &start, "dev/block/%u:%u/start", major(device), minor(device));
	snprintf(text + used, bytes - used, ",part=%llu,start=%llu", (unsigned long long)part, (unsigned long long)start);
}

/* The number of an inode is reused for later files, so its birth time is added. */
static int add_file(struct donard_context *ctx, const struct donard_file_info *info, char *text, size_t bytes)
{
	size_t used = strlen(text);
	struct statx st;

	if (statx(info->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st))
		return dnd_fail_errno(ctx, errno, "%s", info->path);
	used += (size_t)snprintf(text + used, bytes - used, ",inode=%llu", (unsigned long long)st.stx_ino);
	if (st.stx_mask & STATX_BTIME)
		snprintf(text + used, bytes - used, ",born=%lld.%09u", (long long)st.stx_btime.tv_sec,
			 st.stx_btime.tv_nsec);
	return 0;
}

int dnd_backing_identity(struct donard_context *ctx, const struct donard_file_info *info,
			 char identity[DND_CACHE_DRIVE_ID_BYTES])
{
	bool is_file = info->kind == DONARD_FILE_KIND_REGULAR;
	char name[NAME_BYTES], text[DRIVE_BYTES + 128];
	struct stat st;
	int rc = read_identity(ctx, info->disk, name, sizeof(name));

	if (rc)
		return rc;
	dnd_backing_fit(name, text, DRIVE_BYTES);
	if (fstat(info->fd, &st))
		return dnd_fail_errno(ctx, errno, "%s", info->path);
	if (is_file || info->kind == DONARD_FILE_KIND_PARTITION)
		add_partition(ctx, is_file ? st.st_dev : st.st_rdev, text, sizeof(text));
	if (is_file)
		rc = add_file(ctx, info, text, sizeof(text));
	if (!rc)
		dnd_backing_fit(text, identity, DND_CACHE_DRIVE_ID_BYTES);
	return rc;
}
