/* SPDX-License-Identifier: Apache-2.0 */
/* The names of PCI devices, from libpci's database. */
#ifndef DND_REGION_PCI_NAMES_H
#define DND_REGION_PCI_NAMES_H

#include "base/base.h"

struct pci_access;

/* Returns NULL if memory is lacking. */
struct pci_access *dnd_pci_names_open(void);
void dnd_pci_names_close(struct pci_access *names);
/* Writes the names of the function's vendor and device. */
void dnd_pci_name(const struct donard_context *ctx, struct pci_access *names, const char *bdf, char *name,
		  size_t name_bytes);

#endif /* DND_REGION_PCI_NAMES_H */
