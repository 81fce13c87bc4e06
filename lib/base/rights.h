/* SPDX-License-Identifier: Apache-2.0 */
/* What this user may do with a device node.  Knows no context: see files.h. */
#ifndef DND_RIGHTS_H
#define DND_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool dnd_in_group(gid_t group);
/* In another one than the machine's?  *@outside, unless NULL: who this user is outside, UINT32_MAX: nobody. */
bool dnd_in_user_namespace(unsigned int *outside);
/* CAP_* of linux/capability.h over this machine, and not over a user namespace alone. */
bool dnd_has_capability(unsigned int capability);
/* What forbids the node to root as well, and what helps, without a full stop; NULL: nothing that can be asked. */
const char *dnd_node_obstacle(const char *path, bool writes);
/* What lets a user namespace in where owner, group and mode of a node do not; NULL: this process is in none. */
const char *dnd_namespace_remedy(void);
/* What lets root in whom the node's owner, group and mode do not keep out; NULL: this is not root. */
const char *dnd_root_remedy(void);
/* What lets this user open the node for reading and writing, without a full stop; "" if there is no such node. */
void dnd_node_remedy(const char *path, char *text, size_t text_bytes);

#endif /* DND_RIGHTS_H */
