// SPDX-License-Identifier: Apache-2.0
/* See bars.h. */
#include "region/bars.h"

void dnd_bars_read(const struct donard_context *ctx, const char *bdf, struct dnd_bar bars[DND_BARS])
{
	char text[2048];

	dnd_sysfs_lines(ctx, text, sizeof(text), "bus/pci/devices/%s/resource", bdf);
	dnd_bars_parse(text, bars);
}

uint64_t dnd_bar_largest(const struct donard_context *ctx, const char *bdf, unsigned int number)
{
	char text[32];

	dnd_sysfs_read(ctx, text, sizeof(text), "bus/pci/devices/%s/resource%u_resize", bdf, number);
	return dnd_bar_largest_of(text);
}
