/* SPDX-License-Identifier: Apache-2.0 */
/* The BARs of a PCI function, read from sysfs. */
#ifndef DND_REGION_BARS_H
#define DND_REGION_BARS_H

#include "base/base.h"

/* A BAR that cannot be read is all 0 afterwards. */
void dnd_bars_read(const struct donard_context *ctx, const char *bdf, struct dnd_bar bars[DND_BARS]);
/* The largest size that BAR @number can have; 0 if it cannot be resized, or the kernel does not say. */
uint64_t dnd_bar_largest(const struct donard_context *ctx, const char *bdf, unsigned int number);

#endif /* DND_REGION_BARS_H */
