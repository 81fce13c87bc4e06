/* SPDX-License-Identifier: Apache-2.0 */
/* What this user may do with a device node.  It uses no context, for the reason that files.h gives. */
#ifndef DND_RIGHTS_H
#define DND_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool dnd_in_group(gid_t group);
/*
 * Is this process in a user namespace other than the machine's initial one?  *@outside, unless NULL, becomes the uid
 * of this user outside of it, or UINT32_MAX if it has none.
 */
bool dnd_in_user_namespace(unsigned int *outside);
/* Has this process the capability (CAP_* of linux/capability.h) over the machine, not only over a user namespace? */
bool dnd_has_capability(unsigned int capability);
/* Is this process under a seccomp filter?  True if /proc does not say. */
bool dnd_is_filtered(void);
/* The obstacle that keeps even root from the node, and the remedy, without a full stop; NULL if none is found. */
const char *dnd_node_obstacle(const char *path, bool writes);
/* What to do if the node's owner, group and mode keep a user namespace out; NULL if this process is in none. */
const char *dnd_namespace_remedy(void);
/* What to do if root cannot open the node, though owner, group and mode do not stop root; NULL if this is not root. */
const char *dnd_root_remedy(void);
/* What to do so that this user can open the node to read and write, without a full stop; "" if there is no node. */
void dnd_node_remedy(const char *path, char *text, size_t text_bytes);

#endif /* DND_RIGHTS_H */
