// SPDX-License-Identifier: Apache-2.0
/*
 * The uses of a block device: mounts, swap spaces, and the arrays and volumes that it is a leg of.  A namespace may have
 * several block devices (disk.h), and a use of any of them counts.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mounts.h"
#include "drive/blockdev.h"
#include "drive/disk.h"

bool dnd_blockdev_conflicts(struct donard_context *ctx, dev_t a, dev_t b)
{
	struct dnd_span span_a, span_b;

	return a == b || (!dnd_disk_span(ctx, a, &span_a) && !dnd_disk_span(ctx, b, &span_b) && dnd_spans_meet(&span_a, &span_b));
}

struct search {
	struct donard_context *ctx;
	dev_t device;
	struct dnd_span span;	/* of the device, unless that is not known */
	bool known;
	bool twins;
	dev_t seen;		/* the last device that was no hit: many mounts are of one */
	struct dnd_use *use;
};

static struct search search_for(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use)
{
	struct search search = { .ctx = ctx, .device = device, .twins = twins, .use = use };

	search.known = !dnd_disk_span(ctx, device, &search.span);
	*use = (struct dnd_use){ 0 };
	return search;
}

static void note(const struct search *search, const char *by, const char *as)
{
	snprintf(search->use->by, sizeof(search->use->by), "%s", by);
	if (as)
		snprintf(search->use->as, sizeof(search->use->as), " (as %s/%s)", search->ctx->dev_root, as);
}

static bool is_meant(const struct search *search, dev_t device, struct dnd_span *span)
{
	if (device == search->device)
		return !search->twins;
	return search->known && !dnd_disk_span(search->ctx, device, span) && dnd_spans_meet(&search->span, span) &&
	       (!search->twins || strcmp(span->disk, search->span.disk));
}

/* Is @device, which is in use as @by, what is searched for? */
static int look_at_user(struct search *search, dev_t device, const char *by)
{
	struct dnd_span span = search->span;
	char name[64];

	if (device == search->seen)
		return 0;
	search->seen = device;
	if (!is_meant(search, device, &span))
		return 0;
	if (dnd_sysfs_link_name(search->ctx, name, sizeof(name), "dev/block/%u:%u", major(device), minor(device)))
		snprintf(name, sizeof(name), "%s", span.disk);
	note(search, by, strcmp(span.disk, search->span.disk) ? name : NULL);
	return 1;
}

/* Another mount namespace may have other names, so what is not there is looked up in sysfs. */
static bool device_at(struct donard_context *ctx, const char *path, dev_t *device)
{
	const char *slash = strrchr(path, '/');
	struct statx st;

	/* Somebody else's path may be on a server that does not answer: nothing is asked of it. */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st))
		return !dnd_disk_number(ctx, device, "class/block/%s/dev", slash ? slash + 1 : path);
	*device = makedev(st.stx_rdev_major, st.stx_rdev_minor);
	return S_ISBLK(st.stx_mode);
}

struct volume {
	struct search *search;
	const char *place;
	char device[64];	/* "nvme0n1p2", which the mount names */
	char folder[PATH_MAX];	/* of all its devices */
};

static int look_at_member(struct donard_context *ctx, const char *entry, void *data)
{
	const struct volume *volume = data;
	dev_t device;

	return !dnd_disk_number(ctx, &device, "%s/%s/dev", volume->folder, entry) &&
	       look_at_user(volume->search, device, volume->place);
}

static int look_at_volume(struct donard_context *ctx, const char *entry, void *data)
{
	struct volume *volume = data;

	snprintf(volume->folder, sizeof(volume->folder), "fs/btrfs/%s/devices", entry);
	return dnd_sysfs_exists(ctx, "%s/%s", volume->folder, volume->device) &&
	       dnd_for_each_entry(ctx, volume->folder, look_at_member, volume) > 0;
}

/* If @device is one of several that a btrfs lies on, examines the others. */
static int look_at_others(struct search *search, dev_t device, const char *place)
{
	struct volume volume = { .search = search, .place = place };

	return !dnd_sysfs_link_name(search->ctx, volume.device, sizeof(volume.device), "dev/block/%u:%u", major(device),
				    minor(device)) &&
	       dnd_for_each_entry(search->ctx, "fs/btrfs", look_at_volume, &volume) > 0;
}

/* The names of several devices, as bcachefs has them: "/dev/nvme0n1:/dev/nvme1n1" */
static int look_at_named(struct search *search, const struct dnd_mount *mount)
{
	char names[PATH_MAX], *next = names, *name;
	dev_t device;

	snprintf(names, sizeof(names), "%s", mount->source);
	while ((name = strsep(&next, ":")))
		if (name[0] == '/' && device_at(search->ctx, name, &device) && look_at_user(search, device, mount->place))
			return 1;
	return 0;
}

