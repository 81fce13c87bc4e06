// SPDX-License-Identifier: Apache-2.0
/* The meter for a machine that has no other: it counts no bytes, and says why. */
#include <stdio.h>

#include "meter/kind.h"

static int open_none(struct donard_context *ctx, struct donard_meter *meter)
{
	(void)ctx;
	if (!meter->missing[0])
		snprintf(meter->missing, sizeof(meter->missing), "No bytes are counted: the meter 'none' was asked for.");
	return 0;
}

static int begin_none(struct donard_context *ctx, struct donard_meter *meter)
{
	(void)ctx;
	(void)meter;
	return 0;
}

static int end_none(struct donard_context *ctx, struct donard_meter *meter,
		    struct donard_measurement *result)
{
	(void)ctx;
	dnd_missing(result, "%s", meter->missing);
	return 0;
}

static void close_none(struct donard_meter *meter)
{
	(void)meter;
}

const struct dnd_meter_kind dnd_meter_none = {
	.name = "none", .open = open_none, .begin = begin_none, .end = end_none, .close = close_none,
};
