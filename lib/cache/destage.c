// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the log to the drive: first the trims of the plan, in a separate thread, then its writes in the order of
 * their drive offsets, then FLUSH, and only then TAIL.  The drive fetches the bytes from the NVRAM.
 *
 * After any error the whole plan is done again, because a drive that failed a flush may
 * have lost data that it had taken before.
 *
 * Each batch of writes comes after a barrier in the same round, so that NVRAM whose device was reset does not
 * give arbitrary bytes to the drive.  Another barrier, before TAIL, shows whether it was reset while the drive
 * fetched the last batch; if so, the records stay, and the next start writes them again.  Before the first TAIL, a
 * block is also read back from the drive, to see whether the drive has what it was given (readback.c).
 */
#include <stdio.h>

#include "cache/marks.h"
#include "cache/server.h"
#include "cache/trimmer.h"
#include "drive/drive.h"

#define MS_NS		1000000ULL
#define PLAN_RECORDS	4096
#define LOW_PERCENT_MOST	50	/* limits the low mark if a client waits although the log is below its high mark */
#define WRITES_AT_ONCE	32
#define RUN_BYTES_MAX	(1U << 20)
#define PAUSE_FIRST_MS	100
#define PAUSE_MOST_MS	10000

/* ---- when ---- */

static unsigned int percent(uint64_t part, uint64_t whole)
{
	return (unsigned int)(part * 100 / whole);
}

unsigned int dnd_cache_fill_percent(const struct dnd_cache_server *server)
{
	const struct dnd_cache_log *log = &server->log;
	unsigned int most = percent(log->next - log->tail, log->super.records);

	for (unsigned int i = 0; i < log->super.windows; i++)
		most = (unsigned int)dnd_max(most, percent(log->windows[i].used_bytes,
							   log->super.window_bytes));
	return most;
}

/* May the next request of a connected client not fit into its window, so that it would have to wait? */
static bool window_short(const struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i] && !dnd_cache_window_empty(&server->log, i) &&
		    dnd_cache_window_room(&server->log, i) < server->request_bytes_max)
			return true;
	return false;
}

/* Does a window without a client hold records, so that no client can have it? */
static bool left_behind(const struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (!server->sessions[i] && !dnd_cache_window_empty(&server->log, i))
			return true;
	return false;
}

static bool flush_waits(const struct dnd_cache_server *server)
{
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i] && server->sessions[i]->flushes.first)
			return true;
	return false;
}

static uint64_t idle_from_ns(const struct dnd_cache_server *server)
{
	if (server->options.flags & DONARD_CACHE_NO_CLEANER)
		return UINT64_MAX;
	return server->written_ns + server->options.idle_ms * MS_NS;
}

static bool all_wanted(const struct dnd_cache_server *server)
{
	return server->draining || server->no_window_free || flush_waits(server) || dnd_now_ns() >= idle_from_ns(server);
}

/*
 * Begins to destage for free windows as soon as the last one is taken, before a client is refused, and ends when no window
 * holds records of a client that left.  As long as every window has a connected client, destaging would free none.
 */
static void look_for_windows(struct dnd_cache_server *server)
{
	server->no_window_free = left_behind(server) &&
				(server->no_window_free || dnd_cache_free_window(server) == SIZE_MAX);
}

static bool wanted(struct dnd_cache_server *server)
{
	unsigned int fill = dnd_cache_fill_percent(server);

	look_for_windows(server);
	if (dnd_cache_log_empty(&server->log))
		return false;
	server->destage.filling = fill >= server->options.high_percent ||
				  (server->destage.filling && fill > server->options.low_percent);
	return server->destage.filling || server->starved || window_short(server) || all_wanted(server);
}

