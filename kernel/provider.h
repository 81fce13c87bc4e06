/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider finds one kind of memory behind a BAR, and knows how to make the device
 * decode it.
 */
#ifndef P2PMEM_PROVIDER_H
#define P2PMEM_PROVIDER_H

#include <linux/types.h>
#include <linux/pci.h>

struct p2pmem_region;
struct p2pmem_region_add;

/**
 * struct p2pmem_place - where a provider's memory lies
 * @bar: the number of the BAR, 0..5
 * @offset: where in that BAR it begins, in bytes
 * @bytes: its length, > 0
 * @borrowed: the function's driver has made struct pages for it, which are used without
 *	being taken out of that driver's pool
 * @kaddr: not NULL if the memory was allocated from a P2PDMA pool that another driver
 *	owns; pci_free_p2pmem() gives it back
 */
struct p2pmem_place {
	unsigned int bar;
	u64 offset;
	u64 bytes;
	bool borrowed;
	void *kaddr;
};

/**
 * struct p2pmem_provider - one kind of memory
 * @kind: enum p2pmem_kind, by which a request chooses this provider
 * @name: of the kind, as sysfs, the log and the command line show it
 * @default_memtype: enum p2pmem_memtype of a prefetchable BAR if the request names none;
 *	a BAR that is not prefetchable is always uncached
 * @persistent: the memory keeps its bytes without power: files do not zero it, and take
 *	it at the offsets at which it lies
 * @foreign: another driver is bound to the function, and stays bound
 * @can_p2pdma: p2pmem may make a P2PDMA pool of its BAR
 * @pinned: a region has no memory to give out; files have what they pin
 * @find: checks the function and the request, enables the memory, and fills in
 *	@place and *@data.  If it fails, it leaves the device as it was, and writes
 *	the cause and the remedy into req->reason.  The caller holds the device
 *	lock of @pdev, so that its driver stays.
 * @release: undoes find(), when the pages are gone or, with @alive false, when the region
 *	goes into quarantine.  Touches no register unless @alive.  May be NULL.
 * @forgot: has the device lost its enable bit, or do its registers not answer?  Reads
 *	the bit, and changes nothing.  That the bit is lost is only certain if the
 *	function answers afterwards (gate.c).  NULL if there is no such bit.  Never
 *	sleeps, since a flush of a pmem device calls it.
 * @enable: sets that bit again.  Each provider with forgot() has it.
 * @ready: returns 1 if the memory that enable() enabled can be used, 0 if not yet, and
 *	-errno if it never will.  NULL if it can be used at once.  Neither enable() nor
 *	ready() waits.
 * @commit: returns 0 when earlier writes have arrived at the device, or -EIO if the device
 *	says that they have not.  If NULL, a read from the BAR is the barrier.  The
 *	commit() of persistent memory never sleeps.
 */
struct p2pmem_provider {
	u32 kind;
	const char *name;
	u32 default_memtype;
	bool persistent;
	bool foreign;
	bool can_p2pdma;
	bool pinned;
	int (*find)(struct pci_dev *pdev, struct p2pmem_region_add *req,
		    struct p2pmem_place *place, void **data);
	void (*release)(struct pci_dev *pdev, void *data, bool alive);
	bool (*forgot)(struct p2pmem_region *r);
	void (*enable)(struct p2pmem_region *r);
	int (*ready)(struct p2pmem_region *r);
	int (*commit)(struct p2pmem_region *r);
};

extern const struct p2pmem_provider p2pmem_provider_pci_bar;
extern const struct p2pmem_provider p2pmem_provider_nvme_cmb;
extern const struct p2pmem_provider p2pmem_provider_nvme_pmr;
extern const struct p2pmem_provider p2pmem_provider_gpu_nvidia;

/* Does that part of a BAR overlap the MSI-X table or its PBA? */
bool p2pmem_bar_has_msix(struct pci_dev *pdev, unsigned int bar, u64 offset,
			 u64 bytes);
int p2pmem_pci_bar_init(void);
void p2pmem_pci_bar_exit(void);

#endif
