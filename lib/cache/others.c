// SPDX-License-Identifier: Apache-2.0
/* See others.h. */
#include "cache/others.h"
#include "region/region.h"

/* ---- one log ---- */

/*
 * Do the names mean bytes that may be the same ones: of one drive, or of a drive and what lies on it ("D" and "D,part=1,...")?
 * What was too long for an identity (dnd_backing_fit()) may be anywhere on the drive.
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
	bool claims = false;

	if (!dnd_cache_look_for_log(store, &super, &found) && found == DND_CACHE_FOUND_LOG &&
	    super.version == DND_CACHE_VERSION && may_share_bytes(super.drive_id, drive_id)) {
		claims = dnd_cache_open(ctx, store, &log) || log.next > log.tail;
		dnd_cache_close(&log);
	}
	dnd_failure_put_back(ctx, &before);
	return claims;
}

/* ---- all regions ---- */

/* Another region, which is read through its file, without a mapping. */
struct other {
	struct dnd_cache_store store;	/* first, so that the log's pointer to it is one to this */
	struct dnd_region region;
};

static int other_read(struct dnd_cache_store *store, uint64_t at, void *to, size_t length_bytes)
{
	const struct dnd_place place = { .region = &((struct other *)store)->region, .file_offset = at };

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

static int look_at(struct donard_context *ctx, const char *name, void *data)
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	const struct search *search = data;
	struct other other;
	bool claims;

	if (!strcmp(name, search->nvram))
		return 0;
	if (dnd_region_open(ctx, name, &other.region)) {
		dnd_failure_put_back(ctx, &before);
		return 0;
	}
	other.store = (struct dnd_cache_store){ .length_bytes = other.region.info.region_bytes, .read = other_read };
	claims = dnd_region_persistent(&other.region) &&
		 dnd_cache_claims_drive(ctx, &other.store, search->drive_id);
	dnd_region_close(&other.region);
	return claims ? refuse(ctx, name, search->drive_id) : 0;
}

int dnd_cache_check_others(struct donard_context *ctx, const char *nvram, const char *drive_id)
{
	struct search search = { .nvram = nvram, .drive_id = drive_id };

	return dnd_for_each_entry(ctx, "class/p2pmem", look_at, &search);
}
