/* SPDX-License-Identifier: Apache-2.0 */
/* What an administrator's calls share: the node, the driver's functions, failures. */
#ifndef DND_REGION_CONTROL_H
#define DND_REGION_CONTROL_H

#include "region/region.h"

/* Opens /dev/p2pmem_control: a descriptor or -errno. */
int dnd_control_open(struct donard_context *ctx);
/* Fails because the region @name does not exist, or is about not to. */
int dnd_region_missing(struct donard_context *ctx, const char *name);

/* pci_bind.c: gives a PCI function to the driver p2pmem, and takes it back. */
/*
 * Returns 1 when this call bound the function (the caller undoes it after a
 * failure), 0 when it was bound already.
 */
int dnd_pci_bind(struct donard_context *ctx, const char *bdf);
int dnd_pci_unbind(struct donard_context *ctx, const char *bdf);

#endif /* DND_REGION_CONTROL_H */
