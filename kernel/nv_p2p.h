/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What p2pmem needs of the peer-to-peer interface of NVIDIA's driver.  The
 * names, layouts and numbers are the driver's; tests/host/nvp2p compares them
 * with the nv-p2p.h of each driver in Debian.  All of it is looked up when first
 * used (symbol_get()), so that p2pmem loads without that driver.
 *
 * Every call may sleep.  Rules that no prototype shows:
 *
 *   - On an error *table is garbage.  -ENOTSUPP (524) is no errno of userspace.
 *   - The table's version and page size must be checked before its pages are
 *     used: nv_p2p_table_known().
 *   - The free callback runs inside of the driver's locks, in the process that
 *     frees or exits, as soon as the driver has made the table: perhaps before
 *     nvidia_p2p_get_pages() has returned.  No call of this file may be made in
 *     it.  The table is gone when it returns.
 *   - nvidia_p2p_put_pages() waits for a running callback, so its caller holds no
 *     lock that the callback takes.  Called by another process than the one that
 *     got the pages, it returns 0 and does nothing: the pages stay until their owner
 *     frees them, and the callback still comes.  After the callback it must not be
 *     called.
 *   - The persistent calls have no callback and no owner: the memory stays until
 *     some process puts it.  Drivers before 535 lack them; a GPU that is
 *     partitioned (MIG) or virtual (vGPU) refuses them.
 */
#ifndef P2PMEM_NV_P2P_H
#define P2PMEM_NV_P2P_H

#include <linux/types.h>

#define NV_P2P_PAGE_BYTES	0x10000ULL	/* address and length are multiples */

enum nvidia_p2p_page_size_type {
	NVIDIA_P2P_PAGE_SIZE_4KB = 0,
	NVIDIA_P2P_PAGE_SIZE_64KB,
	NVIDIA_P2P_PAGE_SIZE_128KB,
	NVIDIA_P2P_PAGE_SIZE_COUNT
};

struct nvidia_p2p_page {
	u64 physical_address;	/* in the BAR1 aperture */
	union nvidia_p2p_request_registers {
		struct {
			u32 wreqmb_h;
			u32 rreqmb_h;
			u32 rreqmb_0;
			u32 reserved[3];
		} fermi;
	} registers;
};

/* Major number above, minor below.  A new major number changes the layout. */
#define NVIDIA_P2P_PAGE_TABLE_VERSION	0x00010002	/* 535, 550 */
#define NV_P2P_PAGE_TABLE_VERSION_2	0x00020000	/* 595: flags follow gpu_uuid */

struct nvidia_p2p_page_table {
	u32 version;
	u32 page_size;		/* enum nvidia_p2p_page_size_type */
	struct nvidia_p2p_page **pages;
	u32 entries;
	u8 *gpu_uuid;
};

/* May the fields above be read, and are the pages those that p2pmem can take? */
static inline bool nv_p2p_table_known(const struct nvidia_p2p_page_table *table)
{
	u32 major = table->version >> 16;

	if (major == NVIDIA_P2P_PAGE_TABLE_VERSION >> 16)
		return table->version >= NVIDIA_P2P_PAGE_TABLE_VERSION &&
		       table->page_size == NVIDIA_P2P_PAGE_SIZE_64KB;
	return major == NV_P2P_PAGE_TABLE_VERSION_2 >> 16 &&
	       table->page_size == NVIDIA_P2P_PAGE_SIZE_64KB;
}

#define NVIDIA_P2P_DMA_MAPPING_VERSION	0x00020003

struct pci_dev;

struct nvidia_p2p_dma_mapping {
	u32 version;
	enum nvidia_p2p_page_size_type page_size_type;
	u32 entries;
	u64 *dma_addresses;
	void *private;
	struct pci_dev *pci_dev;
};

int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 virtual_address,
			 u64 length, struct nvidia_p2p_page_table **page_table,
			 void (*free_callback)(void *data), void *data);
int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 virtual_address,
			 struct nvidia_p2p_page_table *page_table);
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table);
int nvidia_p2p_get_pages_persistent(u64 virtual_address, u64 length,
				    struct nvidia_p2p_page_table **page_table,
				    u32 flags);
int nvidia_p2p_put_pages_persistent(u64 virtual_address,
				    struct nvidia_p2p_page_table *page_table,
				    u32 flags);
int nvidia_p2p_dma_map_pages(struct pci_dev *peer,
			     struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping);
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer,
			       struct nvidia_p2p_page_table *page_table,
			       struct nvidia_p2p_dma_mapping *dma_mapping);
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping);

#endif
