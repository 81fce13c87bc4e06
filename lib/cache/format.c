// SPDX-License-Identifier: Apache-2.0
/* Finds out what lies in the NVRAM, and lays out an empty log over it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "cache/log.h"

#define RECORD_FOR_BYTES	4096U	/* bytes of data for each record; smaller writes run out of records first */
#define LEAST_WINDOW_BYTES	(64U << 10)
#define LOOK_BYTES		(256U << 10)	/* read at once */

/* ---- what the NVRAM holds ---- */

/* Compares each byte with the one before it; the first is zero.  memcmp() is the fastest loop there is. */
static bool all_zero(const uint8_t *bytes, size_t length)
{
	return !length || (!bytes[0] && !memcmp(bytes, bytes + 1, length - 1));
}

/*
 * A copy is whole if its checksum is right and its members are consistent.  The NVRAM may have become smaller than the
 * log; that is not checked here.
 */
static bool whole(const struct dnd_cache_super *super)
{
	uint64_t record_bytes = sizeof(struct dnd_cache_record);

	return super->checksum == dnd_cache_super_checksum(super) && super->records &&
	       super->block_bytes && super->window_bytes &&
	       super->windows && !(super->window_bytes % super->block_bytes) &&
	       super->records <= super->length_bytes / record_bytes &&
	       DND_CACHE_RECORDS_AT + super->records * record_bytes <= super->data_at &&
	       super->data_at <= super->length_bytes &&
	       memchr(super->drive_id, '\0', sizeof(super->drive_id)) &&
	       super->window_bytes <= (super->length_bytes - super->data_at) / super->windows;
}

static bool has_magic(const struct dnd_cache_super *super, const char *magic)
{
	return !memcmp(super->magic, magic, sizeof(super->magic));
}

/*
 * If one copy is whole, this is a log, whatever the other copy is.  The checksum of another version may
 * lie elsewhere and cannot be checked, so such a log counts only if both copies name that version.  An interrupted
 * format leaves its mark in both copies, or in one beside a whole one.  If the copy beside the mark belongs to a log and is not
 * whole, that log is damaged, and all its records may still be there.
 */
int dnd_cache_look_for_log(struct dnd_cache_store *store, struct dnd_cache_super *super,
			   enum dnd_cache_found *found)
{
	struct dnd_cache_super copies[DND_CACHE_COPIES];
	bool unfinished = false, log = false;

	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++) {
		int rc = store->read(store, DND_CACHE_SUPER_AT(copy), super, sizeof(*super));

		if (rc)
			return rc;
		*found = DND_CACHE_FOUND_LOG;
		if (has_magic(super, DND_CACHE_MAGIC) && super->version == DND_CACHE_VERSION && whole(super))
			return 0;
		log |= has_magic(super, DND_CACHE_MAGIC);
		unfinished |= has_magic(super, DND_CACHE_UNFINISHED);
		copies[copy] = *super;
	}
	if (!log)
		*found = unfinished ? DND_CACHE_FOUND_UNFINISHED : DND_CACHE_FOUND_NOTHING;
	else if (!has_magic(&copies[0], DND_CACHE_MAGIC) || !has_magic(&copies[1], DND_CACHE_MAGIC) ||
		 copies[0].version != copies[1].version || super->version == DND_CACHE_VERSION)
		*found = DND_CACHE_FOUND_DAMAGED;
	return 0;
}

/* Looks at all of the NVRAM, because data of a file system or a partition may lie behind any number of zeros. */
static int look_for_others(struct dnd_cache_store *store, enum dnd_cache_found *found)
{
	uint8_t *bytes = malloc(LOOK_BYTES);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < store->length_bytes && !rc && *found == DND_CACHE_FOUND_NOTHING; at += LOOK_BYTES) {
		size_t length = dnd_min(LOOK_BYTES, store->length_bytes - at);

		rc = store->read(store, at, bytes, length);
		if (!rc && !all_zero(bytes, length))
			*found = DND_CACHE_FOUND_OTHER;
	}
	free(bytes);
	return rc;
}

int dnd_cache_look(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_super *super, enum dnd_cache_found *found)
{
	int rc;

	*found = DND_CACHE_FOUND_NOTHING;
	if (store->length_bytes < DND_CACHE_RECORDS_AT)
		return 0;
	rc = dnd_cache_look_for_log(store, super, found);
	if (!rc && *found == DND_CACHE_FOUND_NOTHING)
		rc = look_for_others(store, found);
	return rc ? dnd_fail_errno(ctx, -rc, "the NVRAM cannot be read") : 0;
}

/* ---- an empty log ---- */

static bool can_be(const struct dnd_cache_geometry *geometry)
{
	uint32_t block = geometry->block_bytes;

	return geometry->windows && block &&
	       (block < DND_CACHE_PAGE_BYTES ? !(DND_CACHE_PAGE_BYTES % block) : !(block % DND_CACHE_PAGE_BYTES));
}

