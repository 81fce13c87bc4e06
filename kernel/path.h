/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The path that requests between two PCI functions take, and whether a switch or a host
 * bridge is known to forward them.  These are the rules of drivers/pci/p2pdma.c, which the
 * kernel does not apply to GENERIC pages, nor to any if it was built without P2PDMA.
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
 * struct p2pmem_tree - how to climb the PCI tree; a function and a bridge are both nodes
 * @up: returns the bridge above a node, or NULL on a root bus
 * @redirects: does ACS of this node redirect the requests of peers upstream?
 */
struct p2pmem_tree {
	const void *(*up)(const void *node);
	bool (*redirects)(const void *node);
};

/**
 * struct p2pmem_path - the way between two functions
 * @common: the node where the two paths up meet; NULL if only the root complex joins
 *	them.  It can be one of the two functions, if that is or lies above the other
 * @redirect: the first node at or below @common whose ACS redirects, or NULL
 * @distance: the number of steps between the two, up and down the tree; if @common is NULL,
 *	those up to the root buses
 */
struct p2pmem_path {
	const void *common;
	const void *redirect;
	unsigned int distance;
};

void p2pmem_path_find(const struct p2pmem_tree *tree, const void *provider,
		      const void *client, struct p2pmem_path *path);

/**
 * struct p2pmem_way - the facts by which a route is judged
 * @path: filled in by p2pmem_path_find()
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

/* Returns P2PMEM_ROUTE_SWITCH, _BRIDGE, _IOMMU or _NONE, and adds P2PMEM_PROBE_* to @flags. */
__u32 p2pmem_way_judge(const struct p2pmem_way *way, __u32 *flags);

/**
 * p2pmem_address_judge() - judges a route again by the address that a device got
 * @route: the answer of p2pmem_way_judge()
 * @dma: the address that the device would put into its requests
 * @bus: the memory's address for devices on its own bus
 * @phys: the memory's address for the CPU
 * @translates_to: what an IOMMU translates @dma to; 0 if no IOMMU translates, or none
 *	translates @dma
 *
 * Return: P2PMEM_ROUTE_BOUNCED if @dma is not an address of the memory at all,
 * P2PMEM_ROUTE_NONE if it is the CPU's address, which is a different one on the memory's
 * bus; else @route
 */
__u32 p2pmem_address_judge(__u32 route, __u64 dma, __u64 bus, __u64 phys,
			   __u64 translates_to);

#endif
