/* SPDX-License-Identifier: Apache-2.0 */
/* What the administrator's calls share: the control node, the binding of functions, failures. */
#ifndef DND_REGION_CONTROL_H
#define DND_REGION_CONTROL_H

#include "region/region.h"

/* Opens /dev/p2pmem_control; returns a descriptor or -errno. */
int dnd_control_open(struct donard_context *ctx);
/* Fails because the region @name does not exist, has no node here, or is being removed; the text says which. */
int dnd_region_missing(struct donard_context *ctx, const char *name);

#define DND_OVERRIDE_BYTES	64

/*
 * pci_bind.c: binds a PCI function to the driver p2pmem, and unbinds it.  dnd_pci_bind()
 * returns 1 if it bound the function, which the caller undoes after a later failure, and
 * 0 if the function was bound already.  With 1, @override is the driver_override that the
 * function had before, or ""; dnd_pci_unbind() sets the one that it is given.
 */
int dnd_pci_bind(struct donard_context *ctx, const char *bdf, char override[DND_OVERRIDE_BYTES]);
int dnd_pci_unbind(struct donard_context *ctx, const char *bdf, const char *override);

#define DND_ANEW_BYTES	256

/* pci_bind.c: the commands that make the PCI core set a function up again. */
void dnd_pci_anew(const struct donard_context *ctx, const char *bdf, char text[DND_ANEW_BYTES]);

/*
 * Keeps other processes from adding a region to a pci-bar function, or unbinding it after its last one, until the caller
 * closes *@lock, which is -1 where there is nothing to lock: a virtual function, or a sysfs that is read-only.  Returns 0;
 * -EINTR, with a text, if a signal ended the wait.
 */
int dnd_pci_lock(struct donard_context *ctx, const char *bdf, int *lock);
void dnd_pci_unlock(int lock);

#endif /* DND_REGION_CONTROL_H */
