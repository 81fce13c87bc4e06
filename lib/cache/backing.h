/* SPDX-License-Identifier: Apache-2.0 */
/* A lasting name that identifies the drive behind a cache. */
#ifndef DND_CACHE_BACKING_H
#define DND_CACHE_BACKING_H

#include "cache/layout.h"
#include "base/base.h"
#include "donard/file.h"

/*
 * The name is the kernel's: the wwid of a namespace, with number and start of a partition behind it, or the
 * uuid of a volume or array.  For a file it is that of the drive or partition below, and the number
 * and birth time of its inode.
 */
int dnd_backing_identity(struct donard_context *ctx, const struct donard_file_info *info,
			 char identity[DND_CACHE_DRIVE_ID_BYTES]);
/*
 * Shortens a name of any length to less than @bytes: one that is longer ends with "#" and a checksum of all of it, because
 * only its end has the namespace's number.
 */
void dnd_backing_fit(const char *text, char *identity, size_t bytes);

#endif /* DND_CACHE_BACKING_H */
