// SPDX-License-Identifier: Apache-2.0
/* APPEND, BARRIER, TAIL and REUSE.  log.h has the order. */
#include <stdlib.h>

#include "cache/log.h"

/* ---- windows ---- */

unsigned int dnd_cache_window_of(const struct dnd_cache_log *log, uint64_t data_at)
{
	return (unsigned int)((data_at - log->super.data_at) / log->super.window_bytes);
}

uint64_t dnd_cache_window_at(const struct dnd_cache_log *log, unsigned int window)
{
	return log->super.data_at + window * log->super.window_bytes;
}

bool dnd_cache_window_empty(const struct dnd_cache_log *log, unsigned int window)
{
	return !log->windows[window].used_bytes;
}

void dnd_cache_window_reset(struct dnd_cache_log *log, unsigned int window)
{
	if (dnd_cache_window_empty(log, window))
		log->windows[window].head = 0;
}

uint64_t dnd_cache_window_room(const struct dnd_cache_log *log, unsigned int number)
{
	const struct dnd_cache_window *window = &log->windows[number];
	uint64_t size = log->super.window_bytes;
	uint64_t room = size - window->used_bytes, to_end = size - window->head;

	if (!window->used_bytes)
		return size;
	if (room <= to_end)
		return room;
	return dnd_max(to_end, room - to_end);
}

static void advance(const struct dnd_cache_log *log, struct dnd_cache_window *window, uint64_t at,
		    uint64_t length)
{
	uint64_t size = log->super.window_bytes;

	/* Between the head and these bytes lie bytes skipped at the window's end, or those of a refused write. */
	if (window->records)
		window->used_bytes += (at + size - window->head) % size + length;
	window->head = (at + length) % size;
}

void dnd_cache_skip(struct dnd_cache_log *log, const struct dnd_cache_entry *entry)
{
	advance(log, &log->windows[entry->window], entry->at, entry->length_bytes);
}

bool dnd_cache_lies_over(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	unsigned int number = dnd_cache_window_of(log, record->data_at);
	const struct dnd_cache_window *window = &log->windows[number];
	uint64_t size = log->super.window_bytes, at = record->data_at - dnd_cache_window_at(log, number);
	uint64_t skipped = (at + size - window->head) % size;

	return window->records && window->used_bytes + skipped + record->length_bytes > size;
}

static void window_take(struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	unsigned int number = dnd_cache_window_of(log, record->data_at);
	struct dnd_cache_window *window = &log->windows[number];
	uint64_t at = record->data_at - dnd_cache_window_at(log, number);

	if (!window->records)
		window->used_bytes = record->length_bytes;
	advance(log, window, at, record->length_bytes);
	window->records++;
}

/* Records are retired in the order in which they came, so the oldest bytes of a window are freed first. */
static void window_give_back(struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	unsigned int number = dnd_cache_window_of(log, record->data_at);
	struct dnd_cache_window *window = &log->windows[number];
	uint64_t size = log->super.window_bytes;
	uint64_t end = record->data_at + record->length_bytes - dnd_cache_window_at(log, number);

	window->records--;
	window->used_bytes = window->records ? (window->head + size - end % size) % size : 0;
}

/* ---- a record in the NVRAM ---- */

static void take_blocks(struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	uint64_t first = record->drive_offset / log->super.block_bytes;
	uint64_t count = record->length_bytes / log->super.block_bytes;

	if (record->type == DND_CACHE_TRIM)
		dnd_cache_blocks_drop_range(&log->blocks, first, count);
	if (record->type == DND_CACHE_WRITE)
		dnd_cache_blocks_set(&log->blocks, first, count, record->sequence);
}

void dnd_cache_take(struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	*dnd_cache_record(log, record->sequence) = *record;
	if (record->type != DND_CACHE_TRIM)
		window_take(log, record);
	log->voids += record->type == DND_CACHE_VOID;
	take_blocks(log, record);
	log->next = record->sequence + 1;
}

/* ---- append ---- */

int dnd_cache_break(struct dnd_cache_log *log)
{
	log->broken = true;
	return dnd_fail(log->ctx, DND_E_DEVICE, "the NVRAM failed: nothing is acknowledged any more. %s; start the cache again "
			"once the device works.", log->store->is_volatile ?
			"It is volatile: what was acknowledged, and not flushed to the drive, may be lost" :
			"What was acknowledged before is kept");
}

