// SPDX-License-Identifier: Apache-2.0
/* See trial.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"
#include "utf8.h"

void say(struct trial *trial, enum direction direction, enum proof_state state, const char *format, ...)
{
	struct proof *proof = &trial->pair->proofs[direction];
	char reason[2 * CLI_ERROR_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	free(proof->reason);
	*proof = (struct proof){ .state = state, .reason = reason[0] ? cli_to_utf8(reason) : NULL };
}

void lost(struct trial *trial, enum direction direction, const char *text)
{
	const struct pair *pair = trial->pair;
	char object[128];

	trial->undelivered++;
	snprintf(object, sizeof(object), "%s %s %s", pair->client->name, direction == DIRECTION_READ ? "into" : "from",
		 pair->memory->name);
	find(trial->x, CODE_NOT_DELIVERED, object, "%s", text);
	say(trial, direction, PROOF_FAILED, "%s", text);
}

/*
 * The region is read into before it is written from, so "not supported" in the second direction is about --scratch, not the
 * route.
 */
bool is_refusal(enum direction direction, int rc)
{
	return rc == -EHOSTUNREACH || (rc == -EOPNOTSUPP && direction == DIRECTION_READ);
}

void say_failure(struct trial *trial, enum direction direction, int rc)
{
	char text[CLI_ERROR_BYTES];

	cli_in_options(donard_error(trial->x->ctx), text, sizeof(text));
	cli_say_whose_option(text);
	if (!strcmp(donard_error_code(trial->x->ctx), "not-delivered"))
		lost(trial, direction, text);
	else
		say(trial, direction, is_refusal(direction, rc) ? PROOF_REFUSED : PROOF_NOT_TRIED, "%s", text);
}

bool is(const struct trial *trial, enum direction direction, enum proof_state state)
{
	return trial->pair->proofs[direction].state == state;
}

bool either(const struct trial *trial, enum proof_state state)
{
	return is(trial, DIRECTION_READ, state) || is(trial, DIRECTION_WRITE, state);
}

void say_both(struct trial *trial, enum proof_state state, const char *reason)
{
	say(trial, DIRECTION_READ, state, "%s", reason);
	say(trial, DIRECTION_WRITE, state, "%s", reason);
}

void try_neither(struct trial *trial, const char *reason)
{
	say_both(trial, PROOF_NOT_TRIED, reason);
}

void say_not_opened(struct trial *trial, const char *instead)
{
	char why[CLI_ERROR_BYTES], text[2 * CLI_ERROR_BYTES];

	cli_in_options(donard_error(trial->x->ctx), why, sizeof(why));
	snprintf(text, sizeof(text), "not probed: %s%s", why, instead);
	try_neither(trial, text);
}

static uint64_t kept_offset(const struct donard_region_info *region, size_t bytes)
{
	return region->size_bytes - bytes;
}

int take_memory(struct trial *trial)
{
	const struct donard_region_info *region = trial->pair->memory->region;
	int rc;

	if (!region->persistent)
		return donard_memory_alloc(trial->x->ctx, region->name, trial->bytes, &trial->memory);
	rc = donard_memory_claim(trial->x->ctx, region->name, kept_offset(region, trial->bytes), trial->bytes,
				 &trial->memory);
	trial->kept = rc ? NULL : malloc(trial->bytes);
	if (!rc && (!trial->kept || donard_memory_read(trial->memory, 0, trial->kept, trial->bytes))) {
		free(trial->kept);
		trial->kept = NULL;
		donard_memory_free(trial->memory);
		trial->memory = NULL;
		return -EIO;
	}
	return rc;
}

/* Gives a persistent region its bytes back.  A failure replaces what was seen of the route, since it is worse. */
static void restore(struct trial *trial)
{
	const struct donard_region_info *region = trial->pair->memory->region;
	char text[CLI_ERROR_BYTES];
	int rc = donard_memory_write(trial->memory, 0, trial->kept, trial->bytes);

	if (!rc)
		rc = donard_memory_sync(trial->memory, DONARD_SYNC_DURABLE);
	if (!rc)
		return;
	trial->spoiled = true;
	cli_in_options(donard_error(trial->x->ctx), text, sizeof(text));
	say(trial, DIRECTION_READ, PROOF_FAILED, "%s did not get back the %zu bytes at %llu that it had: %s", region->name, trial->bytes,
	    (unsigned long long)kept_offset(region, trial->bytes), text);
}

void give_memory(struct trial *trial)
{
	if (!trial->memory)
		return;
	if (trial->kept)
		restore(trial);
	free(trial->kept);
	donard_memory_free(trial->memory);
}
