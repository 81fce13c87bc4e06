// SPDX-License-Identifier: Apache-2.0
/* Records of regions, from sysfs, and from INFO if the caller asks for that and may open the node. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "region/names.h"
#include "region/region.h"

#define LINES_BYTES	4096	/* the most that a sysfs file shows */
#define ALL_PARTS	(DONARD_REGION_NODE | DONARD_REGION_HOLDERS | DONARD_REGION_UNROUTED)

struct record {
	struct donard_region_info info;
	char name[P2PMEM_NAME_BYTES];
	char bdf[DONARD_BDF_BYTES];
	char holders[LINES_BYTES];
	bool holders_unseen;
	char unrouted[LINES_BYTES];
	bool unrouted_unseen;
	char pmem[32];
	char unknown[256];
};

struct donard_region_list {
	size_t count;
	struct record *records;
};

static void read_word(struct donard_context *ctx, struct record *record, char *to,
		      size_t to_bytes, const char *attribute)
{
	dnd_sysfs_read(ctx, to, to_bytes, "class/p2pmem/%s/%s", record->name, attribute);
}

static uint64_t read_number(struct donard_context *ctx, struct record *record,
			    const char *attribute)
{
	uint64_t value = 0;

	dnd_sysfs_read_u64(ctx, &value, "class/p2pmem/%s/%s", record->name, attribute);
	return value;
}

static void read_node(struct donard_context *ctx, struct record *record)
{
	struct dnd_failure before = dnd_failure_keep(ctx);	/* a node that cannot be opened is not a failure here */
	struct dnd_region region;

	if (record->info.state == DONARD_STATE_DRAINING ||
	    record->info.state == DONARD_STATE_QUARANTINED) {
		snprintf(record->unknown, sizeof(record->unknown), "the region is %s, and cannot be "
			 "opened any more", donard_region_state_text(record->info.state));
		return;
	}
	if (dnd_region_open(ctx, record->name, &region)) {
		snprintf(record->unknown, sizeof(record->unknown), "%.255s", donard_error(ctx));
		dnd_failure_put_back(ctx, &before);
		return;
	}
	record->info.granule_bytes = region.info.granule_bytes;
	record->info.bus_address = region.info.bus_address;
	dnd_region_close(&region);
}

/* Returns false if the region is still being added, or has gone: then some of its attributes are missing. */
static bool read_state(struct donard_context *ctx, struct record *record)
{
	char word[16];

	if (dnd_sysfs_read(ctx, word, sizeof(word), "class/p2pmem/%s/state", record->name))
		return false;
	record->info.state = dnd_region_state_of(word);
	return true;
}

/* True if @attribute exists but cannot be read: only root and the group may read it, or the region is going away. */
static bool unseen_lines(struct donard_context *ctx, const struct record *record, char lines[LINES_BYTES],
			 const char *attribute)
{
	int rc = dnd_sysfs_lines(ctx, lines, LINES_BYTES, "class/p2pmem/%s/%s", record->name, attribute);

	return rc && rc != -ENOENT;
}

static void read_parts(struct donard_context *ctx, struct record *record, unsigned int parts)
{
	if (parts & DONARD_REGION_HOLDERS)
		record->holders_unseen = unseen_lines(ctx, record, record->holders, "holders");
	else
		record->holders_unseen = true;
	if (parts & DONARD_REGION_UNROUTED)
		record->unrouted_unseen = unseen_lines(ctx, record, record->unrouted, "unrouted");
	else
		record->unrouted_unseen = true;
	if (parts & DONARD_REGION_NODE)
		read_node(ctx, record);
	else
		snprintf(record->unknown, sizeof(record->unknown), "nobody asked for it");
}

static void read_record(struct donard_context *ctx, struct record *record)
{
	struct donard_region_info *info = &record->info;
	char word[16];

	info->size = sizeof(*info);
	read_word(ctx, record, word, sizeof(word), "kind");
	info->kind = donard_region_kind_of(word);
	read_word(ctx, record, record->bdf, sizeof(record->bdf), "bdf");
	read_word(ctx, record, word, sizeof(word), "page_type");
	info->page_type = donard_page_type_of(word);
	read_word(ctx, record, word, sizeof(word), "memtype");
	info->memtype = donard_memtype_of(word);
	read_word(ctx, record, record->pmem, sizeof(record->pmem), "pmem");
	info->bar = (unsigned int)read_number(ctx, record, "bar");
	info->offset_bytes = read_number(ctx, record, "offset");
	info->folio_bytes = read_number(ctx, record, "folio_bytes");
	if (!info->folio_bytes)	/* an older module, which has only single pages */
		info->folio_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	info->size_bytes = read_number(ctx, record, "size");
	info->available_bytes = read_number(ctx, record, "available");
	info->persistent = read_number(ctx, record, "persistent") != 0;
	info->pinned_importers = read_number(ctx, record, "pinned_importers") != 0;
}

/* Call it only when the record will not move any more. */
static void point_at_strings(struct record *record)
{
	record->info.name = record->name;
	record->info.bdf = record->bdf;
	record->info.holders = record->holders_unseen ? NULL : record->holders;
	record->info.unknown = record->unknown;
	record->info.unrouted = record->unrouted_unseen ? NULL : record->unrouted;
	record->info.pmem = record->pmem;
}

