/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sysfs at donard_sysfs_root().  Functions that return an int return 0 or -errno, without a text. */
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
/*
 * Calls @each for every entry, in the order of dnd_folder_each() (base/files.h).  A missing folder counts as empty if
 * sysfs itself is mounted.  Unlike the others, this sets a text on failure.
 */
int dnd_meter_each(struct donard_context *ctx, const char *folder, int (*each)(void *user, const char *entry), void *user);

#endif /* DND_METER_SYSFS_H */
