// SPDX-License-Identifier: Apache-2.0
/* Regions as records: sysfs, plus INFO where the node may be opened. */
#include <stdio.h>
#include <stdlib.h>

#include "region/names.h"
#include "region/region.h"

struct record {
	struct donard_region_info info;
	char name[P2PMEM_NAME_BYTES];
	char bdf[DONARD_BDF_BYTES];
	char holders[4096];
	bool holders_hidden;
	char unrouted[4096];
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
	struct dnd_failure before = dnd_failure_keep(ctx);	/* a closed node is none here */
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
	read_word(ctx, record, word, sizeof(word), "state");
	info->state = dnd_region_state_of(word);
	record->holders_hidden = dnd_sysfs_read(ctx, record->holders, sizeof(record->holders),
						"class/p2pmem/%s/holders", record->name) == -EACCES;
	read_word(ctx, record, record->unrouted, sizeof(record->unrouted), "unrouted");
	info->bar = (unsigned int)read_number(ctx, record, "bar");
	info->size_bytes = read_number(ctx, record, "size");
	info->available_bytes = read_number(ctx, record, "available");
	info->persistent = read_number(ctx, record, "persistent") != 0;
	info->pinned_importers = read_number(ctx, record, "pinned_importers") != 0;
	read_node(ctx, record);
}

/* Only after the array stopped moving. */
static void point_at_strings(struct record *record)
{
	record->info.name = record->name;
	record->info.bdf = record->bdf;
	record->info.holders = record->holders_hidden ? NULL : record->holders;
	record->info.unknown = record->unknown;
	record->info.unrouted = record->unrouted;
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

static int list_regions(struct donard_context *ctx, struct donard_region_list **out,
			const char *only)
{
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
	if (rc) {
		donard_region_list_free(list);
		return rc;
	}
	for (size_t i = 0; i < list->count; i++) {
		read_record(ctx, &list->records[i]);
		point_at_strings(&list->records[i]);
	}
	*out = list;
	return (int)list->count;
}

DND_PUBLIC int donard_region_list(struct donard_context *ctx, struct donard_region_list **list)
{
	return list_regions(ctx, list, NULL);
}

DND_PUBLIC int donard_region_find(struct donard_context *ctx, const char *name,
				  struct donard_region_list **list)
{
	char only[P2PMEM_NAME_BYTES];
	int rc = dnd_region_name(ctx, name, only);

	if (!rc)
		rc = list_regions(ctx, list, only);	/* which asks for the module */
	if (rc < 0)
		return rc;
	if (rc == 1)
		return 0;
	donard_region_list_free(*list);
	*list = NULL;
	return dnd_fail(ctx, DND_E_NO_SUCH_REGION, "%s: there is no such region", only);
}

DND_PUBLIC size_t donard_region_count(const struct donard_region_list *list)
{
	return list ? list->count : 0;
}

DND_PUBLIC const struct donard_region_info *
donard_region_get(const struct donard_region_list *list, size_t index)
{
	return list && index < list->count ? &list->records[index].info : NULL;
}

DND_PUBLIC void donard_region_list_free(struct donard_region_list *list)
{
	if (!list)
		return;
	free(list->records);
	free(list);
}
