// SPDX-License-Identifier: Apache-2.0
/* Gets memory, drive and log ready to be served.  If it refuses one of them, it leaves everything as it was. */
#include <stdio.h>
#include <stdlib.h>

#include "cache/backing.h"
#include "cache/others.h"
#include "cache/server.h"
#include "cache/trimmer.h"
#include "drive/drive.h"

#define DEFAULT_CLIENTS		8
#define REQUEST_BYTES_MAX	(256U << 10)
#define STAGING_PART		16	/* staging takes at most this fraction of the NVRAM */
#define QUEUE_DEPTH		256

/* ---- the NVRAM ---- */

/* Tries the barrier once before anything depends on it: it may be refused although the region is persistent. */
static int check_persistent(struct dnd_cache_server *server, struct donard_memory *memory)
{
	int rc = 0;

	server->persistent = dnd_region_persistent(&memory->region);
	if (server->persistent)
		rc = donard_memory_sync(memory, DONARD_SYNC_DURABLE);
	if (rc && rc != -EOPNOTSUPP)
		return rc;
	server->persistent = server->persistent && !rc;
	if (server->persistent || server->options.flags & DONARD_CACHE_VOLATILE_OK)
		return 0;
	return dnd_fail(server->ctx, DND_E_UNSUPPORTED, "%s: a power cut empties it, so clients would lose what they were told is "
			"durable. Take a region of persistent memory (donard_region_list() shows which are), or pass "
			"VOLATILE_OK: then each acknowledgement says so.", dnd_memory_name(memory));
}

static int open_nvram(struct dnd_cache_server *server)
{
	struct donard_memory *memory = server->nvram.memory;
	int rc = check_persistent(server, memory);

	if (!rc)
		dnd_cache_nvram_init(&server->nvram, memory, memory->length, server->persistent);
	return rc;
}

/* ---- the log ---- */

static uint64_t staging_bytes(uint64_t nvram_bytes, uint32_t block)
{
	uint64_t request = dnd_min(REQUEST_BYTES_MAX, nvram_bytes / STAGING_PART / DND_CACHE_READS);

	return DND_CACHE_READS * dnd_round_down(request, dnd_max(block, DND_CACHE_PAGE_BYTES));
}

static int no_staging(const struct dnd_cache_server *server)
{
	uint64_t bytes = server->nvram.store.length_bytes;
	uint64_t least = (uint64_t)STAGING_PART * DND_CACHE_READS * dnd_max(server->drive.align_bytes, DND_CACHE_PAGE_BYTES);

	return dnd_fail_member(server->ctx, DND_E_NO_SPACE, DND_LEAST("nvram", bytes, least),
			       "%s: %llu bytes are too little for a cache of a drive with blocks of %u bytes, "
			       "which needs %llu or more. Use more NVRAM.", dnd_memory_name(server->nvram.memory),
			       (unsigned long long)bytes, server->drive.align_bytes, (unsigned long long)least);
}

static int read_first_block(struct dnd_cache_server *server, uint64_t at)
{
	struct donard_completion completion;
	int rc = donard_queue_read(server->queue, server->file, 0, server->nvram.memory, at,
				   server->drive.align_bytes, NULL);

	if (rc)
		return rc;
	/* Waits until the read has ended: otherwise the drive could overwrite the bytes that the caller puts back. */
	do {
		rc = donard_queue_wait(server->queue, 1, -1, &completion, 1);
	} while (rc == -EINTR);
	if (rc < 0)
		return rc;
	if (completion.result == server->drive.align_bytes)
		return 0;
	return dnd_fail_errno(server->ctx, completion.result < 0 ? (int)-completion.result : EIO,
			      "%s: it cannot be read into %s%s%s", server->drive.path,
			      dnd_memory_name(server->nvram.memory), *completion.error ? ": " : "", completion.error);
}

/*
 * Proves that the drive reads directly into the NVRAM, by a read of its first block into the staging
 * place.  Puts back the bytes that were there, so that a format that is refused later leaves the zeros
 * that it found.
 */
static int prove_route(struct dnd_cache_server *server, uint64_t at)
{
	struct dnd_cache_store *store = &server->nvram.store;
	size_t bytes = server->drive.align_bytes;
	void *before = malloc(bytes);
	int rc = before ? store->read(store, at, before, bytes) : dnd_fail_memory(server->ctx), put_back;

	if (!rc) {
		rc = read_first_block(server, at);
		put_back = store->write(store, at, before, bytes);
		rc = rc ? rc : put_back;
	}
	free(before);
	return rc;
}

