// SPDX-License-Identifier: Apache-2.0
/*
 * Does the drive have what it was given?  A bridge may pass what a drive writes into the NVRAM, and still lose what the drive
 * reads from there: the drive then gets other bytes, and reports success.  No proof of the queue shows this, since persistent
 * memory has no spare block for it (queue/pair.c).  So before the tail moves for the first time, a block of the plan is read
 * back and compared.
 *
 * Instead of lost bytes, the drive gets 0x00 or 0xff.  A correct block with any byte but 0x00 excludes the first case, and
 * one with any byte but 0xff the second; most blocks exclude both.  A plan without such a block holds nothing that could be
 * lost in that way.
 *
 * A client can write its window at any time.  If its bytes there are not those that were acknowledged, the client is cut off,
 * and the block proves nothing.  It may also have put the acknowledged bytes back after the drive had fetched others.  So a
 * client whose block differs is cut off in any case, and the plan is written again.  Until the tail has moved, nobody else
 * gets that window, so this time the drive fetches the very bytes that it is compared with: if the block differs again, the
 * drive is blamed.
 */
#include <stdio.h>

#include "cache/server.h"

#define PART_BYTES	4096U	/* at most so much of a block is compared */
#define LOOKS		256	/* at most so many blocks are looked at in one round */
#define NOT_ZEROS	1U	/* excluded: the drive got 0x00 instead */
#define NOT_ONES	2U
#define ALL_EXCLUDED	(NOT_ZEROS | NOT_ONES)

static size_t part_bytes(const struct dnd_cache_server *server)
{
	return dnd_min(server->log.super.block_bytes, PART_BYTES);
}

static unsigned int excludes(const uint8_t *bytes, size_t length)
{
	uint8_t any = 0, all = 0xff;

	for (size_t i = 0; i < length; i++) {
		any |= bytes[i];
		all &= bytes[i];
	}
	return (any != 0 ? NOT_ZEROS : 0) | (all != 0xff ? NOT_ONES : 0);
}

/* The block that is looked at, in the NVRAM and on the drive. */
static struct dnd_cache_run block_of(const struct dnd_cache_server *server)
{
	const struct dnd_readback *back = &server->destage.readback;
	struct dnd_cache_run run = server->destage.plan.writes[back->run];

	run.data_at += back->offset;
	run.drive_offset += back->offset;
	run.length_bytes = server->log.super.block_bytes;
	return run;
}

static void next_block(struct dnd_cache_server *server)
{
	struct dnd_readback *back = &server->destage.readback;

	back->offset += server->log.super.block_bytes;
	if (back->offset < server->destage.plan.writes[back->run].length_bytes)
		return;
	back->run++;
	back->offset = 0;
}

/* No read of a client is under way meanwhile, so all their places are free. */
static uint64_t staging(const struct dnd_cache_server *server)
{
	return server->reads[0].staging;
}

static bool load(struct dnd_cache_server *server, uint64_t at, uint8_t *bytes)
{
	if (!server->nvram.store.read(&server->nvram.store, at, bytes, part_bytes(server)))
		return true;
	dnd_cache_server_fail(server, dnd_cache_break(&server->log));
	return false;
}

static void on_read(struct dnd_cache_server *server, struct dnd_cache_io *io, const struct donard_completion *completion)
{
	struct dnd_readback *back = &server->destage.readback;

	(void)io;
	back->arrived = true;
	back->result = completion->result;
	snprintf(back->why, sizeof(back->why), "%s", completion->error);
	if (back->result < 0 && back->result != -ENOMEM)
		dnd_cache_check_gone(server, completion->error_code);
}

/* Reads the block over its complement, so that bytes that were there before are not taken for the drive's. */
static int ask(struct dnd_cache_server *server, const struct dnd_cache_run *block, uint8_t *bytes)
{
	struct dnd_readback *back = &server->destage.readback;
	int rc;

	for (size_t i = 0; i < part_bytes(server); i++)
		bytes[i] = (uint8_t)~bytes[i];
	if (server->nvram.store.write(&server->nvram.store, staging(server), bytes, part_bytes(server))) {
		dnd_cache_server_fail(server, dnd_cache_break(&server->log));
		return 0;
	}
	back->io.done = on_read;
	rc = donard_queue_read(server->queue, server->file, block->drive_offset, server->nvram.memory, staging(server),
			       block->length_bytes, &back->io);
	back->asked = !rc;
	return rc == -EAGAIN || rc == -ENOMEM ? 0 : rc ? rc : 1;
}

