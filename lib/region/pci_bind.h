/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a PCI function to the driver p2pmem, and takes it back. */
#ifndef DONARD_PCI_BIND_H
#define DONARD_PCI_BIND_H

#include "base/base.h"

/*
 * Returns 1 when this call bound the function (the caller undoes it after a
 * failure), 0 when it was bound already.
 */
int dnd_pci_bind(struct donard_context *ctx, const char *bdf);
int dnd_pci_unbind(struct donard_context *ctx, const char *bdf);

#endif /* DONARD_PCI_BIND_H */
