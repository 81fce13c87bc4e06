// SPDX-License-Identifier: Apache-2.0
/*
 * DESTAGE: plans what to write to the drive so that the oldest records can be retired.
 *
 * Only the newest bytes of each block are written, and only if one of these records has them.
 * If a newer record has them, that record stays in the log until they are on the drive.  But a
 * flush waits for these records: a plan for it writes the newest bytes among these records,
 * even if a newer record outside of the plan replaces them.
 */
#include <stdlib.h>

#include "cache/log.h"

struct list {
	struct dnd_cache_run *runs;
	size_t count, room;
};

static int add(struct list *list, struct dnd_cache_run run)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct dnd_cache_run *runs = realloc(list->runs, room * sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		list->runs = runs;
		list->room = room;
	}
	list->runs[list->count++] = run;
	return 0;
}

static uint64_t blocks_of(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	return record->length_bytes / log->super.block_bytes;
}

/* Adds a run for each part of a record whose bytes are the newest. */
static int add_newest(const struct dnd_cache_log *log, const struct dnd_cache_blocks *newest,
		      const struct dnd_cache_record *record, struct list *list, uint64_t *coalesced_bytes)
{
	uint64_t at = record->drive_offset / log->super.block_bytes, end = at + blocks_of(log, record);
	struct dnd_cache_extent extent;
	int rc = 0;

	*coalesced_bytes += record->length_bytes;
	for (; !rc && at < end && dnd_cache_blocks_next(newest, at, end - at, &extent); at = extent.first + extent.count) {
		struct dnd_cache_run run = { .drive_offset = extent.first * log->super.block_bytes,
					     .length_bytes = extent.count * log->super.block_bytes };

		if (extent.sequence != record->sequence)
			continue;
		run.data_at = record->data_at + run.drive_offset - record->drive_offset;
		*coalesced_bytes -= run.length_bytes;
		rc = add(list, run);
	}
	return rc;
}

static int by_drive(const void *a, const void *b)
{
	const struct dnd_cache_run *left = a, *right = b;

	return (left->drive_offset > right->drive_offset) - (left->drive_offset < right->drive_offset);
}

/* Joins runs that are adjacent on the drive and in the NVRAM, up to @run_bytes. */
static void join(struct list *list, uint32_t run_bytes)
{
	size_t kept = 0;

	for (size_t i = 1; i < list->count; i++) {
		struct dnd_cache_run *last = &list->runs[kept];
		const struct dnd_cache_run *run = &list->runs[i];

		if (last->drive_offset + last->length_bytes == run->drive_offset &&
		    last->data_at + last->length_bytes == run->data_at &&
		    last->length_bytes + run->length_bytes <= run_bytes)
			last->length_bytes += run->length_bytes;
		else
			list->runs[++kept] = *run;
	}
	if (list->count)
		list->count = kept + 1;
}

/* Merges trims that overlap or are adjacent.  Their order does not matter, since all come before the writes. */
static void merge(struct list *trims)
{
	size_t kept = 0;

	if (!trims->count)
		return;
	qsort(trims->runs, trims->count, sizeof(*trims->runs), by_drive);
	for (size_t i = 1; i < trims->count; i++) {
		struct dnd_cache_run *last = &trims->runs[kept];
		const struct dnd_cache_run *run = &trims->runs[i];
		uint64_t end = run->drive_offset + run->length_bytes;

		if (run->drive_offset > last->drive_offset + last->length_bytes)
			trims->runs[++kept] = *run;
		else if (end > last->drive_offset + last->length_bytes)
			last->length_bytes = end - last->drive_offset;
	}
	trims->count = kept + 1;
}

/* Finds which of the plan's records has the newest bytes of each block. */
static int find_newest(const struct dnd_cache_log *log, uint64_t upto, struct dnd_cache_blocks *newest)
{
	int rc = dnd_cache_blocks_init(newest, upto + 1 - log->tail);

	for (uint64_t sequence = log->tail; sequence <= upto && !rc; sequence++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, sequence);
		uint64_t first = record->drive_offset / log->super.block_bytes, count = blocks_of(log, record);

		if (record->type == DND_CACHE_TRIM)
			dnd_cache_blocks_drop_range(newest, first, count);
		if (record->type == DND_CACHE_WRITE)
			dnd_cache_blocks_set(newest, first, count, sequence);
	}
	return rc;
}

static int collect(const struct dnd_cache_log *log, const struct dnd_cache_blocks *newest, struct dnd_cache_plan *plan,
		   struct list *trims, struct list *writes)
{
	int rc = 0;

	for (uint64_t sequence = log->tail; sequence <= plan->upto && !rc; sequence++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, sequence);

		if (record->type == DND_CACHE_WRITE)
			rc = add_newest(log, newest, record, writes, &plan->coalesced_bytes);
		else if (record->type == DND_CACHE_TRIM)
			rc = add(trims, (struct dnd_cache_run){ .drive_offset = record->drive_offset,
								.length_bytes = record->length_bytes });
	}
	return rc;
}

int dnd_cache_plan(struct dnd_cache_log *log, uint64_t records, uint32_t run_bytes, bool for_flush,
		   struct dnd_cache_plan *plan)
{
	struct list trims = { 0 }, writes = { 0 };
	struct dnd_cache_blocks own = { 0 };
	bool has_newer;		/* does the log have records behind the plan's? */
	int rc = dnd_cache_commit(log);

	memset(plan, 0, sizeof(*plan));
	if (rc)
		return rc;
	/* All records are durable now. */
	plan->upto = log->tail + dnd_min(records, log->next - log->tail) - 1;
	has_newer = plan->upto + 1 < log->next;
	if (for_flush && has_newer)
		rc = find_newest(log, plan->upto, &own);
	if (!rc)
		rc = collect(log, for_flush && has_newer ? &own : &log->blocks, plan, &trims, &writes);
	dnd_cache_blocks_free(&own);
	if (writes.count)
		qsort(writes.runs, writes.count, sizeof(*writes.runs), by_drive);
	join(&writes, run_bytes);
	merge(&trims);
	plan->trims = trims.runs;
	plan->trim_count = trims.count;
	plan->writes = writes.runs;
	plan->write_count = writes.count;
	for (size_t i = 0; i < writes.count; i++)
		plan->write_bytes += writes.runs[i].length_bytes;
	if (!rc)
		return 0;
	dnd_cache_plan_free(plan);
	return dnd_fail_memory(log->ctx);
}

void dnd_cache_plan_free(struct dnd_cache_plan *plan)
{
	free(plan->trims);
	free(plan->writes);
	memset(plan, 0, sizeof(*plan));
}
