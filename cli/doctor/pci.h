/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI functions of a machine, as a tree, and facts from their configuration space. */
#ifndef DONARD_DOCTOR_PCI_H
#define DONARD_DOCTOR_PCI_H

#include "donard/donard.h"
#include "lib/base/pcibar.h"
#include "lib/base/pciconfig.h"
#include "source.h"

#define PCI_CLASS_BRIDGE	0x06
#define PCI_CLASS_DISPLAY	0x03

/* The link to the function above. */
struct pci_link {
	char speed[24], largest_speed[24];	/* "16.0 GT/s PCIe", or "" */
	unsigned int width, largest_width;	/* lanes, or 0 */
};

struct pci_function {
	char bdf[DONARD_BDF_BYTES];
	char above[DONARD_BDF_BYTES];	/* the bridge above, or "" on a root bus */
	const struct pci_function *up;	/* that bridge, or NULL */
	char root_bus[24];	/* "pci0000:00" */
	char driver[32];	/* or "" */
	char iommu[16];		/* type of its IOMMU group: "DMA", "DMA-FQ", "identity", "unknown"; "" without a group */
	uint32_t class;
	unsigned int vendor, device;
	int numa_node;		/* -1: not known */
	bool config_whole;	/* its configuration space could be read as far as capabilities can lie */
	int port;		/* type of PCI Express port (PCI_PORT_...); -1: none, or not known */
	bool has_acs;
	unsigned int acs_control;
	struct dnd_bar bars[DND_BARS];
	uint64_t largest_bytes[DND_BARS];	/* the largest size that a BAR can have; 0: it cannot be resized */
	struct pci_link link;
};

#define PCI_PORT_ROOT		4
#define PCI_PORT_UPSTREAM	5
#define PCI_PORT_DOWNSTREAM	6

struct pci {
	struct pci_function *functions;	/* sorted by address */
	size_t count;
};

/* Returns 0 or -ENOMEM.  Leaves out whatever cannot be read. */
int pci_read(const struct source *source, struct pci *pci);
void pci_forget(struct pci *pci);
const struct pci_function *pci_find(const struct pci *pci, const char *bdf);
bool pci_is_bridge(const struct pci_function *function);
/* Are ACS bits set that keep a port from routing peer requests itself?  They are those of drivers/pci/p2pdma.c. */
bool pci_redirects(const struct pci_function *function);
/* The topmost function above @function, or @function itself, on a root bus. */
const struct pci_function *pci_root_of(const struct pci_function *function);

/* Looks only at its arguments. */
void pci_parse_config(struct pci_function *function, const struct dnd_config *config);

#endif /* DONARD_DOCTOR_PCI_H */
