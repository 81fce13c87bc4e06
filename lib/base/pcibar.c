// SPDX-License-Identifier: Apache-2.0
/* See pcibar.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pcibar.h"

#define SIZES	44	/* bits in the capability, for 1 MiB to 8 EiB */

/* Lines "start end flags". The kernel shows a resource without bytes as one that ends right before it starts. */
static void parse_line(const char *line, struct dnd_bar *bar)
{
	unsigned long long start, end, flags;

	if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) != 3 || !flags || end <= start || end - start == UINT64_MAX)
		return;
	*bar = (struct dnd_bar){ .start = start, .bytes = end - start + 1, .flags = flags };
}

void dnd_bars_parse(const char *text, struct dnd_bar bars[DND_BARS])
{
	memset(bars, 0, DND_BARS * sizeof(*bars));
	for (int i = 0; i < DND_BARS && text; i++) {
		parse_line(text, &bars[i]);
		text = strchr(text, '\n');
		text += text ? 1 : 0;
	}
}

bool dnd_bar_unset(const struct dnd_bar *bar)
{
	return !bar->start || bar->flags & DND_BAR_UNSET;
}

/* A hexadecimal number, in which bit N stands for 2^N MiB (PCI Express Base, 7.8.6.2). */
uint64_t dnd_bar_largest_of(const char *text)
{
	uint64_t sizes = strtoull(text, NULL, 16), largest = 0;

	for (int bit = 0; bit < SIZES; bit++)
		if (sizes >> bit & 1)
			largest = 1ULL << (bit + 20);
	return largest;
}
