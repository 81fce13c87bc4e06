// SPDX-License-Identifier: Apache-2.0
/* See others.h. */
#include <unistd.h>

#include "cache/others.h"
#include "region/region.h"

#define BUSY_TRIES	10
#define BUSY_MS		50

/* ---- one log ---- */

/*
 * May the two identities name the same bytes: those of one drive, or of a drive and a part of it ("D" and "D,part=1,...")?  One
 * that was too long and had to be cut (dnd_backing_fit()) may name any part of the drive.
 */
static bool may_share_bytes(const char *one, const char *other)
{
	size_t drive = strcspn(one, ","), length = dnd_min(strlen(one), strlen(other));

	if (strcspn(other, ",") != drive || strncmp(one, other, drive))
		return false;
	return strchr(one + drive, '#') || strchr(other + drive, '#') ||
	       (!strncmp(one, other, length) && strchr(",", one[length]) && strchr(",", other[length]));
}

int dnd_cache_claims_drive(struct donard_context *ctx, struct dnd_cache_store *store, const char *drive_id)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	enum dnd_cache_found found = DND_CACHE_FOUND_NOTHING;
	struct dnd_cache_super super;
	struct dnd_cache_log log;
	int rc = dnd_cache_look_for_log(store, &super, &found);

	if (rc || found != DND_CACHE_FOUND_LOG || super.version != DND_CACHE_VERSION || !may_share_bytes(super.drive_id, drive_id))
		return rc;
	rc = dnd_cache_open(ctx, store, &log);
	if (!rc)
		rc = log.next > log.tail;
	else if (rc != -EIO && rc != -ENODEV && !dnd_error_is_want(rc))
		rc = 1;
	dnd_cache_close(&log);
	dnd_failure_put_back(ctx, &before);
	return rc;
}

/* ---- all regions ---- */

/* Another region, which is read through its file, without a mapping. */
struct other {
	struct dnd_cache_store store;	/* first, so that a pointer to it is also one to this struct */
	struct dnd_region region;
};

static int other_read(struct dnd_cache_store *store, uint64_t at, void *to, size_t length_bytes)
{
	const struct dnd_place place = { .region = &((struct other *)store)->region, .file_offset = at };

	/* A region of one page has only the first superblock. */
	if (at >= store->length_bytes) {
		memset(to, 0, length_bytes);
		return 0;
	}
	return dnd_place_load(&place, to, length_bytes);
}

struct search {
	const char *nvram, *drive_id;
};

static int refuse(struct donard_context *ctx, const char *name, const char *drive_id)
{
	return dnd_fail(ctx, DND_E_HAS_DATA, "%s: it holds a log with records, or one that cannot be read, for the same drive, or for "
			"a part or the whole of it, %s: if they were served later, they would overwrite newer bytes. Serve that "
			"log first, until it has drained, with this region removed; or, if its records may be lost, overwrite it "
			"with zeros (dd if=/dev/zero of=/dev/%s bs=1M).", name, drive_id, name);
}

/*
 * A region lets nobody read memory that a pmem device has.  A log there cannot be served either, until the region is added with
 * other pages.
 */
static bool may_hold_log(const struct dnd_region *region)
{
	return dnd_region_persistent(region) && region->info.page_type != P2PMEM_PAGES_PMEM;
}

static int unreadable(struct donard_context *ctx, int rc)
{
	if (!dnd_error_is_want(rc))
		dnd_fail_more(ctx, " It was looked at because it may hold a log for the same drive. If it cannot be made readable, remove "
			      "it, and never serve a log out of it again.");
	return rc;
}

/*
 * These errors say that this process cannot use the region now: the user may not open it, it has no node here (or another file
 * is in the place of its node), it is being removed, or another process has it.  Any other error may be transient, so that the
 * region's log may be served again later.
 */
static bool may_be_passed_over(int rc)
{
	return rc == -EACCES || rc == -EPERM || rc == -ENODEV || rc == -ENOTTY || rc == -EBUSY;
}

/* Returns 1 if the region claims the drive, 0 if not, or -errno, which has a text unless it may be passed over. */
static int look_into(struct donard_context *ctx, const char *name, const char *drive_id)
{
	struct other other;
	int rc = dnd_region_open(ctx, name, &other.region);

	if (rc)
		return rc;
	if (may_hold_log(&other.region)) {
		other.store = (struct dnd_cache_store){ .length_bytes = other.region.info.region_bytes, .read = other_read };
		rc = dnd_cache_claims_drive(ctx, &other.store, drive_id);
		if (rc < 0 && !may_be_passed_over(rc))
			rc = dnd_region_access_failed(ctx, &other.region, -rc);
	}
	dnd_region_close(&other.region);
	return rc;
}

/*
 * Tries again after -EIO, because a reset is reported only once, and after -EBUSY.  A running server holds its region for long,
 * but another server that starts and looks at this region, too, holds what it reads for only some milliseconds.
 */
static int look_again(struct donard_context *ctx, const char *name, const char *drive_id)
{
	int rc = look_into(ctx, name, drive_id);

	if (rc == -EIO)
		rc = look_into(ctx, name, drive_id);
	for (int tries = 0; rc == -EBUSY && tries < BUSY_TRIES; tries++) {
		usleep(BUSY_MS * 1000);
		rc = look_into(ctx, name, drive_id);
	}
	return rc;
}

static int look_at(struct donard_context *ctx, const char *name, void *data)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	const struct search *search = data;
	int rc;

	if (!strcmp(name, search->nvram))
		return 0;
	rc = look_again(ctx, name, search->drive_id);
	if (rc > 0)
		return refuse(ctx, name, search->drive_id);
	if (rc && !may_be_passed_over(rc))
		return unreadable(ctx, rc);
	dnd_failure_put_back(ctx, &before);
	return 0;
}

int dnd_cache_check_others(struct donard_context *ctx, const char *nvram, const char *drive_id)
{
	struct search search = { .nvram = nvram, .drive_id = drive_id };

	return dnd_for_each_entry(ctx, "class/p2pmem", look_at, &search);
}
