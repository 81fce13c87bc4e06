// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "path.h"

/* The number of links from @node up to @above, or -1 if @above is not above @node. */
static int links_up(const struct p2pmem_tree *tree, const void *node,
		    const void *above)
{
	int links = 0;

	for (; node; node = tree->up(node), links++)
		if (node == above)
			return links;
	return -1;
}

static unsigned int links_to_root_complex(const struct p2pmem_tree *tree,
					  const void *node)
{
	unsigned int links = 0;

	for (; node; node = tree->up(node))
		links++;
	return links;
}

/* The first node whose ACS redirects, from @node up to @end, which is not included. */
static const void *first_redirect(const struct p2pmem_tree *tree,
				  const void *node, const void *end)
{
	for (; node != end; node = tree->up(node))
		if (tree->redirects(node))
			return node;
	return NULL;
}

/*
 * The ACS of the common node and of the two functions counts, too.  A root port that
 * redirects sends the requests between two functions below it upstream.
 */
static const void *find_redirect(const struct p2pmem_tree *tree,
				 const void *provider, const void *client,
				 const void *common)
{
	const void *redirect = first_redirect(tree, provider, common);

	if (!redirect)
		redirect = first_redirect(tree, client, common);
	if (!redirect && tree->redirects(common))
		redirect = common;
	return redirect;
}

void p2pmem_path_find(const struct p2pmem_tree *tree, const void *provider,
		      const void *client, struct p2pmem_path *path)
{
	const void *node;
	int links = -1;

	path->redirect = NULL;
	path->distance = 0;
	for (node = provider; node; node = tree->up(node)) {
		links = links_up(tree, client, node);
		if (links >= 0)
			break;
		path->distance++;
	}
	path->common = node;
	if (!node) {
		path->distance += links_to_root_complex(tree, client);
		return;
	}
	path->distance += links;
	path->redirect = find_redirect(tree, provider, client, node);
}

/*
 * A switch turns round the requests that carry bus addresses.  All others pass the root
 * complex, as do all requests that an IOMMU translates.  They need a root complex that is
 * known to forward them.
 */
__u32 p2pmem_way_judge(const struct p2pmem_way *way, __u32 *flags)
{
	bool below = way->path.common && !way->path.redirect;

	if (way->same)
		*flags |= P2PMEM_PROBE_SAME_DEVICE;
	if (way->translated)
		*flags |= P2PMEM_PROBE_TRANSLATED;
	if (way->path.redirect)
		*flags |= P2PMEM_PROBE_ACS_REDIRECT;
	if (below && !way->translated)
		return P2PMEM_ROUTE_SWITCH;
	/*
	 * Devices get bus addresses for P2PDMA pages, and no IOMMU knows these addresses
	 * (seen with intel-iommu: writes vanish and the command succeeds).  The requests
	 * of a function to itself never leave it.
	 */
	if (below && way->page_type == P2PMEM_PAGES_P2PDMA)
		return way->same ? P2PMEM_ROUTE_SWITCH : P2PMEM_ROUTE_NONE;
	if (!way->forwards) {
		*flags |= P2PMEM_PROBE_UNLISTED_BRIDGE;
		return P2PMEM_ROUTE_NONE;
	}
	return way->translated ? P2PMEM_ROUTE_IOMMU : P2PMEM_ROUTE_BRIDGE;
}

__u32 p2pmem_address_judge(__u32 route, __u64 dma, __u64 bus, __u64 phys,
			   __u64 translates_to)
{
	if (translates_to ? translates_to == phys : dma == bus)
		return route;
	return dma == phys && !translates_to ? P2PMEM_ROUTE_NONE :
					       P2PMEM_ROUTE_BOUNCED;
}
