/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that grow from release to release, and begin with their size.  Copy takes the members that
 * both know from a caller's to one of @known bytes and zeroes the rest: -EINVAL of one without a size,
 * -E2BIG of one with members set that are not known here.  Give fills the caller's, and leaves its size.
 * Knows no context: libdonard-meter is built with the same file.
 */
#ifndef DND_SIZED_H
#define DND_SIZED_H

#include <stdbool.h>
#include <stddef.h>

bool dnd_struct_has_size(const void *caller);
/* What is wrong with one that has none; of its name, twice. */
#define DND_NO_SIZE	"struct %s has no size. Set its first member to sizeof(struct %s)."
int dnd_struct_copy(void *to, size_t known, const void *from);
void dnd_struct_give(void *caller, const void *from, size_t known);

#endif /* DND_SIZED_H */
