/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider finds one kind of memory behind a BAR and knows how its device
 * must be told to decode it.
 */
#ifndef P2PMEM_PROVIDER_H
#define P2PMEM_PROVIDER_H

#include <linux/types.h>
#include <linux/pci.h>

struct p2pmem_region;
struct p2pmem_region_add;

/**
 * struct p2pmem_place - where a provider's memory lies
 * @bar, @offset, @bytes: part of a BAR
 * @borrowed: its driver has made struct pages for it, which are used without being
 *	taken out of the driver's pool
 * @kaddr: non-NULL when the memory comes out of a P2PDMA pool that another
 *	driver owns: then it is allocated and goes back with pool_free()
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
 * @find: vets the function and the request, enables the memory, fills in
 *	@place and *@data; on failure leaves the device as it was and writes
 *	the cause and remedy into req->reason.  The caller holds the device
 *	lock of @pdev, so its driver stays.
 * @release: undoes find(); pages are gone by then.  Touches no register
 *	unless @alive.  May be NULL.
 * @forgot: has the device lost its enable bit?  Reads it, and changes nothing.
 *	NULL where there is none.  Never sleeps, as a flush of a pmem device asks.
 * @enable: sets it anew.  Each provider with forgot() has it.
 * @ready: what enable() enabled may be used: 1, not yet: 0, it never will:
 *	-errno.  NULL where it may at once.  Neither of the two waits.
 * @commit: returns when earlier writes are at the device; -EIO if it says that
 *	they are not.  May be NULL: then a read from the BAR is the barrier.  That of
 *	persistent memory never sleeps.
 */
struct p2pmem_provider {
	u32 kind;
	const char *name;
	u32 default_memtype;
	bool persistent;
	bool foreign;		/* another driver is bound and stays bound */
	bool can_p2pdma;	/* its BAR may become a P2PDMA pool of ours */
	bool pinned;		/* no memory to give out: files have what they pin */
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

/* Is part of the MSI-X table or PBA in that part of a BAR? */
bool p2pmem_bar_has_msix(struct pci_dev *pdev, unsigned int bar, u64 offset,
			 u64 bytes);
int p2pmem_pci_bar_init(void);
void p2pmem_pci_bar_exit(void);

#endif