static int lay_out(struct donard_context *ctx, const struct dnd_cache_geometry *geometry,
		   struct dnd_cache_super *super)
{
	uint64_t bytes = geometry->length_bytes, unit = dnd_max(geometry->block_bytes, DND_CACHE_PAGE_BYTES);
	uint64_t per_record = RECORD_FOR_BYTES + sizeof(struct dnd_cache_record);
	uint64_t least = dnd_max(LEAST_WINDOW_BYTES, DND_CACHE_WINDOW_REQUESTS * unit);

	if (!can_be(geometry))
		return dnd_fail(ctx, DND_E_BAD_OPTION, "no log can have %u windows and blocks of %u bytes: use one window "
				"or more, and a drive whose blocks divide %u bytes or are multiples of them.",
				geometry->windows, geometry->block_bytes, DND_CACHE_PAGE_BYTES);
	*super = (struct dnd_cache_super){
		.version = DND_CACHE_VERSION, .length_bytes = bytes, .windows = geometry->windows,
		.block_bytes = geometry->block_bytes, .drive_bytes = geometry->drive_bytes,
	};
	memcpy(super->magic, DND_CACHE_MAGIC, sizeof(super->magic));
	snprintf(super->drive_id, sizeof(super->drive_id), "%s", geometry->drive_id);
	if (bytes > DND_CACHE_RECORDS_AT)
		super->records = (bytes - DND_CACHE_RECORDS_AT) / per_record;
	super->data_at = dnd_round_up(DND_CACHE_RECORDS_AT +
				      super->records * sizeof(struct dnd_cache_record), unit);
	if (super->data_at < bytes)
		super->window_bytes = dnd_round_down((bytes - super->data_at) / geometry->windows, unit);
	if (super->window_bytes < least)
		return dnd_fail_member(ctx, DND_E_NO_SPACE,
				       DND_LEAST(NULL, bytes, super->data_at + geometry->windows * least),
				       "%llu bytes of NVRAM are too little for a log with %u clients: "
				       "each needs %llu KiB, and the log another %llu bytes. Use more NVRAM, or fewer clients.",
				       (unsigned long long)bytes, geometry->windows, (unsigned long long)least >> 10,
				       (unsigned long long)super->data_at);
	return 0;
}

/* Writes @length bytes of both copies, from @from on, and makes them durable. */
static int write_supers(struct dnd_cache_store *store, const struct dnd_cache_super *super, size_t from,
			size_t length)
{
	int rc = 0;

	for (unsigned int copy = 0; copy < DND_CACHE_COPIES && !rc; copy++)
		rc = store->write(store, DND_CACHE_SUPER_AT(copy) + from, (const uint8_t *)super + from, length);
	return rc ? rc : store->barrier(store);
}

/*
 * The magic word says at first that a log is being laid out, and in the end that it is there.  A power cut
 * cannot tear this word, and so leaves either a format that can be repeated, or a whole log.  Records and tails
 * of a former log do not count, because they have another identity.
 */
static int write_log(struct dnd_cache_store *store, const struct dnd_cache_super *super)
{
	static const size_t magic_bytes = sizeof(super->magic);
	struct dnd_cache_super begun = *super;
	int rc;

	memcpy(begun.magic, DND_CACHE_UNFINISHED, magic_bytes);
	rc = write_supers(store, &begun, 0, magic_bytes);
	for (unsigned int copy = 0; copy < DND_CACHE_COPIES && !rc; copy++)
		rc = dnd_cache_write_tail(store, super, copy, (struct dnd_cache_tail){ .sequence = 1, .begun = 1 });
	if (!rc)
		rc = write_supers(store, super, magic_bytes, sizeof(*super) - magic_bytes);
	return rc ? rc : write_supers(store, super, 0, magic_bytes);
}

int dnd_cache_note_format(struct donard_context *ctx, struct dnd_cache_store *store, bool begun)
{
	struct dnd_cache_super super = { .version = 0 };
	int rc;

	if (begun)
		memcpy(super.magic, DND_CACHE_UNFINISHED, sizeof(super.magic));
	rc = write_supers(store, &super, 0, sizeof(super.magic));
	return rc ? dnd_fail_errno(ctx, -rc, "the log cannot be written to the NVRAM") : 0;
}

int dnd_cache_check_geometry(struct donard_context *ctx, const struct dnd_cache_geometry *geometry)
{
	struct dnd_cache_super super;

	return lay_out(ctx, geometry, &super);
}

int dnd_cache_format(struct donard_context *ctx, struct dnd_cache_store *store,
		     const struct dnd_cache_geometry *geometry)
{
	struct dnd_cache_super super;
	int rc = lay_out(ctx, geometry, &super);

	if (rc)
		return rc;
	if (getrandom(&super.identity, sizeof(super.identity), 0) != sizeof(super.identity))
		return dnd_fail_errno(ctx, errno, "no random number for the log's identity");
	super.checksum = dnd_cache_super_checksum(&super);
	rc = write_log(store, &super);
	return rc ? dnd_fail_errno(ctx, -rc, "the log cannot be written to the NVRAM") : 0;
}
