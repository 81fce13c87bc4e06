// SPDX-License-Identifier: Apache-2.0
/*
 * Compiles only if kernel/nv_p2p.h says the same as NVIDIA's nv-p2p.h, which is
 * included first: numbers, layouts and prototypes.  See nvp2p.sh.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nv-p2p.h>

enum {
	THEIR_TABLE_VERSION = NVIDIA_P2P_PAGE_TABLE_VERSION,
	THEIR_MAPPING_VERSION = NVIDIA_P2P_DMA_MAPPING_VERSION,
	THEIR_4KB = NVIDIA_P2P_PAGE_SIZE_4KB,
	THEIR_64KB = NVIDIA_P2P_PAGE_SIZE_64KB,
	THEIR_128KB = NVIDIA_P2P_PAGE_SIZE_128KB,
	THEIR_COUNT = NVIDIA_P2P_PAGE_SIZE_COUNT,
};

#undef NVIDIA_P2P_PAGE_TABLE_VERSION
#undef NVIDIA_P2P_DMA_MAPPING_VERSION

/* Ours under other names. */
#define nvidia_p2p_page_size_type our_page_size_type
#define NVIDIA_P2P_PAGE_SIZE_4KB OUR_4KB
#define NVIDIA_P2P_PAGE_SIZE_64KB OUR_64KB
#define NVIDIA_P2P_PAGE_SIZE_128KB OUR_128KB
#define NVIDIA_P2P_PAGE_SIZE_COUNT OUR_COUNT
#define nvidia_p2p_request_registers our_request_registers
#define nvidia_p2p_page our_page
#define nvidia_p2p_page_table our_page_table
#define nvidia_p2p_dma_mapping our_dma_mapping
#define nvidia_p2p_get_pages our_get_pages
#define nvidia_p2p_put_pages our_put_pages
#define nvidia_p2p_free_page_table our_free_page_table
#define nvidia_p2p_get_pages_persistent our_get_pages_persistent
#define nvidia_p2p_put_pages_persistent our_put_pages_persistent
#define nvidia_p2p_dma_map_pages our_dma_map_pages
#define nvidia_p2p_dma_unmap_pages our_dma_unmap_pages
#define nvidia_p2p_free_dma_mapping our_free_dma_mapping

/* linux/types.h of the kernel. */
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#include "kernel/nv_p2p.h"

#undef nvidia_p2p_page
#undef nvidia_p2p_page_table
#undef nvidia_p2p_dma_mapping
#undef nvidia_p2p_get_pages
#undef nvidia_p2p_put_pages
#undef nvidia_p2p_free_page_table
#undef nvidia_p2p_get_pages_persistent
#undef nvidia_p2p_put_pages_persistent
#undef nvidia_p2p_dma_map_pages
#undef nvidia_p2p_dma_unmap_pages
#undef nvidia_p2p_free_dma_mapping

#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

/* Of both versions that p2pmem reads it knows the beginning; a table of version 1 ends there. */
_Static_assert(THEIR_TABLE_VERSION == NVIDIA_P2P_PAGE_TABLE_VERSION || THEIR_TABLE_VERSION == NV_P2P_PAGE_TABLE_VERSION_2,
	       "version of page tables");
SAME_NUMBER(NVIDIA_P2P_DMA_MAPPING_VERSION, THEIR_MAPPING_VERSION);
SAME_NUMBER(OUR_4KB, THEIR_4KB);
SAME_NUMBER(OUR_64KB, THEIR_64KB);
SAME_NUMBER(OUR_128KB, THEIR_128KB);
SAME_NUMBER(OUR_COUNT, THEIR_COUNT);

#define SAME_FIELD(name, field) \
	_Static_assert(offsetof(struct our_##name, field) == offsetof(struct nvidia_p2p_##name, field), #field); \
	_Static_assert(sizeof(((struct our_##name *)0)->field) == sizeof(((struct nvidia_p2p_##name *)0)->field), #field)
#define SAME_SIZE(name) _Static_assert(sizeof(struct our_##name) == sizeof(struct nvidia_p2p_##name), #name)

SAME_SIZE(page);
SAME_FIELD(page, physical_address);
SAME_FIELD(page, registers);
SAME_FIELD(page, registers.fermi.wreqmb_h);
SAME_FIELD(page, registers.fermi.rreqmb_h);
SAME_FIELD(page, registers.fermi.rreqmb_0);
SAME_FIELD(page, registers.fermi.reserved);
_Static_assert(THEIR_TABLE_VERSION == NV_P2P_PAGE_TABLE_VERSION_2 ||
	       sizeof(struct our_page_table) == sizeof(struct nvidia_p2p_page_table), "size of a page table");
SAME_FIELD(page_table, version);
SAME_FIELD(page_table, page_size);
SAME_FIELD(page_table, pages);
SAME_FIELD(page_table, entries);
SAME_FIELD(page_table, gpu_uuid);
SAME_SIZE(dma_mapping);
SAME_FIELD(dma_mapping, version);
SAME_FIELD(dma_mapping, page_size_type);
SAME_FIELD(dma_mapping, entries);
SAME_FIELD(dma_mapping, dma_addresses);
SAME_FIELD(dma_mapping, private);
SAME_FIELD(dma_mapping, pci_dev);

/* Both have this type, in which TABLE and MAPPING are the structures of each. */
#define IS(function, ...) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(function), int(__VA_ARGS__)), #function)

typedef void callback(void *data);

#define PROTOTYPES(prefix, TABLE, MAPPING) \
	IS(prefix##get_pages, uint64_t, uint32_t, uint64_t, uint64_t, TABLE **, callback *, void *); \
	IS(prefix##put_pages, uint64_t, uint32_t, uint64_t, TABLE *); \
	IS(prefix##free_page_table, TABLE *); \
	IS(prefix##get_pages_persistent, uint64_t, uint64_t, TABLE **, uint32_t); \
	IS(prefix##put_pages_persistent, uint64_t, TABLE *, uint32_t); \
	IS(prefix##dma_map_pages, struct pci_dev *, TABLE *, MAPPING **); \
	IS(prefix##dma_unmap_pages, struct pci_dev *, TABLE *, MAPPING *); \
	IS(prefix##free_dma_mapping, MAPPING *)

PROTOTYPES(our_, struct our_page_table, struct our_dma_mapping);
PROTOTYPES(nvidia_p2p_, struct nvidia_p2p_page_table, struct nvidia_p2p_dma_mapping);
