// SPDX-License-Identifier: Apache-2.0
/* See donard/meter.h.  Chooses a kind of meter, and begins and ends its counting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter/kind.h"

/* The best kind comes first. */
static const struct dnd_meter_kind *const kinds[] = {
	&dnd_meter_lab, &dnd_meter_likwid, &dnd_meter_perf, &dnd_meter_resctrl, &dnd_meter_none,
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static int open_kind(struct donard_context *ctx, struct donard_meter *meter,
		     const struct dnd_meter_kind *kind)
{
	meter->kind = kind;
	meter->state = NULL;
	return kind->open(ctx, meter);
}

/*
 * Opens the first kind that is available, and notes why those before it are not, whatever the reason: "none" is available
 * always.  A want of descriptors or memory says nothing about a kind.
 */
static int open_best(struct donard_context *ctx, struct donard_meter *meter)
{
	size_t used = 0;
	int rc = -EOPNOTSUPP;

	for (size_t i = 0; i < KINDS; i++) {
		rc = open_kind(ctx, meter, kinds[i]);
		if (!rc || dnd_error_is_want(rc))
			break;
		if (used < sizeof(meter->missing))
			used += (size_t)snprintf(meter->missing + used,
						 sizeof(meter->missing) - used, "%s%s: %s",
						 used ? " " : "", kinds[i]->name, donard_error(ctx));
	}
	return rc;
}

static int open_named(struct donard_context *ctx, struct donard_meter *meter, const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i]->name, name))
			return open_kind(ctx, meter, kinds[i]);
	return dnd_meter_fail(ctx, DND_E_BAD_OPTION, "there is no meter '%s'. There are: lab, likwid, perf, "
			"resctrl, none.", name);
}

DND_METER_PUBLIC int donard_meter_open(struct donard_context *ctx, const char *kind,
				 struct donard_meter **meter)
{
	DND_USES(CONTEXT, ctx);
	struct donard_meter *made = calloc(1, sizeof(*made));
	int rc;

	if (!made)
		return dnd_meter_fail_memory(ctx);
	made->ctx = ctx;
	made->process = getpid();
	rc = kind ? open_named(ctx, made, kind) : open_best(ctx, made);
	if (rc) {
		free(made);
		return rc;
	}
	dnd_instructions_open(made);
	dnd_handle_made(DND_A_METER, made, ctx);
	*meter = made;
	return 0;
}

/* Events, tools and the lab's meter are shared with the parent, which may be counting. */
static bool is_inherited(const struct donard_meter *meter)
{
	return meter->process != getpid();
}

static int fail_inherited(const struct donard_meter *meter)
{
	return donard_fail(meter->ctx, EPERM, NULL, "this meter belongs to the process that opened it, and this one is its child. "
			   "Open one in each.");
}

DND_METER_PUBLIC void donard_meter_close(struct donard_meter *meter)
{
	DND_LETS_GO(METER, meter);
	if (!meter)
		return;
	if (is_inherited(meter))
		meter->counting = false;
	dnd_instructions_close(meter);
	meter->kind->close(meter);
	dnd_handle_free(meter, sizeof(*meter));
}

DND_METER_PUBLIC const char *donard_meter_name(const struct donard_meter *meter)
{
	DND_DEMANDS(METER, meter);
	return meter->kind->name;
}

DND_METER_PUBLIC int donard_meter_own_of(struct donard_meter *meter, pid_t pid, const void *memory, size_t bytes)
{
	DND_USES(METER, meter);
	if (meter->own_count == DND_METER_OWN_MAX)
		return dnd_meter_fail(meter->ctx, DND_E_NO_SPACE, "a meter takes at most %d ranges of memory.",
				DND_METER_OWN_MAX);
	meter->own[meter->own_count++] = (struct dnd_meter_own){ pid, memory, bytes };
	return 0;
}

DND_METER_PUBLIC int donard_meter_own(struct donard_meter *meter, const void *memory, size_t bytes)
{
	DND_USES(METER, meter);
	return donard_meter_own_of(meter, 0, memory, bytes);
}

DND_METER_PUBLIC int donard_meter_begin(struct donard_meter *meter)
{
	DND_USES(METER, meter);
	int rc;

	if (is_inherited(meter))
		return fail_inherited(meter);
	if (meter->counting)
		return dnd_meter_fail(meter->ctx, DND_E_BUSY, "this meter is counting already: end that first.");
	rc = meter->kind->begin(meter->ctx, meter);
	if (rc)
		return rc;
	dnd_instructions_begin(meter);
	meter->started_seconds = dnd_now_seconds();
	meter->counting = true;
	return 0;
}

static int not_counting(const struct donard_meter *meter, struct donard_measurement *found,
			struct donard_measurement *result)
{
	int rc = is_inherited(meter) ? fail_inherited(meter) :
		 dnd_meter_fail(meter->ctx, DND_E_BAD_OPTION, "this meter is not counting: call donard_meter_begin() first.");

	dnd_missing(found, "Nothing was counted: %s", donard_error(meter->ctx));
	dnd_struct_give(result, found, sizeof(*found));
	return rc;
}

DND_METER_PUBLIC int donard_meter_end(struct donard_meter *meter, struct donard_measurement *result)
{
	DND_USES(METER, meter);
	struct donard_measurement found = {
		.size = sizeof(found),
		.meter = meter->kind->name,
		.exact = meter->kind->exact,
	};
	int rc;

	if (!dnd_struct_has_size(result))
		return dnd_meter_fail(meter->ctx, DND_E_BAD_OPTION, DND_NO_SIZE, "donard_measurement", "donard_measurement");
	if (!meter->counting || is_inherited(meter))
		return not_counting(meter, &found, result);
	found.seconds = dnd_now_seconds() - meter->started_seconds;
	dnd_instructions_end(meter, &found);
	rc = meter->kind->end(meter->ctx, meter, &found);
	if (rc)
		found.known = 0;	/* of instructions either: they are counted beside bytes */
	meter->counting = false;
	meter->own_count = 0;
	dnd_struct_give(result, &found, sizeof(found));
	return rc;
}
