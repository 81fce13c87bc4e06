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
	struct donard_route route;	/* if @undecided: the route if no host bridge forwards */
	bool undecided;		/* it depends on the kernel's answer, and the kernel was not asked */
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
 * Does the module report another route than the one predicted here?  It also knows the DMA mask of the client's driver, and
 * whether a page is mapped to a bounce buffer, which no file of sysfs has.
 */
bool route_contradicts(const struct kernel *kernel, const struct tree_route *tree, const struct donard_route *module);
/* The function by which the kernel knows a host bridge, or NULL. */
const struct pci_function *route_host_bridge(const struct pci *pci, const struct pci_function *function);
/*
 * Does the driver of @client start DMA?  A driver that hands it to a virtual machine does not, nor does p2pmem, nor the driver
 * of a management controller's display, whose pixels the CPU writes.
 */
bool route_starts_dma(const struct pci_function *client);
/*
 * Does its driver use the DMA API?  One that hands the function to a program (VFIO) does not: it may get another IOMMU domain
 * at any time.
 */
bool route_uses_dma_api(const struct pci_function *client);
/* Does an IOMMU translate the requests of @client, by the module's rules? */
bool route_translated(const struct pci_function *client);

#endif /* DONARD_DOCTOR_ROUTE_H */