/*
 * If the server is killed, bytes of the proof may stay in NVRAM that was empty.  The note that a format was begun keeps them
 * from being taken for other data.
 */
static int prove_route_for_format(struct dnd_cache_server *server, uint64_t at)
{
	struct dnd_cache_store *store = &server->nvram.store;
	int rc = dnd_cache_note_format(server->ctx, store, true);
	struct dnd_failure kept;

	if (!rc)
		rc = prove_route(server, at);
	if (!rc)
		return 0;
	kept = dnd_failure_keep(server->ctx);
	dnd_cache_note_format(server->ctx, store, false);
	dnd_failure_put_back(server->ctx, &kept);
	return rc;
}

/* A log that is there stays whole until the drive is known to reach the NVRAM. */
static int format(struct dnd_cache_server *server, const char *drive_id, enum dnd_cache_found found)
{
	const struct donard_file_info *drive = &server->drive;
	uint64_t bytes = server->nvram.store.length_bytes;
	const struct dnd_cache_geometry geometry = {
		.length_bytes = bytes - staging_bytes(bytes, drive->align_bytes),
		.windows = server->options.clients ? server->options.clients : DEFAULT_CLIENTS,
		.block_bytes = drive->align_bytes,
		.drive_bytes = dnd_round_down(drive->size_bytes, drive->align_bytes),
		.drive_id = drive_id,
	};
	int rc;

	if (!geometry.drive_bytes)
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION, DND_AT("backing"),
				       "%s: it is smaller than one block. Make the file as large as the "
				       "drive that clients are to see (fallocate -l SIZE).", drive->path);
	rc = geometry.length_bytes < bytes ? dnd_cache_check_geometry(server->ctx, &geometry) : no_staging(server);
	if (!rc)
		rc = (found == DND_CACHE_FOUND_NOTHING ? prove_route_for_format : prove_route)(server, geometry.length_bytes);
	return rc ? rc : dnd_cache_format(server->ctx, &server->nvram.store, &geometry);
}

static int other_data(struct dnd_cache_server *server)
{
	const char *name = dnd_memory_name(server->nvram.memory);

	return dnd_fail(server->ctx, DND_E_HAS_DATA, "%s: it holds data of something else. If nobody needs them, overwrite "
			"them with zeros (dd if=/dev/zero of=/dev/%s bs=1M), and start again.", name, name);
}

/* Refuses to format over a log whose records the user did not allow to be lost. */
static int has_records(struct dnd_cache_server *server, const struct dnd_cache_super *super,
		       const char *what)
{
	return dnd_fail(server->ctx, DND_E_HAS_DATA, "%s: it holds a log %s, for the drive %s. Serve that log with its drive "
			"and without FORMAT; or, if its records may be lost, pass options.discard 0x%016llx.",
			dnd_memory_name(server->nvram.memory), what, super->drive_id,
			(unsigned long long)super->identity);
}

/* A log without records may be formatted again; one that cannot be read may hold anything. */
static int may_format(struct dnd_cache_server *server, const struct dnd_cache_super *super)
{
	struct dnd_cache_log log;
	uint64_t records;
	char what[64];
	int rc;

	if (server->options.discard == super->identity && super->version == DND_CACHE_VERSION)
		return 0;
	if (super->version != DND_CACHE_VERSION)
		return dnd_cache_open(server->ctx, &server->nvram.store, &log);
	rc = dnd_cache_open(server->ctx, &server->nvram.store, &log);
	/* The whole log may be there again once the region is as large as it was. */
	if (rc && super->length_bytes > server->nvram.store.length_bytes)
		return rc;
	/* Nobody has seen what it holds: there is no memory, or the NVRAM went away. */
	if (rc && rc != -EILSEQ)
		return rc;
	if (rc)
		return has_records(server, super, "that is damaged");
	records = log.next - log.tail;
	dnd_cache_close(&log);
	if (!records)
		return 0;
	snprintf(what, sizeof(what), "with %llu acknowledged records", (unsigned long long)records);
	return has_records(server, super, what);
}

