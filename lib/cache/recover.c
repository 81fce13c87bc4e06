// SPDX-License-Identifier: Apache-2.0
/*
 * Recovers the log as it was left.  From the tail on, each record counts if it is whole and
 * in sequence.  Nothing behind the first one that does not count was acknowledged, because a
 * record is acknowledged only after a barrier that makes it and all before it durable.
 *
 * A record in sequence whose bytes do not match its checksum is void: it is passed over, its
 * place in the ring and its bytes in the window stay taken, and the records behind it count.
 * A power cut tore it before its barrier, or its client overwrote it.
 *
 * Each record says which one was the last durable one when it was written.  If one of those
 * does not count, the cause cannot be a power cut, and the log is refused.  This does not find
 * damage to only the last group of records, which looks like a power cut before their barrier.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cache/log.h"

#define READ_BYTES	(256U << 10)	/* data that is read at once */
#define NAMED_MOST	3U		/* how many damaged records an error text names */

struct recovery {
	struct dnd_cache_log *log;
	uint64_t acknowledged;		/* the newest record that any record calls durable */
	const char *why_ended;		/* what is wrong with the record at log->next */
	bool gives_up;			/* gives up acknowledged records whose bytes are damaged */
	uint8_t *buffer;
};

static int damaged(struct donard_context *ctx, const char *what)
{
	return dnd_fail(ctx, DND_E_DAMAGED, "the log in the NVRAM is damaged: %s. Nothing was changed. Restore the "
			"NVRAM's contents, of the same moment as the drive's. Format it (FORMAT) only if you have none: that loses what "
			"was acknowledged and not destaged.", what);
}

/* ---- superblock and tail ---- */

static int read_super(struct donard_context *ctx, struct dnd_cache_store *store,
		      struct dnd_cache_super *super)
{
	enum dnd_cache_found found;
	int rc = dnd_cache_look(ctx, store, super, &found);

	if (rc)
		return rc;
	if (found == DND_CACHE_FOUND_DAMAGED)
		return dnd_fail(ctx, DND_E_DAMAGED, "the log in the NVRAM is damaged: no copy of its superblock is whole. Nothing "
				"was changed. Restore the NVRAM's contents, of the same moment as the drive's. Only if you have none, "
				"overwrite it with zeros and format it then (FORMAT): that loses what was acknowledged and not destaged.");
	if (found == DND_CACHE_FOUND_UNFINISHED)
		return dnd_fail(ctx, DND_E_NOT_FORMATTED, "this NVRAM holds no write cache's log: formatting it was begun, and not "
				"finished. Format it (FORMAT).");
	if (found == DND_CACHE_FOUND_OTHER)
		return dnd_fail(ctx, DND_E_NOT_FORMATTED, "this NVRAM holds no write cache's log, but other data. If that may be lost, "
				"overwrite it with zeros, and format it then (FORMAT).");
	if (found != DND_CACHE_FOUND_LOG)
		return dnd_fail(ctx, DND_E_NOT_FORMATTED, "this NVRAM holds no write cache's log. Format it (FORMAT).");
	if (super->version != DND_CACHE_VERSION)
		return dnd_fail(ctx, DND_E_OTHER_VERSION, "the log in the NVRAM is of version %u, and this program knows "
				"version %u. Start the version that wrote it, and let it drain.",
				super->version, DND_CACHE_VERSION);
	if (super->length_bytes > store->length_bytes)
		return dnd_fail(ctx, DND_E_DAMAGED, "the log has %llu bytes and the NVRAM %llu: a part of the log is missing. "
				"Nothing was changed. Give it all of the NVRAM that it was made in.",
				(unsigned long long)super->length_bytes,
				(unsigned long long)store->length_bytes);
	return 0;
}

/* Takes the newer of the copies that are whole. */
static int read_tails(struct dnd_cache_log *log)
{
	struct dnd_cache_tail tail, best = { 0 };

	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++) {
		int rc = log->store->read(log->store, DND_CACHE_TAIL_AT(copy), &tail, sizeof(tail));

		if (rc)
			return dnd_fail_errno(log->ctx, -rc, "the NVRAM cannot be read");
		if (tail.checksum != dnd_cache_tail_checksum(&tail) ||
		    tail.identity != log->super.identity || !tail.sequence)
			continue;
		if (best.sequence && (best.epoch > tail.epoch ||
				      (best.epoch == tail.epoch && best.sequence >= tail.sequence)))
			continue;
		best = tail;
		log->tail_copy = (copy + 1) % DND_CACHE_COPIES;
	}
	if (!best.sequence)
		return damaged(log->ctx, "no copy of its tail is whole");
	log->tail = best.sequence;
	log->next = best.sequence;
	log->durable = best.sequence - 1;
	log->epoch = best.epoch;
	log->begun = best.begun;
	return 0;
}