static int check_range(struct dnd_cache_log *log, const struct dnd_cache_entry *entry)
{
	uint32_t block = log->super.block_bytes;

	if (entry->type != DND_CACHE_TRIM &&
	    (entry->type != DND_CACHE_WRITE || entry->window >= log->super.windows))
		return dnd_fail(log->ctx, DND_E_BAD_OPTION, "no record can be of type %u and window %u",
				entry->type, entry->window);
	if (!entry->length_bytes || entry->drive_offset % block || entry->length_bytes % block)
		return dnd_fail_member(log->ctx, DND_E_ALIGNMENT, dnd_unaligned(entry->drive_offset, entry->length_bytes, block),
				       "%llu bytes at %llu are not whole blocks of %u bytes",
				       (unsigned long long)entry->length_bytes,
				       (unsigned long long)entry->drive_offset, block);
	if (!dnd_range_fits(entry->drive_offset, entry->length_bytes, log->super.drive_bytes))
		return dnd_fail_member(log->ctx, DND_E_PAST_END,
				       dnd_past_end(entry->drive_offset, entry->length_bytes, log->super.drive_bytes),
				       "%llu bytes at %llu are past the end of the drive, "
				       "which has %llu", (unsigned long long)entry->length_bytes,
				       (unsigned long long)entry->drive_offset,
				       (unsigned long long)log->super.drive_bytes);
	return 0;
}

/* A client may write only its own window, and only at the next place, so that it overwrites nothing in the log. */
int dnd_cache_check_turn(struct dnd_cache_log *log, const struct dnd_cache_entry *entry)
{
	uint64_t size = log->super.window_bytes, length = entry->length_bytes;
	const struct dnd_cache_window *window = &log->windows[entry->window];
	uint64_t room = size - window->used_bytes, to_end = size - window->head;
	uint64_t head = length > to_end ? 0 : window->head;
	uint64_t skipped = length > to_end && window->used_bytes ? to_end : 0;

	if (length <= size && entry->at == head && skipped + length <= room)
		return 0;
	return dnd_fail(log->ctx, DND_E_PROTOCOL, "a client wrote %llu bytes at %llu of its window, and its turn is at %llu, with room "
			"for %llu in all", (unsigned long long)length, (unsigned long long)entry->at,
			(unsigned long long)head,
			(unsigned long long)dnd_cache_window_room(log, entry->window));
}

static void fill(const struct dnd_cache_log *log, const struct dnd_cache_entry *entry,
		 struct dnd_cache_record *record)
{
	*record = (struct dnd_cache_record){
		.type = entry->type,
		.identity = log->super.identity,
		.sequence = log->next,
		.durable = log->durable,
		.drive_offset = entry->drive_offset,
		.length_bytes = entry->length_bytes,
		.epoch = log->epoch,
	};
	if (entry->type == DND_CACHE_WRITE) {
		record->data_at = dnd_cache_window_at(log, entry->window) + entry->at;
		record->data_checksum = entry->checksum;
	}
	record->checksum = dnd_cache_record_checksum(record);
}

int dnd_cache_append(struct dnd_cache_log *log, const struct dnd_cache_entry *entry,
		     uint64_t *sequence)
{
	struct dnd_cache_record record;
	int rc = check_range(log, entry);

	if (!rc && entry->type == DND_CACHE_WRITE)
		rc = dnd_cache_check_turn(log, entry);
	if (rc)
		return rc;
	if (log->broken)
		return dnd_cache_break(log);
	if (log->next - log->tail == log->super.records)
		return -EAGAIN;
	fill(log, entry, &record);
	*sequence = record.sequence;
	dnd_cache_take(log, &record);
	return 0;
}

/* Up to the end of the ring, consecutive records are contiguous in DRAM and in the NVRAM, so a group takes one write. */
static int write_records(struct dnd_cache_log *log)
{
	uint64_t places = log->super.records;

	while (log->written + 1 < log->next) {
		uint64_t first = log->written + 1;
		uint64_t count = dnd_min(log->next - first, places - first % places);
		int rc = log->store->write(log->store, dnd_cache_record_at(&log->super, first),
					   dnd_cache_record(log, first),
					   count * sizeof(struct dnd_cache_record));

		if (rc)
			return rc;
		log->written += count;
	}
	return 0;
}

int dnd_cache_commit(struct dnd_cache_log *log)
{
	if (log->broken)
		return dnd_cache_break(log);
	if (log->durable == log->next - 1)
		return 0;
	if (write_records(log) || log->store->barrier(log->store))
		return dnd_cache_break(log);
	log->durable = log->written;
	return 0;
}

int dnd_cache_ask(struct dnd_cache_log *log)
{
	return log->broken || log->store->barrier(log->store) ? dnd_cache_break(log) : 0;
}

/* ---- the tail ---- */

