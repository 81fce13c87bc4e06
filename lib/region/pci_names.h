/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI ids' names, from libpci's database. */
#ifndef DND_REGION_PCI_NAMES_H
#define DND_REGION_PCI_NAMES_H

#include "base/base.h"

struct pci_access;

/* NULL without memory. */
struct pci_access *dnd_pci_names_open(void);
void dnd_pci_names_close(struct pci_access *names);
/* Of the function: "" stays where no name is known. */
void dnd_pci_name(const struct donard_context *ctx, struct pci_access *names, const char *bdf, char *name,
		  size_t name_bytes);

#endif /* DND_REGION_PCI_NAMES_H */