static int format_if_told(struct dnd_cache_server *server, const char *drive_id)
{
	struct dnd_cache_super super = { .version = 0 };
	enum dnd_cache_found found;
	int rc;

	if (!(server->options.flags & DONARD_CACHE_FORMAT))
		return 0;
	rc = dnd_cache_look(server->ctx, &server->nvram.store, &super, &found);
	if (rc)
		return rc;
	if (found == DND_CACHE_FOUND_OTHER)
		return other_data(server);
	if (found == DND_CACHE_FOUND_DAMAGED)
		return dnd_fail(server->ctx, DND_E_DAMAGED, "%s: it held a log, but no copy of its superblock is whole, so nobody "
				"knows what was in it. If it may be lost, overwrite it with zeros (dd if=/dev/zero "
				"of=/dev/%s bs=1M).", dnd_memory_name(server->nvram.memory),
				dnd_memory_name(server->nvram.memory));
	if (found == DND_CACHE_FOUND_LOG)
		rc = may_format(server, &super);
	return rc ? rc : format(server, drive_id, found);
}

static int check_drive(struct dnd_cache_server *server, const char *drive_id)
{
	const struct dnd_cache_super *super = &server->log.super;
	const struct donard_file_info *drive = &server->drive;
	bool empty = server->log.next == server->log.tail;

	if (strcmp(super->drive_id, drive_id))
		return dnd_fail(server->ctx, DND_E_OTHER_DRIVE, "%s: this is the drive %s, and the log in %s belongs to %s. "
				"Name that drive%s.", drive->path, drive_id,
				dnd_memory_name(server->nvram.memory), super->drive_id,
				empty ? "; or, as the log is empty, lay a new one for this drive (FORMAT)" : "");
	if (super->drive_bytes != dnd_round_down(drive->size_bytes, super->block_bytes) ||
	    super->block_bytes % drive->align_bytes)
		return dnd_fail(server->ctx, DND_E_OTHER_DRIVE, "%s: it has %llu bytes in blocks of %u now, and had %llu in blocks of %u "
				"when the log was made. %s (FORMAT).",
				drive->path, (unsigned long long)drive->size_bytes, drive->align_bytes,
				(unsigned long long)super->drive_bytes, super->block_bytes,
				empty ? "The log is empty: lay a new one for the drive as it is now" :
				"Bring back that size, let the log drain, and then change it and format it anew");
	return 0;
}

/*
 * The region may have come back a little smaller.  Then the log may be whole although the place behind it, in which reads are
 * staged, is not.  One block for each read is enough, because every window takes larger requests (format.c).
 */
static int check_staging(const struct dnd_cache_server *server)
{
	const struct dnd_cache_super *super = &server->log.super;
	uint64_t bytes = server->nvram.store.length_bytes;
	uint64_t least = super->length_bytes + (uint64_t)DND_CACHE_READS * super->block_bytes;

	if (bytes >= least)
		return 0;
	return dnd_fail(server->ctx, DND_E_DAMAGED, "%s: the log and the place for reads behind it need %llu bytes, and the NVRAM has "
			"%llu: a part of the NVRAM is missing. Nothing was changed. Give it all of the NVRAM that it was made in.",
			dnd_memory_name(server->nvram.memory), (unsigned long long)least, (unsigned long long)bytes);
}

static int open_log(struct dnd_cache_server *server)
{
	char drive_id[DND_CACHE_DRIVE_ID_BYTES];
	int rc = dnd_backing_identity(server->ctx, &server->drive, drive_id);
	bool formats = server->options.flags & DONARD_CACHE_FORMAT;
	char text[DND_TEXT_BYTES];

	if (!rc)
		rc = dnd_cache_check_others(server->ctx, dnd_memory_name(server->nvram.memory), drive_id);
	if (!rc)
		rc = format_if_told(server, drive_id);
	if (!rc)
		rc = (server->options.flags & DONARD_CACHE_GIVE_UP_DAMAGED ? dnd_cache_open_giving_up : dnd_cache_open)
		     (server->ctx, &server->nvram.store, &server->log);
	if (rc)
		return rc;
	server->log_open = true;
	rc = check_drive(server, drive_id);
	if (!rc)
		rc = check_staging(server);
	if (!rc)
		rc = prove_route(server, server->log.super.length_bytes);
	if (rc)
		return rc;
	server->tally.counts.recovered = server->log.next - server->log.tail;
	dnd_cache_say_voids(&server->log, text, sizeof(text));
	dnd_cache_tell(server, formats ? DONARD_CACHE_FORMATTED : DONARD_CACHE_RECOVERED, "", text,
		       server->tally.counts.recovered);
	return 0;
}

