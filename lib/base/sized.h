/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that grow from release to release, and begin with their size.  Copy takes the members that both
 * sides know from the caller's structure to one of @known bytes, and zeroes the rest.  It returns -EINVAL if
 * the caller's has no size, and -E2BIG if it sets members that are not known here.  Give fills the caller's
 * structure and leaves its size.  Neither uses a context: libdonard-meter is built with the same file.
 */
#ifndef DND_SIZED_H
#define DND_SIZED_H

#include <stdbool.h>
#include <stddef.h>

bool dnd_struct_has_size(const void *caller);
/* The error text for a structure without a size; the arguments are its name, twice. */
#define DND_NO_SIZE	"struct %s has no size. Set its first member to sizeof(struct %s)."
int dnd_struct_copy(void *to, size_t known, const void *from);
void dnd_struct_give(void *caller, const void *from, size_t known);

#endif /* DND_SIZED_H */