static int append(struct donard_context *ctx, struct donard_region_list *list, const char *name)
{
	size_t bytes = (list->count + 1) * sizeof(*list->records);
	struct record *records = realloc(list->records, bytes);

	if (!records)
		return dnd_fail_memory(ctx);
	list->records = records;
	memset(&records[list->count], 0, sizeof(*records));
	snprintf(records[list->count].name, sizeof(records->name), "%s", name);
	list->count++;
	return 0;
}

struct scan {
	struct donard_region_list *list;
	const char *only;	/* NULL: all of them */
};

static int add_region(struct donard_context *ctx, const char *entry, void *data)
{
	struct scan *scan = data;

	if (dnd_region_number(entry) < 0 || (scan->only && strcmp(scan->only, entry)))
		return 0;
	return append(ctx, scan->list, entry);
}

/* Leaves out regions that are being added or have gone, also while their records were read. */
static void read_all(struct donard_context *ctx, struct donard_region_list *list, unsigned int parts)
{
	size_t whole = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct record *record = &list->records[whole];

		*record = list->records[i];
		if (!read_state(ctx, record))
			continue;
		read_record(ctx, record);
		if (!read_state(ctx, record))
			continue;
		read_parts(ctx, record, parts);
		point_at_strings(record);
		whole++;
	}
	list->count = whole;
}

static int list_regions(struct donard_context *ctx, struct donard_region_list **out,
			const char *only, unsigned int parts)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	struct donard_region_list *list;
	struct scan scan = { .only = only };
	int rc;

	rc = dnd_require_module(ctx);
	if (rc)
		return rc;
	list = calloc(1, sizeof(*list));
	if (!list)
		return dnd_fail_memory(ctx);
	scan.list = list;
	rc = dnd_for_each_entry(ctx, "class/p2pmem", add_region, &scan);
	if (!rc)
		read_all(ctx, list, parts);
	rc = dnd_sysfs_check(ctx, unread, rc);
	if (rc) {
		donard_region_list_free(list);
		return rc;
	}
	dnd_handle_made(DND_A_REGION_LIST, list, ctx);
	*out = list;
	return (int)list->count;
}

DND_PUBLIC int donard_region_list(struct donard_context *ctx, struct donard_region_list **list)
{
	DND_USES(CONTEXT, ctx);
	return list_regions(ctx, list, NULL, ALL_PARTS);
}

DND_PUBLIC int donard_region_list_parts(struct donard_context *ctx, unsigned int parts,
					struct donard_region_list **list)
{
	DND_USES(CONTEXT, ctx);
	if (parts & ~ALL_PARTS)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE("parts", parts & ~ALL_PARTS),
				       "unknown parts %#x of a region. Ask for those of "
				       "donard/donard.h.", parts);
	return list_regions(ctx, list, NULL, parts);
}

DND_PUBLIC int donard_region_find(struct donard_context *ctx, const char *name,
				  struct donard_region_list **list)
{
	DND_USES(CONTEXT, ctx);
	return dnd_region_find(ctx, name, ALL_PARTS, list);
}

int dnd_region_find(struct donard_context *ctx, const char *name, unsigned int parts, struct donard_region_list **list)
{
	char only[P2PMEM_NAME_BYTES];
	int rc = dnd_region_name(ctx, name, only);

	if (!rc)
		rc = list_regions(ctx, list, only, parts);	/* fails if the module is not loaded */
	if (rc < 0)
		return rc;
	if (rc == 1)
		return 0;
	donard_region_list_free(*list);
	*list = NULL;
	return dnd_fail(ctx, DND_E_NO_SUCH_REGION, "%s: there is no such region", only);
}

bool dnd_region_quarantined_of(struct donard_context *ctx, const char *bdf, char name[P2PMEM_NAME_BYTES])
{
	struct dnd_failure before = dnd_failure_keep(ctx);
	const struct donard_region_info *region;
	struct donard_region_list *list;
	bool found = false;

	if (list_regions(ctx, &list, NULL, 0) < 0) {
		dnd_failure_put_back(ctx, &before);
		return false;
	}
	for (size_t i = 0; !found && (region = donard_region_get(list, i)); i++) {
		found = region->state == DONARD_STATE_QUARANTINED && !strcmp(region->bdf, bdf);
		snprintf(name, P2PMEM_NAME_BYTES, "%s", region->name);
	}
	donard_region_list_free(list);
	return found;
}

DND_PUBLIC size_t donard_region_count(const struct donard_region_list *list)
{
	DND_DEMANDS(REGION_LIST, list);
	return list ? list->count : 0;
}

DND_PUBLIC const struct donard_region_info *
donard_region_get(const struct donard_region_list *list, size_t index)
{
	DND_DEMANDS(REGION_LIST, list);
	return list && index < list->count ? &list->records[index].info : NULL;
}

DND_PUBLIC void donard_region_list_free(struct donard_region_list *list)
{
	DND_LETS_GO(REGION_LIST, list);
	if (!list)
		return;
	free(list->records);
	dnd_handle_free(list, sizeof(*list));
}
