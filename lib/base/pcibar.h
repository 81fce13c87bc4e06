/* SPDX-License-Identifier: Apache-2.0 */
/* The BARs of a PCI function, as files of sysfs have them.  This file uses no context, for the reason that files.h gives. */
#ifndef DND_PCIBAR_H
#define DND_PCIBAR_H

#include <stdbool.h>
#include <stdint.h>

#define DND_BARS	6

/* Flags in the file "resource" (the kernel's include/linux/ioport.h). */
#define DND_BAR_MEM	0x200
#define DND_BAR_PREFETCH 0x2000
#define DND_BAR_64	0x100000
#define DND_BAR_UNSET	0x20000000

struct dnd_bar {
	uint64_t start, bytes, flags;	/* all 0: there is none */
};

/* @text: the contents of the file "resource".  A BAR that it lacks is all 0 afterwards. */
void dnd_bars_parse(const char *text, struct dnd_bar bars[DND_BARS]);
/* Has neither the firmware nor the kernel found room for it? */
bool dnd_bar_unset(const struct dnd_bar *bar);
/* @text: the contents of "resourceN_resize", or "".  Returns the largest size of the BAR; 0 if it cannot be resized. */
uint64_t dnd_bar_largest_of(const char *text);

#endif /* DND_PCIBAR_H */
