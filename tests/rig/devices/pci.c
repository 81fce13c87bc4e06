// SPDX-License-Identifier: Apache-2.0
#include "pci.h"
#include <linux/pci_regs.h>
#include <string.h>

/* The offsets of the capabilities. */
enum { EXPRESS = 0x40, MSIX = 0x80 };

static void put(uint8_t *bytes, unsigned int offset, uint64_t value, unsigned int len_bytes)
{
	memcpy(bytes + offset, &value, len_bytes);
}

static void init_bars(struct pci_config *config)
{
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &config->identity->bars[i];
		unsigned int at = PCI_BASE_ADDRESS_0 + 4 * i, len_bytes = bar->is_64bit ? 8 : 4;

		if (!bar->len_bytes)
			continue;
		put(config->bytes, at, (bar->is_64bit ? PCI_BASE_ADDRESS_MEM_TYPE_64 : 0) |
		    (bar->prefetchable ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0), 4);
		put(config->writable, at, ~(bar->len_bytes - 1), len_bytes);
	}
}

/* An endpoint that says which link it has. */
static void init_express(struct pci_config *config)
{
	const struct pci_identity *identity = config->identity;
	uint8_t *bytes = config->bytes;

	put(bytes, EXPRESS, PCI_CAP_ID_EXP | MSIX << 8, 2);
	put(bytes, EXPRESS + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4, 2);
	put(bytes, EXPRESS + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_RBER, 4);
	put(bytes, EXPRESS + PCI_EXP_LNKCAP, identity->link_speed | identity->link_width << 4, 4);
	put(bytes, EXPRESS + PCI_EXP_LNKSTA, identity->link_speed | identity->link_width << 4, 2);
	put(config->writable, EXPRESS + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_READRQ |
	    PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN, 2);
}

static void init_msix(struct pci_config *config)
{
	const struct pci_identity *identity = config->identity;
	uint8_t *bytes = config->bytes;

	put(bytes, MSIX, PCI_CAP_ID_MSIX, 2);
	put(bytes, MSIX + PCI_MSIX_FLAGS, identity->vectors - 1, 2);
	put(bytes, MSIX + PCI_MSIX_TABLE, identity->table_offset, 4);
	put(bytes, MSIX + PCI_MSIX_PBA, identity->pending_offset, 4);
	put(config->writable, MSIX + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
}

void pci_reset(struct pci_config *config)
{
	pci_init(config, config->identity);
}

void pci_init(struct pci_config *config, const struct pci_identity *identity)
{
	uint8_t *bytes = config->bytes;

	*config = (struct pci_config){ .identity = identity };
	put(bytes, PCI_VENDOR_ID, identity->vendor, 2);
	put(bytes, PCI_DEVICE_ID, identity->device, 2);
	put(bytes, PCI_SUBSYSTEM_VENDOR_ID, identity->vendor, 2);
	put(bytes, PCI_SUBSYSTEM_ID, identity->device, 2);
	put(bytes, PCI_CLASS_PROG, identity->class, 3);
	put(bytes, PCI_STATUS, PCI_STATUS_CAP_LIST, 2);
	put(bytes, PCI_CAPABILITY_LIST, EXPRESS, 1);
	put(config->writable, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE, 2);
	put(config->writable, PCI_INTERRUPT_LINE, 0xff, 1);
	init_bars(config);
	init_express(config);
	init_msix(config);
}

void pci_write(struct pci_config *config, uint64_t offset, const void *data, uint32_t len_bytes)
{
	const uint8_t *from = data;

	for (uint32_t i = 0; i < len_bytes; i++) {
		uint8_t mask = config->writable[offset + i], *to = &config->bytes[offset + i];

		*to = (*to & ~mask) | (from[i] & mask);
	}
}

bool pci_is_master(const struct pci_config *config)
{
	return config->bytes[PCI_COMMAND] & PCI_COMMAND_MASTER;
}
