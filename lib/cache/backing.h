/* SPDX-License-Identifier: Apache-2.0 */
/* What names the drive behind a cache, and no other. */
#ifndef DND_CACHE_BACKING_H
#define DND_CACHE_BACKING_H

#include "cache/layout.h"
#include "base/base.h"
#include "donard/file.h"

/*
 * As the kernel names it: the namespace's wwid, of a partition with its number behind, of a volume or
 * array its uuid; of a file that of the drive or partition below, its inode, and when it was born.
 */
int dnd_backing_identity(struct donard_context *ctx, const struct donard_file_info *info,
			 char identity[DND_CACHE_DRIVE_ID_BYTES]);
/* A name of any length as the log keeps it; pure. */
void dnd_backing_fit(const char *text, char identity[DND_CACHE_DRIVE_ID_BYTES]);

#endif /* DND_CACHE_BACKING_H */