/* Enough to reach the low mark, and for the clients that wait for room. */
static uint64_t records_wanted(const struct dnd_cache_server *server)
{
	unsigned int percent = server->options.low_percent;

	if (all_wanted(server))
		return PLAN_RECORDS;
	if (!server->destage.filling)
		percent = (unsigned int)dnd_min(percent, LOW_PERCENT_MOST);
	return dnd_max(1, dnd_cache_records_above(&server->log, percent, PLAN_RECORDS));
}

uint64_t dnd_cache_destage_due_ns(const struct dnd_cache_server *server)
{
	if (server->destage.state == DND_DESTAGE_PAUSED)
		return server->destage.until_ns;
	if (server->destage.state == DND_DESTAGE_IDLE && !dnd_cache_log_empty(&server->log))
		return idle_from_ns(server);
	return UINT64_MAX;
}

/* ---- errors ---- */

static void failed(struct dnd_cache_server *server, const char *code, const char *text)
{
	struct dnd_destage *destage = &server->destage;

	server->tally.counts.drive_errors++;
	dnd_cache_check_gone(server, code);
	if (!dnd_cache_drive_fails(server))
		dnd_cache_tell(server, DONARD_CACHE_DRIVE_FAILED, "", text, 0);
	snprintf(destage->why, sizeof(destage->why), "%s", text);
	destage->failed = true;
}

static void pause_for_a_while(struct dnd_destage *destage)
{
	uint64_t next_ms = destage->pause_ms ? 2 * destage->pause_ms : PAUSE_FIRST_MS;

	destage->pause_ms = dnd_min(next_ms, PAUSE_MOST_MS);
	destage->until_ns = dnd_now_ns() + destage->pause_ms * MS_NS;
	destage->state = DND_DESTAGE_PAUSED;
}

/* Also ends the failure of a plan for which there was no memory, once no plan is wanted any more. */
static void fails_no_more(struct dnd_cache_server *server)
{
	if (server->destage.pause_ms)
		dnd_cache_tell(server, DONARD_CACHE_DRIVE_WORKS, "", "", 0);
	server->destage.pause_ms = 0;
}

static void on_write(struct dnd_cache_server *server, struct dnd_cache_io *io,
		     const struct donard_completion *completion)
{
	struct dnd_destage *destage = &server->destage;

	(void)io;
	destage->under_way--;
	if (completion->result < 0)
		failed(server, completion->error_code, completion->error);
	else
		destage->done_bytes += (uint64_t)completion->result;
}

static void on_flush(struct dnd_cache_server *server, struct dnd_cache_io *io,
		     const struct donard_completion *completion)
{
	(void)io;
	server->destage.under_way--;
	if (completion->result < 0)
		failed(server, completion->error_code, completion->error);
}

/* ---- steps ---- */

static void begin_trims(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;

	if (!destage->untrimmed || !dnd_cache_nvram_sound(server))
		return;
	dnd_trimmer_begin(server->trimmer, destage->plan.trims, destage->plan.trim_count);
	destage->untrimmed = false;
	destage->trimming = true;
}

/*
 * Trims come before the writes, which may be newer.  A trim is only advice: a drive that cannot trim, or fails, may
 * keep the bytes.
 */
static bool trimmed(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;
	uint64_t ignored;

	begin_trims(server);
	if (destage->trimming && dnd_trimmer_done(server->trimmer, &ignored)) {
		server->tally.counts.ignored_trims += ignored;
		destage->trimming = false;
	}
	return !destage->untrimmed && !destage->trimming;
}

static bool can_go_on(const struct dnd_destage *destage)
{
	return !destage->failed && destage->next < destage->plan.write_count && destage->under_way < WRITES_AT_ONCE;
}

static void write_some(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;
	int rc = 0;

	if (!can_go_on(destage) || !dnd_cache_nvram_sound(server))
		return;
	while (destage->next < destage->plan.write_count && destage->under_way < WRITES_AT_ONCE &&
	       !destage->failed) {
		const struct dnd_cache_run *run = &destage->plan.writes[destage->next];

		rc = donard_queue_write(server->queue, server->file, run->drive_offset, server->nvram.memory,
					run->data_at, run->length_bytes, &destage->write_io);
		if (rc == -EAGAIN)
			return;
		if (rc) {
			failed(server, donard_error_code(server->ctx), donard_error(server->ctx));
			return;
		}
		server->tally.counts.drive_writes++;
		destage->next++;
		destage->under_way++;
	}
}

