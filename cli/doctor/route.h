/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts the route of a client to memory from sysfs.  The walk and the verdict are the
 * module's own code (kernel/path.c); this supplies the facts.  Only the kernel can say which
 * host bridges forward requests, because each kernel has its own list.
 */
#ifndef DONARD_DOCTOR_ROUTE_H
#define DONARD_DOCTOR_ROUTE_H

#include "donard/donard.h"
#include "kernel.h"
#include "pci.h"

#define ROUTE_REDIRECTS	8

/* The kernel's answer about the host bridges between a client and memory. */
enum kernel_word { KERNEL_NOT_ASKED, KERNEL_UNLISTED, KERNEL_FORWARDS };

struct tree_route {
	struct donard_route route;	/* if @undecided, as if no host bridge forwards */
	bool undecided;		/* the kernel's answer decides, and it was not asked */
	bool certain;		/* all facts that decide could be read */
	bool below_one;		/* one function is above both, or they are one */
	bool behind_redirect;	/* a switch would route the requests, but ACS redirects them */
	const struct pci_function *redirects[ROUTE_REDIRECTS];	/* the functions whose ACS is in the way */
	size_t redirect_count;
};

void route_predict(const struct kernel *kernel, const struct pci_function *memory,
		   const struct pci_function *client, enum donard_page_type page_type,
		   enum kernel_word word, struct tree_route *out);
/*
 * Does the module say something else than these facts do?  What it learns from the DMA mask of the client's driver, and from
 * the bounce buffer that a page is mapped to, no file of sysfs has.
 */
bool route_contradicts(const struct kernel *kernel, const struct tree_route *tree, const struct donard_route *module);
/* The function by which the kernel knows a host bridge, or NULL. */
const struct pci_function *route_host_bridge(const struct pci *pci, const struct pci_function *function);
/*
 * Does the driver of @client start DMA?  One that hands it on to a virtual machine does not, nor p2pmem, nor that of the display
 * of a board's management controller: there the CPU writes what is shown.
 */
bool route_starts_dma(const struct pci_function *client);
/* Not one that hands the function on (VFIO), so that it may get another IOMMU domain at any moment. */
bool route_uses_dma_api(const struct pci_function *client);
/* Does an IOMMU translate what @client sends, as far as the module would say? */
bool route_translated(const struct pci_function *client);

#endif /* DONARD_DOCTOR_ROUTE_H */
