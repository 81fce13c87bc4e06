/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names below /dev that mean no device, or another one.  A name that does not exist means a drive whose node is missing or
 * whose name is mistyped, and never a new file, which would fill the RAM disk there and go unnoticed.  This file uses no
 * context, because donard-cli is built with it, too.
 */
#ifndef DND_NODES_H
#define DND_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Would a new file of that name lie below @dev_root, after links are followed?  False below /dev/shm, which is for files. */
bool dnd_new_below_dev(const char *dev_root, const char *path);
/*
 * Is the node @path out of date: does it lead to the block device @device, although the kernel, device-mapper, LVM or mdadm
 * now gives that name to another device?  A container's node stays when a device gets another number.  If so, @text says it,
 * as "PATH: cause. Remedy."  A name that the kernel does not know is accepted, except in mapper/ and in the folder of the
 * volume's own group, where each node has the name of its volume.
 */
bool dnd_node_is_stale(const char *sysfs_root, const char *dev_root, const char *path, dev_t device, char *text,
		       size_t text_bytes);
/* Why there is no node of that name, and the remedy, as "PATH: cause. Remedy." */
void dnd_no_node(const char *sysfs_root, const char *path, char *text, size_t text_bytes);
/*
 * How to get a node of a device that the kernel has, without a full stop.  @type: as mknod takes it; @number: "259:3", or ""
 * if it is not known.
 */
void dnd_node_making(const char *path, char type, const char *number, char *text, size_t text_bytes);

#endif /* DND_NODES_H */
