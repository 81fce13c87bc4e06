/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration space of a device: one function of PCI Express with memory BARs and MSI-X. */
#ifndef LAB_DEVICES_PCI_H
#define LAB_DEVICES_PCI_H

#include <stdbool.h>
#include <stdint.h>

#define PCI_CONFIG_BYTES 4096
#define PCI_BARS 6

struct pci_bar {
	/* A power of two; 0: none. */
	uint64_t len_bytes;
	/* Takes the next BAR as well. */
	bool is_64bit;
	bool prefetchable;
};

/* The identity of a device, as its driver's header has it. */
struct pci_identity {
	uint16_t vendor, device;
	/* Base class, subclass, interface: 0x068000 for "other bridge". */
	uint32_t class;
	struct pci_bar bars[PCI_BARS];
	unsigned int vectors;
	/* The offsets in BAR 0 of the table of MSI-X and of its pending bits. */
	uint32_t table_offset, pending_offset;
	/* As encoded in the link status register. */
	unsigned int link_speed, link_width;
};

struct pci_config {
	const struct pci_identity *identity;
	uint8_t bytes[PCI_CONFIG_BYTES];
	/* Bits that a write changes. */
	uint8_t writable[PCI_CONFIG_BYTES];
};

/* Puts all registers into their state after power on. */
void pci_init(struct pci_config *config, const struct pci_identity *identity);
/* The registers get what they had at first. */
void pci_reset(struct pci_config *config);
void pci_write(struct pci_config *config, uint64_t offset, const void *data, uint32_t len_bytes);
/* May the function begin transfers by itself? */
bool pci_is_master(const struct pci_config *config);

#endif