/* ---- records ---- */

static bool is_ours(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	return record->checksum == dnd_cache_record_checksum(record) &&
	       record->identity == log->super.identity;
}

static bool in_a_window(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	const struct dnd_cache_super *super = &log->super;

	return record->data_at >= super->data_at &&
	       dnd_range_fits(record->data_at - super->data_at, record->length_bytes,
			      super->windows * super->window_bytes) &&
	       (record->data_at - super->data_at) % super->window_bytes + record->length_bytes <=
	       super->window_bytes;
}

static bool plausible(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	const struct dnd_cache_super *super = &log->super;

	if (record->drive_offset % super->block_bytes || record->length_bytes % super->block_bytes ||
	    !record->length_bytes ||
	    !dnd_range_fits(record->drive_offset, record->length_bytes, super->drive_bytes))
		return false;
	return record->type == DND_CACHE_TRIM ||
	       ((record->type == DND_CACHE_WRITE || record->type == DND_CACHE_VOID) && in_a_window(log, record));
}

static int sum_data(const struct recovery *recovery, const struct dnd_cache_record *record, uint32_t *sum)
{
	struct dnd_cache_store *store = recovery->log->store;

	*sum = 0;
	for (uint64_t done = 0; done < record->length_bytes; done += READ_BYTES) {
		size_t length = dnd_min(READ_BYTES, record->length_bytes - done);
		int rc = store->read(store, record->data_at + done, recovery->buffer, length);

		if (rc)
			return dnd_fail_errno(recovery->log->ctx, -rc, "the NVRAM cannot be read");
		*sum = dnd_cache_checksum(*sum, recovery->buffer, length);
	}
	return 0;
}

/*
 * Has the record the epoch to which its sequence belongs?  Records of a former epoch that lie behind
 * its end were never acknowledged, and must not count even if all else about them is right.
 */
static bool of_its_epoch(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	return record->sequence >= log->begun ? record->epoch == log->epoch : record->epoch < log->epoch;
}

/* No power cut causes this: the newest tail is damaged, and the older one names records that were overwritten. */
static int lies_over(struct donard_context *ctx, const struct dnd_cache_record *record)
{
	char what[96];

	snprintf(what, sizeof(what), "the bytes of record %llu lie over those of an older one",
		 (unsigned long long)record->sequence);
	return damaged(ctx, what);
}

/*
 * Returns 1 if the record continues the log, 0 if not, or -errno if that cannot be told.  A record whose
 * bytes are wrong becomes void; its checksum stays that of the write until the NVRAM says void, too.
 */
static int counts(struct recovery *recovery, struct dnd_cache_record *record)
{
	struct dnd_cache_log *log = recovery->log;
	uint32_t sum;
	int rc;

	recovery->why_ended = "is not there";
	if (!is_ours(log, record) || record->sequence != log->next || !of_its_epoch(log, record))
		return 0;
	recovery->why_ended = "names what cannot be";
	if (!plausible(log, record))
		return 0;
	if (record->type != DND_CACHE_TRIM && dnd_cache_lies_over(log, record))
		return lies_over(log->ctx, record);
	if (record->type != DND_CACHE_WRITE)
		return 1;
	rc = sum_data(recovery, record, &sum);
	if (rc)
		return rc;
	if (sum != record->data_checksum)
		record->type = DND_CACHE_VOID;
	return 1;
}

static int read_records(struct recovery *recovery)
{
	struct dnd_cache_log *log = recovery->log;
	struct dnd_cache_record record;
	int rc = 1;

	while (rc > 0 && log->next - log->tail < log->super.records) {
		rc = log->store->read(log->store, dnd_cache_record_at(&log->super, log->next), &record,
				      sizeof(record));
		if (rc)
			return dnd_fail_errno(log->ctx, -rc, "the NVRAM cannot be read");
		rc = counts(recovery, &record);
		if (rc > 0)
			dnd_cache_take(log, &record);
	}
	log->written = log->next - 1;
	return rc < 0 ? rc : 0;
}

/* A record is written only after a tail with its epoch is durable, so an epoch newer than any whole tail's shows damage. */
static int tail_is_older(const struct dnd_cache_log *log, const struct dnd_cache_record *record)
{
	char what[96];

	snprintf(what, sizeof(what), "record %llu was written behind a newer tail than any that is whole",
		 (unsigned long long)record->sequence);
	return damaged(log->ctx, what);
}