/* Reads the block from the drive if it can exclude a case that is not excluded yet, or else goes on to the next block. */
static int look(struct dnd_cache_server *server)
{
	const struct dnd_cache_run block = block_of(server);
	uint8_t bytes[PART_BYTES];

	if (!load(server, block.data_at, bytes))
		return 0;
	if (excludes(bytes, part_bytes(server)) & ~server->destage.readback.excluded)
		return ask(server, &block, bytes);
	next_block(server);
	return 1;
}

static int has_other_bytes(struct dnd_cache_server *server)
{
	return dnd_fail(server->ctx, DND_E_NOT_DELIVERED, "%s: it reported success, and has other bytes than it was given: it does not "
			"really read from %s (an emulated IOMMU, or a bridge that drops peer-to-peer traffic). The log keeps them; put "
			"both below one PCIe switch without such an IOMMU.", server->drive.path,
			dnd_memory_name(server->nvram.memory));
}

/* Returns the one write of the plan that has the bytes there: no record's bytes lie over another's. */
static const struct dnd_cache_record *write_of(const struct dnd_cache_server *server, uint64_t data_at)
{
	const struct dnd_cache_log *log = &server->log;

	for (uint64_t sequence = log->tail; sequence <= server->destage.plan.upto; sequence++) {
		const struct dnd_cache_record *record = dnd_cache_record(log, sequence);

		if (record->type == DND_CACHE_WRITE && data_at >= record->data_at &&
		    data_at - record->data_at < record->length_bytes)
			return record;
	}
	return NULL;
}

/*
 * Do the bytes of the write that the block belongs to differ from those that were acknowledged?  A reset of the device changes
 * them, too, so a new barrier has to show that there was none.
 */
static bool changed_meanwhile(struct dnd_cache_server *server)
{
	const struct dnd_cache_record *record = write_of(server, block_of(server).data_at);
	uint32_t sum;

	if (!record || dnd_cache_sum_bytes(server, record->data_at, record->length_bytes, &sum) ||
	    sum == record->data_checksum)
		return false;
	server->sound = false;
	return true;
}

/* Once the client is cut off, its bytes do not change any more.  It may have left before. */
static int cut_off_the_writer(struct dnd_cache_server *server)
{
	unsigned int window = dnd_cache_window_of(&server->log, block_of(server).data_at);

	if (server->sessions[window])
		dnd_cache_session_fail(server->sessions[window], -EPROTO, "it changed bytes after they were acknowledged");
	next_block(server);
	return 1;
}

/* A client that is cut off keeps its queue pair until the end of the round, so the plan is not written again before. */
static int doubt(struct dnd_cache_server *server)
{
	struct dnd_readback *back = &server->destage.readback;
	unsigned int window = dnd_cache_window_of(&server->log, block_of(server).data_at);

	if (server->sessions[window]) {
		dnd_cache_session_fail(server->sessions[window], -EPROTO, "the drive has other bytes than were acknowledged: "
				       "this client changed them for a while, or the drive does not really read the NVRAM");
		return 0;
	}
	if (back->doubted == window + 1)
		return has_other_bytes(server);
	back->doubted = window + 1;
	return -EAGAIN;
}

static int compare(struct dnd_cache_server *server)
{
	struct dnd_readback *back = &server->destage.readback;
	uint8_t given[PART_BYTES], had[PART_BYTES];
	bool differs, changed;

	if (!back->arrived)
		return 0;
	back->asked = back->arrived = false;
	if (back->result == -ENOMEM)
		return 0;
	if (back->result != server->log.super.block_bytes)
		return dnd_fail(server->ctx, DND_E_DEVICE, "%s: what it was given cannot be read back%s%s", server->drive.path,
				*back->why ? ": " : "", back->why);
	if (!load(server, block_of(server).data_at, given) || !load(server, staging(server), had))
		return 0;
	differs = memcmp(given, had, part_bytes(server));
	changed = differs && changed_meanwhile(server);
	if (server->ends || !dnd_cache_nvram_sound(server))
		return 0;
	if (differs)
		return changed ? cut_off_the_writer(server) : doubt(server);
	back->excluded |= excludes(given, part_bytes(server));
	return 1;
}

void dnd_cache_read_back_anew(struct dnd_cache_server *server)
{
	server->destage.readback.run = 0;
	server->destage.readback.offset = 0;
}

int dnd_cache_read_back(struct dnd_cache_server *server)
{
	const struct dnd_readback *back = &server->destage.readback;
	int rc = 1;

	for (int looks = 0; rc > 0 && back->excluded != ALL_EXCLUDED && back->run < server->destage.plan.write_count; looks++) {
		if (looks == LOOKS) {
			server->again = true;
			return 0;
		}
		rc = back->asked ? compare(server) : look(server);
	}
	return rc;
}
