/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The route of a client to memory, predicted from sysfs.  The walk and the verdict are
 * the module's own (kernel/path.c); here are the facts for them.  Which host bridges
 * forward is no such fact: each kernel has a list of its own, and is asked for its word.
 */
#ifndef DONARD_DOCTOR_ROUTE_H
#define DONARD_DOCTOR_ROUTE_H

#include "donard/donard.h"
#include "kernel.h"
#include "pci.h"

#define ROUTE_REDIRECTS	8

/* Of the host bridges between a client and memory. */
enum kernel_word { KERNEL_NOT_ASKED, KERNEL_UNLISTED, KERNEL_FORWARDS };

struct tree_route {
	struct donard_route route;	/* as where no host bridge forwards, if @undecided */
	bool undecided;		/* the kernel's word decides, and it was not asked */
	bool certain;		/* all that decides could be read */
	bool behind_redirect;	/* a switch's, but for ACS */
	const struct pci_function *redirects[ROUTE_REDIRECTS];	/* whose ACS is in the way */
	size_t redirect_count;
};

void route_predict(const struct kernel *kernel, const struct pci_function *memory,
		   const struct pci_function *client, enum donard_page_type page_type,
		   enum kernel_word word, struct tree_route *out);
/* The function by which the kernel knows a host bridge, or NULL. */
const struct pci_function *route_host_bridge(const struct pci *pci, const struct pci_function *function);
/* Does an IOMMU translate what @client sends, as far as the module would say? */
bool route_translated(const struct pci_function *client);

#endif /* DONARD_DOCTOR_ROUTE_H */
