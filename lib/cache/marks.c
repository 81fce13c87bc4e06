// SPDX-License-Identifier: Apache-2.0
/* See marks.h. */
#include "cache/marks.h"

/* How many bytes of its window are in use as long as this record stays. */
static uint64_t used_with(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	uint64_t size = log->super.window_bytes;
	uint64_t from = record->data_at - log->super.data_at;
	uint64_t used = (log->windows[from / size].head + size - from % size) % size;

	return used ? used : size;
}

static unsigned int windows_over(const struct dnd_cache_log *log, uint64_t bytes)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < log->super.windows; i++)
		count += log->windows[i].used_bytes > bytes;
	return count;
}

/*
 * Looks behind the first @most records, too, until each window that is over the mark has come down to it: all records of such a
 * window may lie there.  A mark between two records, where bytes were skipped, is not noticed, which only takes longer.
 */
uint64_t dnd_cache_records_above(const struct dnd_cache_log *log, unsigned int percent, uint64_t most)
{
	uint64_t count = log->next - log->tail, may_stay = log->super.records * percent / 100;
	uint64_t above = count > may_stay ? count - may_stay : 0;
	uint64_t bytes = log->super.window_bytes * percent / 100;
	unsigned int over = windows_over(log, bytes);

	for (uint64_t i = 0; over && above < most && i < count; i++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, log->tail + i);
		uint64_t used = record->type == DND_CACHE_TRIM ? 0 : used_with(log, record);

		if (used <= bytes)
			continue;
		above = dnd_max(above, i + 1);
		over -= used <= bytes + record->length_bytes;
	}
	return dnd_min(above, most);
}