/* ---- the drive ---- */

static int open_drive(struct dnd_cache_server *server)
{
	int rc;

	server->drive.size = sizeof(server->drive);
	rc = donard_file_info(server->file, &server->drive);
	if (rc)
		return rc;
	if (server->drive.bounces[0])
		return dnd_fail(server->ctx, DND_E_BOUNCES, "%s: its bytes would go through DRAM: %s.",
				server->drive.path, server->drive.bounces);
	if (server->drive.not_flushed[0])
		return dnd_fail(server->ctx, DND_E_UNSUPPORTED, "%s: its flushes may not reach the medium, so that a power cut could lose "
				"records that the log has dropped: %s.", server->drive.path, server->drive.not_flushed);
	return dnd_cache_lock_file(server);
}

static int open_queue(struct dnd_cache_server *server)
{
	const struct donard_queue_options options = {
		.size = sizeof(options),
		.depth = QUEUE_DEPTH,
		.flags = server->options.flags & DONARD_CACHE_PASSTHROUGH ? DONARD_QUEUE_PASSTHROUGH : 0,
	};
	int rc = donard_queue_open(server->ctx, &options, &server->queue);

	if (!rc)
		rc = donard_queue_register(server->queue, server->nvram.memory);
	return rc < 0 ? rc : 0;
}

/* ---- the whole start ---- */

static int size_requests(struct dnd_cache_server *server)
{
	const struct dnd_cache_super *super = &server->log.super;
	uint64_t staging = server->nvram.store.length_bytes - super->length_bytes;
	uint64_t request = dnd_min(staging / DND_CACHE_READS, super->window_bytes / DND_CACHE_WINDOW_REQUESTS);

	server->request_bytes_max = (uint32_t)dnd_round_down(dnd_min(request, REQUEST_BYTES_MAX),
							     super->block_bytes);
	server->sessions = calloc(super->windows, sizeof(*server->sessions));
	server->appended_ns = calloc(super->records, sizeof(*server->appended_ns));
	if (!server->sessions || !server->appended_ns)
		return dnd_fail_memory(server->ctx);
	for (uint64_t i = 0; i < super->records; i++)
		server->appended_ns[i] = dnd_now_ns();
	return dnd_cache_reads_open(server);
}

/*
 * Tries to register all of the memory: this side sends from all of it, and each client's window is a part of it.  A port that
 * is down keeps clients waiting, but not the server, which may have a log to destage after a power cut before the network is
 * up.
 */
static int try_registration(const struct dnd_cache_server *server)
{
	struct dnd_registration tried;

	return dnd_listener_try(&server->listener, server->nvram.memory, 0, &tried);
}

/* The log comes after all else that users choose, so that a wrong path is found before a format changes what is there. */
int dnd_cache_start(struct dnd_cache_server *server)
{
	int rc = open_nvram(server);

	if (!rc)
		rc = open_drive(server);
	if (!rc)
		rc = open_queue(server);
	if (!rc)
		rc = dnd_trimmer_open(server->ctx, server->drive.fd, server->drive.kind == DONARD_FILE_KIND_REGULAR,
				      &server->trimmer);
	if (!rc)
		rc = dnd_cache_report_open(server);
	if (!rc)
		rc = try_registration(server);
	if (!rc)
		rc = open_log(server);
	if (!rc)
		rc = size_requests(server);
	if (!rc)
		rc = dnd_cache_begin(&server->log);
	return rc;
}

/* Closes the queue first, so that no device writes into the memory after it was freed, or returned to the program. */
void dnd_cache_end(struct dnd_cache_server *server)
{
	donard_queue_close(server->queue);
	dnd_cache_destage_close(server);
	dnd_cache_reads_close(server);
	free(server->sessions);
	free(server->appended_ns);
	if (server->log_open)
		dnd_cache_close(&server->log);
	dnd_cache_unlock_file(server);
	dnd_file_put(server->file);
	dnd_memory_put(server->nvram.memory);
}