/*
 * Since the server started, somebody may have mounted the file system without barriers, declared the drive's cache
 * write-through, or changed a table of device-mapper to lead to another drive.  Then a flush succeeds without reaching the
 * drive.  Doubts that are not certain, such as those about a leg that was lost since, do not count.
 */
static bool is_flushed(struct dnd_cache_server *server)
{
	char text[DND_TEXT_BYTES];
	struct dnd_doubt doubt;

	if (dnd_drive_is_durable_now(server->ctx, &server->file->drive, &doubt) || !doubt.certain)
		return true;
	snprintf(text, sizeof(text), "%s: a power cut may still lose what it was told to flush, so the log keeps it: %s",
		 server->drive.path, doubt.text);
	failed(server, "", text);
	return false;
}

static void flush(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;
	int rc;

	if (!is_flushed(server)) {
		pause_for_a_while(destage);
		return;
	}
	rc = donard_queue_flush(server->queue, server->file, &destage->flush_io);
	if (rc == -EAGAIN)
		return;
	destage->state = DND_DESTAGE_FLUSHING;
	if (rc) {
		failed(server, donard_error_code(server->ctx), donard_error(server->ctx));
		return;
	}
	server->tally.counts.drive_flushes++;
	destage->under_way++;
}

/* If another program has truncated the backing file, no request fails, but the file takes fewer bytes than it was given. */
static void check_whole(struct dnd_cache_server *server)
{
	const struct dnd_destage *destage = &server->destage;
	char text[DND_TEXT_BYTES];

	if (destage->done_bytes == destage->plan.write_bytes)
		return;
	snprintf(text, sizeof(text), "%s: it took %llu of %llu bytes: it is shorter than it was",
		 server->drive.path, (unsigned long long)destage->done_bytes,
		 (unsigned long long)destage->plan.write_bytes);
	failed(server, "", text);
}

static void all_written(struct dnd_cache_server *server)
{
	check_whole(server);
	if (server->destage.failed)
		pause_for_a_while(&server->destage);
	else
		flush(server);			/* FLUSH */
}

static void from_the_start(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;

	dnd_cache_read_back_anew(server);
	destage->failed = false;
	destage->next = 0;
	destage->done_bytes = 0;
	destage->untrimmed = destage->plan.trim_count;
}

/*
 * DESTAGE: makes a plan, and begins to write.  While a flush waits for some bytes, the tail must not pass them before they, or
 * newer bytes of the same blocks, are on the drive.
 */
static void plan(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;
	uint32_t run_bytes = (uint32_t)dnd_min(server->drive.request_bytes, RUN_BYTES_MAX);
	int rc;

	if (!wanted(server)) {
		fails_no_more(server);
		return;
	}
	rc = dnd_cache_plan(&server->log, records_wanted(server), run_bytes, flush_waits(server), &destage->plan);
	if (rc) {
		if (server->log.broken)
			dnd_cache_server_fail(server, rc);
		else
			failed(server, donard_error_code(server->ctx), donard_error(server->ctx));
		pause_for_a_while(destage);
		return;
	}
	server->tally.counts.coalesced_bytes += destage->plan.coalesced_bytes;
	destage->readback.doubted = 0;
	from_the_start(server);
	destage->state = DND_DESTAGE_WRITING;
}

static void begin_to_retire(struct dnd_destage *destage)
{
	destage->state = DND_DESTAGE_RETIRING;
	destage->retiring_ns = dnd_now_ns();
}

