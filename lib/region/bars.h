/* SPDX-License-Identifier: Apache-2.0 */
/* The BARs of a function, as sysfs has them. */
#ifndef DND_REGION_BARS_H
#define DND_REGION_BARS_H

#include "base/base.h"

#define DND_BARS	6

/* As the file "resource" has them (include/linux/ioport.h of the kernel). */
#define DND_BAR_MEM	0x200
#define DND_BAR_PREFETCH 0x2000
#define DND_BAR_UNSET	0x20000000

struct dnd_bar {
	uint64_t start, bytes, flags;
};

/* What cannot be read stays zero. */
void dnd_bars_read(const struct donard_context *ctx, const char *bdf, struct dnd_bar bars[DND_BARS]);
/* The most that BAR @number can be resized to; 0: it cannot, or the kernel does not say. */
uint64_t dnd_bar_largest(const struct donard_context *ctx, const char *bdf, unsigned int number);

#endif /* DND_REGION_BARS_H */
