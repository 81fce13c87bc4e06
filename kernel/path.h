/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which way requests between two PCI functions take, and whether anything is
 * known to turn them round: the rules of drivers/pci/p2pdma.c, which GENERIC
 * pages and kernels without P2PDMA would go without.
 *
 * Pure logic, as alloc.h: the unit tests run the very same file over generated
 * trees.
 */
#ifndef P2PMEM_PATH_H
#define P2PMEM_PATH_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#endif

#include "../include/uapi/p2pmem.h"

/**
 * struct p2pmem_tree - how to climb; a function and a bridge are both nodes
 * @up: the bridge above a node, or NULL on a root bus
 * @redirects: does ACS of this node send the requests of peers up?
 */
struct p2pmem_tree {
	const void *(*up)(const void *node);
	bool (*redirects)(const void *node);
};

/**
 * struct p2pmem_path - the way between two functions
 * @common: where the two ways up meet, or NULL: only the root complex joins them.
 *	It is one of the two if that lies above the other, or is the other
 * @redirect: the first node below or at @common whose ACS redirects, or NULL
 * @distance: links on the way; where nothing is common, those up to the root
 *	buses
 */
struct p2pmem_path {
	const void *common;
	const void *redirect;
	unsigned int distance;
};

void p2pmem_path_find(const struct p2pmem_tree *tree, const void *provider,
		      const void *client, struct p2pmem_path *path);

/**
 * struct p2pmem_way - what decides about a route
 * @path: by p2pmem_path_find()
 * @same: provider and client are one function
 * @forwards: the root complex is known to forward the requests of peers
 * @translated: an IOMMU translates what the client sends
 * @page_type: enum p2pmem_page_type
 */
struct p2pmem_way {
	struct p2pmem_path path;
	bool same;
	bool forwards;
	bool translated;
	__u32 page_type;
};

/* P2PMEM_ROUTE_SWITCH, _BRIDGE, _IOMMU or _NONE; adds P2PMEM_PROBE_* to @flags. */
__u32 p2pmem_way_judge(const struct p2pmem_way *way, __u32 *flags);

/**
 * p2pmem_address_judge() - a route, given the address that a device was told
 * @route: by p2pmem_way_judge()
 * @dma: what the device would put into its requests
 * @bus: where the memory lies for devices on its own bus
 * @phys: where it lies for the CPU
 * @translates_to: what an IOMMU makes of @dma; 0 if none translates, or not it
 *
 * P2PMEM_ROUTE_BOUNCED when it is not the memory's address at all, and _NONE
 * when it is the CPU's, which means something else on the bus.
 */
__u32 p2pmem_address_judge(__u32 route, __u64 dma, __u64 bus, __u64 phys,
			   __u64 translates_to);

#endif