/* The time that the drive takes to read what the client asked for does not count against the client. */
static bool is_slow_reader(const struct dnd_cache_server *server, const struct dnd_cache_session *session)
{
	uint64_t since = dnd_max(server->destage.retiring_ns, session->sending_ns);

	return session->work_requests && dnd_now_ns() - since > server->options.timeout_ms * MS_NS;
}

/* Until the clients have taken the reads under way, no client can begin another read, and no record can be retired. */
static void end_slow_readers(struct dnd_cache_server *server)
{
	char text[DND_TEXT_BYTES];

	snprintf(text, sizeof(text), "it held up the other clients: what it reads had not arrived after %u ms "
		 "(options.timeout_ms)", server->options.timeout_ms);
	for (unsigned int i = 0; i < server->log.super.windows; i++)
		if (server->sessions[i] && is_slow_reader(server, server->sessions[i]))
			dnd_cache_session_fail(server->sessions[i], -ETIMEDOUT, text);
}

/* If the drive fails here, the whole plan is written again, since nobody knows what else the drive did not get. */
static bool has_what_it_was_given(struct dnd_cache_server *server)
{
	int rc = dnd_cache_read_back(server);

	if (rc == -EAGAIN) {
		from_the_start(server);
		server->destage.state = DND_DESTAGE_WRITING;
	} else if (rc < 0) {
		failed(server, donard_error_code(server->ctx), donard_error(server->ctx));
		pause_for_a_while(&server->destage);
	}
	return rc > 0;
}

/* TAIL and REUSE, once no read uses the log. */
static void retire(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;
	int rc;

	if (server->active_reads) {
		end_slow_readers(server);
		return;
	}
	if (!has_what_it_was_given(server) || !dnd_cache_nvram_sound(server))
		return;
	server->tally.counts.destaged_bytes += destage->done_bytes;
	rc = dnd_cache_retire(&server->log, destage->plan.upto);
	if (rc)
		dnd_cache_server_fail(server, rc);
	dnd_cache_plan_free(&destage->plan);
	destage->state = DND_DESTAGE_IDLE;
	server->again = true;
	fails_no_more(server);
}

/* Writes the whole plan again, or makes a new one if there was none.  Waits as long as a flush would not reach the drive. */
static void resume(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;

	if (!is_flushed(server)) {
		pause_for_a_while(destage);
		return;
	}
	from_the_start(server);
	destage->state = destage->plan.upto ? DND_DESTAGE_WRITING : DND_DESTAGE_IDLE;
}

static void step(struct dnd_cache_server *server)
{
	struct dnd_destage *destage = &server->destage;

	switch (destage->state) {
	case DND_DESTAGE_IDLE:
		plan(server);
		break;
	case DND_DESTAGE_WRITING:
		if (!trimmed(server))
			break;
		write_some(server);
		if (destage->failed && !destage->under_way)
			pause_for_a_while(destage);
		else if (!destage->failed && !destage->under_way &&
			 destage->next == destage->plan.write_count)
			all_written(server);
		break;
	case DND_DESTAGE_FLUSHING:
		if (destage->under_way)
			break;
		if (destage->failed || !is_flushed(server))
			pause_for_a_while(destage);
		else
			begin_to_retire(destage);
		break;
	case DND_DESTAGE_RETIRING:
		retire(server);
		break;
	case DND_DESTAGE_PAUSED:
		if (dnd_now_ns() >= destage->until_ns)
			resume(server);
		break;
	}
}

void dnd_cache_destage_step(struct dnd_cache_server *server)
{
	enum dnd_destage_state before;

	server->destage.write_io.done = on_write;
	server->destage.flush_io.done = on_flush;
	do {
		before = server->destage.state;
		step(server);
	} while (server->destage.state != before && !server->ends);
}

void dnd_cache_destage_close(struct dnd_cache_server *server)
{
	dnd_trimmer_close(server->trimmer);	/* it reads the plan */
	dnd_cache_plan_free(&server->destage.plan);
}