/* XFS may have its log, and data of files, on devices that only its options name. */
static int look_at_option(struct search *search, const struct dnd_mount *mount, const char *name)
{
	char path[PATH_MAX];
	dev_t device;

	return dnd_mount_value(mount, name, path, sizeof(path)) && device_at(search->ctx, path, &device) &&
	       look_at_user(search, device, mount->place);
}

/* btrfs and bcachefs have a number of no device, and name one that they lie on, or all. */
static int look_at_mount(void *user, const struct dnd_mount *mount)
{
	struct search *search = user;
	dev_t device;

	if (mount->major_number)
		return look_at_user(search, makedev(mount->major_number, mount->minor_number), mount->place) ||
		       look_at_option(search, mount, "logdev=") || look_at_option(search, mount, "rtdev=");
	if (mount->source[0] != '/')
		return 0;
	if (strstr(mount->source, ":/"))
		return look_at_named(search, mount);
	if (!device_at(search->ctx, mount->source, &device))
		return 0;
	return look_at_user(search, device, mount->place) || look_at_others(search, device, mount->place);
}

int dnd_use_mount(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use)
{
	struct search search = search_for(ctx, device, twins, use);
	int rc = dnd_mounts_each(look_at_mount, &search);

	return rc < 0 ? rc : 0;
}

static int look_at_swap(void *user, const char *path)
{
	struct search *search = user;
	dev_t device;

	return device_at(search->ctx, path, &device) && look_at_user(search, device, path);
}

void dnd_use_swap(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use)
{
	struct search search = search_for(ctx, device, twins, use);

	dnd_swaps_each(look_at_swap, &search);
}

/* A journal inside of its file system, such as "nvme0n1-8", has no name of a device. */
static bool look_at_journal(struct search *search, const char *entry)
{
	dev_t device;

	return !dnd_disk_number(search->ctx, &device, "class/block/%s/dev", entry) && look_at_user(search, device, entry);
}

void dnd_use_journal(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use)
{
	struct search search = search_for(ctx, device, twins, use);
	glob_t found = { 0 };

	if (!glob(DND_JBD2 "/*", GLOB_NOSORT, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc && !look_at_journal(&search, strrchr(found.gl_pathv[i], '/') + 1); i++)
			;
	globfree(&found);
}

struct holders {
	const struct search *search;
	const char *folder;	/* "dev/block/259:0" */
	const char *as;		/* the device's name, if it is a twin; or NULL */
};

static int note_holder(struct donard_context *ctx, const char *entry, void *data)
{
	const struct holders *holders = data;

	(void)ctx;
	note(holders->search, entry, holders->as);
	return 1;
}

static int look_at_folder(struct donard_context *ctx, const struct holders *holders)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/holders", holders->folder);
	return dnd_for_each_entry(ctx, folder, note_holder, (void *)holders);
}

static int look_at_partition(struct donard_context *ctx, const char *entry, void *data)
{
	const struct holders *disk = data;
	char folder[PATH_MAX];
	struct holders partition = { .search = disk->search, .folder = folder };

	snprintf(folder, sizeof(folder), "%s/%s", disk->folder, entry);
	return dnd_sysfs_exists(ctx, "%s/partition", folder) ? look_at_folder(ctx, &partition) : 0;
}

static int look_at_twin(struct donard_context *ctx, const char *folder, void *data)
{
	const struct holders twin = { .search = data, .folder = folder, .as = strrchr(folder, '/') + 1 };

	return look_at_folder(ctx, &twin);
}

/*
 * Examines the whole disk of a partition: the holder of a disk holds its partitions, too, and the kernel refuses them to
 * others.
 */
static int look_at_disk(struct donard_context *ctx, const struct holders *partition)
{
	const struct search *search = partition->search;
	char folder[80];
	const struct holders disk = { .search = search, .folder = folder, .as = search->known ? search->span.disk : NULL };

	snprintf(folder, sizeof(folder), "%s/..", partition->folder);
	return dnd_sysfs_exists(ctx, "%s/partition", partition->folder) ? look_at_folder(ctx, &disk) : 0;
}

void dnd_use_holder(struct donard_context *ctx, dev_t device, bool twins, struct dnd_use *use)
{
	struct search search = search_for(ctx, device, twins, use);
	char folder[64];
	struct holders holders = { .search = &search, .folder = folder };

	snprintf(folder, sizeof(folder), "dev/block/%u:%u", major(device), minor(device));
	if (!twins && (look_at_folder(ctx, &holders) > 0 || dnd_for_each_entry(ctx, folder, look_at_partition, &holders) > 0 ||
		       look_at_disk(ctx, &holders) > 0))
		return;
	dnd_for_each_twin(ctx, device, look_at_twin, &search);
}
