// SPDX-License-Identifier: Apache-2.0
/* See bars.h. */
#include <stdio.h>
#include <stdlib.h>

#include "region/bars.h"

#define SIZES	44	/* bits in the capability, for 1 MiB to 8 EiB */

/* The file has lines "start end flags", the first of which are the BARs. */
void dnd_bars_read(const struct donard_context *ctx, const char *bdf, struct dnd_bar bars[DND_BARS])
{
	unsigned long long start, end, flags;
	char text[2048], *line = text;

	dnd_sysfs_lines(ctx, text, sizeof(text), "bus/pci/devices/%s/resource", bdf);
	for (int i = 0; i < DND_BARS && line; i++) {
		if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) == 3 && end > start) {
			bars[i].start = start;
			bars[i].bytes = end - start + 1;
			bars[i].flags = flags;
		}
		line = strchr(line, '\n');
		line += line ? 1 : 0;
	}
}

/* The file has a hexadecimal number, in which bit N stands for 2^N MiB (PCI Express Base, 7.8.6.2). */
uint64_t dnd_bar_largest(const struct donard_context *ctx, const char *bdf, unsigned int number)
{
	char text[32] = "";
	uint64_t sizes, largest = 0;

	dnd_sysfs_read(ctx, text, sizeof(text), "bus/pci/devices/%s/resource%u_resize", bdf, number);
	sizes = strtoull(text, NULL, 16);
	for (int bit = 0; bit < SIZES; bit++)
		if (sizes >> bit & 1)
			largest = 1ULL << (bit + 20);
	return largest;
}