/* Looks at all places, also at those before the tail, because each record says what was durable when it was written. */
static int find_acknowledged(struct recovery *recovery)
{
	struct dnd_cache_log *log = recovery->log;
	struct dnd_cache_record record;

	for (uint64_t place = 0; place < log->super.records; place++) {
		int rc = log->store->read(log->store, dnd_cache_record_at(&log->super, place), &record,
					  sizeof(record));

		if (rc)
			return dnd_fail_errno(log->ctx, -rc, "the NVRAM cannot be read");
		if (!is_ours(log, &record))
			continue;
		if (record.epoch > log->epoch)
			return tail_is_older(log, &record);
		recovery->acknowledged = dnd_max(recovery->acknowledged, record.durable);
	}
	return 0;
}

static int check_complete(const struct recovery *recovery)
{
	char what[160];

	if (recovery->acknowledged < recovery->log->next)
		return 0;
	snprintf(what, sizeof(what), "record %llu %s, though it and those up to %llu were acknowledged",
		 (unsigned long long)recovery->log->next, recovery->why_ended,
		 (unsigned long long)recovery->acknowledged);
	return damaged(recovery->log->ctx, what);
}

static void name_record(const struct dnd_cache_log *log, uint64_t sequence, char *what, size_t size)
{
	const struct dnd_cache_record *record = dnd_cache_record(log, sequence);
	size_t used = strlen(what);

	snprintf(what + used, size - used, "%srecord %llu (%llu bytes at %llu of the drive, window %llu)",
		 used ? ", " : "", (unsigned long long)sequence, (unsigned long long)record->length_bytes,
		 (unsigned long long)record->drive_offset,
		 (unsigned long long)((record->data_at - log->super.data_at) / log->super.window_bytes));
}

/* Finds void records that were certainly acknowledged and that were not given up before. */
static int check_voids(const struct recovery *recovery)
{
	struct dnd_cache_log *log = recovery->log;
	uint64_t sequence = dnd_cache_next_void(log, log->tail), count = 0;
	char what[256] = "";

	for (; sequence <= recovery->acknowledged; sequence = dnd_cache_next_void(log, sequence + 1)) {
		const struct dnd_cache_record *record = dnd_cache_record(log, sequence);

		if (record->checksum == dnd_cache_record_checksum(record))
			continue;
		if (count++ < NAMED_MOST)
			name_record(log, sequence, what, sizeof(what));
	}
	log->given_up = count;
	if (!count || recovery->gives_up)
		return 0;
	return dnd_fail(log->ctx, DND_E_DAMAGED, "the bytes of %llu acknowledged records in the NVRAM are not what their checksums "
			"say: %s%s. All others are whole. Nothing was changed. Restore the NVRAM's contents, of the same "
			"moment as the drive's; or give up these records, and no others (GIVE_UP_DAMAGED): their "
			"blocks go back to what the drive has, which may be older than the write before.",
			(unsigned long long)count, what, count > NAMED_MOST ? " ..." : "");
}

void dnd_cache_say_voids(const struct dnd_cache_log *log, char *text, size_t size)
{
	snprintf(text, size, "%s", "");
	if (log->given_up)
		snprintf(text, size, "%llu of them were passed over: %llu were acknowledged, and given up, as their bytes are damaged",
			 (unsigned long long)log->voids, (unsigned long long)log->given_up);
	else if (log->voids)
		snprintf(text, size, "%llu of them were passed over: as far as the log tells, a power cut or a kill tore them before "
			 "they were acknowledged, or a former start gave them up", (unsigned long long)log->voids);
}

/* ---- the whole recovery ---- */

static int make_room(struct recovery *recovery)
{
	struct dnd_cache_log *log = recovery->log;

	log->records = calloc(log->super.records, sizeof(*log->records));
	log->windows = calloc(log->super.windows, sizeof(*log->windows));
	recovery->buffer = malloc(READ_BYTES);
	if (!log->records || !log->windows || !recovery->buffer ||
	    dnd_cache_blocks_init(&log->blocks, log->super.records))
		return dnd_fail_memory(log->ctx);
	return 0;
}

static int recover(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_log *log, bool gives_up)
{
	struct recovery recovery = { .log = log, .gives_up = gives_up };
	int rc;

	memset(log, 0, sizeof(*log));
	log->ctx = ctx;
	log->store = store;
	rc = read_super(ctx, store, &log->super);
	if (rc)
		return rc;
	rc = make_room(&recovery);
	if (!rc)
		rc = read_tails(log);
	if (!rc)
		rc = read_records(&recovery);
	if (!rc)
		rc = find_acknowledged(&recovery);
	if (!rc)
		rc = check_complete(&recovery);
	if (!rc)
		rc = check_voids(&recovery);
	free(recovery.buffer);
	if (rc)
		dnd_cache_close(log);
	return rc;
}

int dnd_cache_open(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_log *log)
{
	return recover(ctx, store, log, false);
}

int dnd_cache_open_giving_up(struct donard_context *ctx, struct dnd_cache_store *store,
			     struct dnd_cache_log *log)
{
	return recover(ctx, store, log, true);
}
