/* SPDX-License-Identifier: Apache-2.0 */
/* The tree that the context's donard_sysfs_root() names.  What returns an int returns 0 or -errno, without a text. */
#ifndef DND_METER_SYSFS_H
#define DND_METER_SYSFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "donard/donard.h"

int dnd_meter_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...) DND_PRINTF(3, 4);
/* Printable lines, without the newline at the end. */
int dnd_meter_text(const struct donard_context *ctx, char *text, size_t text_bytes, const char *format, ...)
	DND_PRINTF(4, 5);
int dnd_meter_number(const struct donard_context *ctx, uint64_t *number, const char *format, ...) DND_PRINTF(3, 4);
bool dnd_meter_exists(const struct donard_context *ctx, const char *format, ...) DND_PRINTF(2, 3);
/* Calls @each for every entry, in order.  A missing folder is empty, if sysfs itself is there; a failure has its text. */
int dnd_meter_each(struct donard_context *ctx, const char *folder, int (*each)(void *user, const char *entry), void *user);

#endif /* DND_METER_SYSFS_H */