int dnd_cache_write_tail(struct dnd_cache_store *store, const struct dnd_cache_super *super,
			 unsigned int copy, struct dnd_cache_tail tail)
{
	int rc;

	tail.identity = super->identity;
	tail.checksum = dnd_cache_tail_checksum(&tail);
	rc = store->write(store, DND_CACHE_TAIL_AT(copy), &tail, sizeof(tail));
	return rc ? rc : store->barrier(store);
}

/* The other copy keeps the former tail until this one is durable. */
static int move_tail(struct dnd_cache_log *log, struct dnd_cache_tail tail)
{
	if (log->broken)
		return dnd_cache_break(log);
	if (dnd_cache_write_tail(log->store, &log->super, log->tail_copy, tail))
		return dnd_cache_break(log);
	log->tail_copy = (log->tail_copy + 1) % DND_CACHE_COPIES;
	log->epoch = tail.epoch;
	log->begun = tail.begun;
	return 0;
}

uint64_t dnd_cache_next_void(const struct dnd_cache_log *log, uint64_t sequence)
{
	while (sequence < log->next && dnd_cache_record(log, sequence)->type != DND_CACHE_VOID)
		sequence++;
	return sequence;
}

/*
 * The next record will say that the void records were durable, so by then the NVRAM must say that they are void.  The
 * type and the checksum are one piece of 8 bytes, which a power cut leaves either old or new.
 */
static int mark_voids(struct dnd_cache_log *log)
{
	uint64_t sequence = dnd_cache_next_void(log, log->tail);

	for (; sequence < log->next; sequence = dnd_cache_next_void(log, sequence + 1)) {
		struct dnd_cache_record *record = dnd_cache_record(log, sequence);

		record->checksum = dnd_cache_record_checksum(record);
		if (log->store->write(log->store, dnd_cache_record_at(&log->super, sequence), record,
				      offsetof(struct dnd_cache_record, identity)))
			return dnd_cache_break(log);
	}
	return 0;
}

/*
 * A killed server may have left bytes that recovery has read, but that a power cut would still lose.  If the
 * other copy of the tail or a new epoch were written before these bytes are durable, a power cut could leave
 * no tail at all, or an older record in the place of one on which this epoch builds.
 */
static int keep_what_was_read(struct dnd_cache_log *log)
{
	if (!log->store->barrier(log->store))
		return 0;
	return dnd_cache_break(log);
}

/*
 * Rewrites a copy of the superblock that is not whole, since the log would be lost if the other copy were damaged as well.  A
 * power cut may tear what is written here, but the other copy was read, so it is whole, and durable by now.  The barrier of the
 * tail makes this write durable, too.
 */
static int mend_super(struct dnd_cache_log *log)
{
	struct dnd_cache_super there;
	int rc = 0;

	for (unsigned int copy = 0; copy < DND_CACHE_COPIES && !rc; copy++) {
		rc = log->store->read(log->store, DND_CACHE_SUPER_AT(copy), &there, sizeof(there));
		if (!rc && memcmp(&there, &log->super, sizeof(there)))
			rc = log->store->write(log->store, DND_CACHE_SUPER_AT(copy), &log->super, sizeof(log->super));
	}
	return rc ? dnd_cache_break(log) : 0;
}

int dnd_cache_begin(struct dnd_cache_log *log)
{
	int rc = keep_what_was_read(log);

	if (!rc)
		rc = mend_super(log);
	if (!rc)
		rc = mark_voids(log);
	if (rc)
		return rc;
	rc = move_tail(log, (struct dnd_cache_tail){
		.sequence = log->tail, .epoch = log->epoch + 1, .begun = log->next,
	});
	if (rc)
		return rc;
	log->durable = log->written;
	return 0;
}

static void forget_blocks(struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	uint64_t first = record->drive_offset / log->super.block_bytes;
	uint64_t count = record->length_bytes / log->super.block_bytes;

	dnd_cache_blocks_drop(&log->blocks, first, count, record->sequence);
}

int dnd_cache_retire(struct dnd_cache_log *log, uint64_t upto)
{
	int rc;

	if (upto < log->tail)
		return 0;
	if (upto > log->durable)
		return -EINVAL;
	rc = move_tail(log, (struct dnd_cache_tail){
		.sequence = upto + 1, .epoch = log->epoch, .begun = log->begun,
	});
	if (rc)
		return rc;
	for (; log->tail <= upto; log->tail++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, log->tail);

		if (record->type != DND_CACHE_TRIM)
			window_give_back(log, record);
		if (record->type == DND_CACHE_WRITE)
			forget_blocks(log, record);
		log->voids -= record->type == DND_CACHE_VOID;
	}
	return 0;
}

void dnd_cache_close(struct dnd_cache_log *log)
{
	dnd_cache_blocks_free(&log->blocks);
	free(log->records);
	free(log->windows);
	memset(log, 0, sizeof(*log));
}
