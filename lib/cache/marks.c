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

uint64_t dnd_cache_records_above(const struct dnd_cache_log *log, unsigned int percent, uint64_t most)
{
	uint64_t count = log->next - log->tail, may_stay = log->super.records * percent / 100;
	uint64_t above = count > may_stay ? count - may_stay : 0;
	uint64_t bytes = log->super.window_bytes * percent / 100;

	most = dnd_min(most, count);
	for (uint64_t i = above; i < most; i++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, log->tail + i);

		if (record->type != DND_CACHE_TRIM && used_with(log, record) > bytes)
			above = i + 1;
	}
	return dnd_min(above, most);
}
