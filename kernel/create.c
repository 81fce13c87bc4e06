// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a region: checks the request, has a provider find the memory, chooses what the
 * request left open, and gives the region its pages and its node.  A request that is
 * refused gets a reason.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "alloc.h"
#include "backing.h"
#include "bytes.h"
#include "chardev.h"
#include "clients.h"
#include "create.h"
#include "direct_map.h"
#include "drain.h"
#include "guard.h"
#include "importers.h"
#include "memtype.h"
#include "p2pmem.h"
#include "pmem.h"
#include "provider.h"
#include "pseudofs.h"
#include "reap.h"
#include "reason.h"
#include "registry.h"
#include "runs.h"
#include "sysfs.h"
#include "window.h"

static const struct p2pmem_provider *const providers[] = {
	&p2pmem_provider_pci_bar,
	&p2pmem_provider_nvme_cmb,
	&p2pmem_provider_nvme_pmr,
	&p2pmem_provider_gpu_nvidia,
};

static const struct p2pmem_provider *provider_of(u32 kind)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(providers); i++)
		if (providers[i]->kind == kind)
			return providers[i];
	return NULL;
}

/* --- the object --- */

/*
 * The last reference is gone.  The pages went earlier: when drain.c finished, or when the
 * creation failed.
 */
static void region_release(struct device *dev)
{
	struct p2pmem_region *r = to_p2pmem_region(dev);

	iput(r->inode);
	iput(r->export_inode);
	kvfree(r->alloc.runs.used);
	kvfree(r->alloc.runs.nodes);
	kvfree(r->alloc.bytes.of_block);
	p2pmem_windows_free(r);
	if (!r->finished)
		p2pmem_region_number_free(r->id);
	pci_dev_put(pci_physfn(r->pdev));
	pci_dev_put(r->pdev);
	free_percpu(r->counts);
	kfree(r);
}

static struct p2pmem_region *region_alloc(const struct p2pmem_provider *p,
					  struct pci_dev *pdev, char *reason)
{
	struct p2pmem_region *r;
	int id = -ENOMEM;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->counts = alloc_percpu(struct p2pmem_counts);
	if (r->counts)
		id = p2pmem_region_number();
	if (id == -ENOSPC)
		p2pmem_reason(reason, "there are %d regions already, and p2pmem has numbers for no more: remove one, or offer larger parts",
			      P2PMEM_MAX_REGIONS);
	if (id < 0) {
		free_percpu(r->counts);
		kfree(r);
		return ERR_PTR(id);
	}
	r->id = id;
	r->provider = p;
	r->persistent = p->persistent;
	r->pdev = pci_dev_get(pdev);
	/* The PCI core looks at it to tell whether a virtual function is present, but does not keep it. */
	pci_dev_get(pci_physfn(pdev));
	r->state = P2PMEM_STATE_READY;
	init_rwsem(&r->gate);
	mutex_init(&r->files_lock);
	mutex_init(&r->exports_lock);
	mutex_init(&r->alloc_lock);
	mutex_init(&r->reap_lock);
	mutex_init(&r->revalidate_lock);
	INIT_LIST_HEAD(&r->link);
	INIT_LIST_HEAD(&r->files);
	INIT_LIST_HEAD(&r->exports);
	INIT_LIST_HEAD(&r->pins);
	INIT_LIST_HEAD(&r->unused_pins);
	INIT_LIST_HEAD(&r->draining);
	INIT_DELAYED_WORK(&r->reap_work, p2pmem_reap_fn);
	INIT_WORK(&r->remove_work, p2pmem_remove_fn);
	INIT_WORK(&r->outdate_work, p2pmem_outdate_fn);
	INIT_DELAYED_WORK(&r->watch_work, p2pmem_watch_fn);
	init_waitqueue_head(&r->wait);
	device_initialize(&r->dev);
	p2pmem_region_place_node(r);
	r->dev.release = region_release;
	r->dev.groups = p2pmem_region_groups;
	cdev_init(&r->cdev, &p2pmem_fops);
	r->cdev.owner = THIS_MODULE;
	return r;
}

static int region_alloc_state(struct p2pmem_region *r)
{
	u64 granules = r->backing.bytes >> PAGE_SHIFT;
	struct inode *inode;
	struct p2pmem_runs_node *nodes;
	u64 *used;
	u32 *bytes;
	bool ok;

	inode = p2pmem_pseudofs_inode(COMPAT_INODE_FLAGS |
				      (p2pmem_unit(r) > P2PMEM_CHUNK ?
				       COMPAT_PUD_INODE_FLAGS : 0));
	if (IS_ERR(inode))
		return PTR_ERR(inode);
	r->inode = inode;
	inode = p2pmem_pseudofs_inode(0);
	if (IS_ERR(inode))
		return PTR_ERR(inode);
	r->export_inode = inode;
	used = kvcalloc(p2pmem_runs_words(granules), sizeof(*used), GFP_KERNEL);
	nodes = kvcalloc(p2pmem_runs_nodes(granules), sizeof(*nodes), GFP_KERNEL);
	bytes = kvcalloc(p2pmem_bytes_entries(granules, p2pmem_unit(r)),
			 sizeof(*bytes), GFP_KERNEL);
	ok = used && nodes && bytes;
	p2pmem_alloc_init(&r->alloc, used, bytes, nodes, ok ? granules : 0,
			  p2pmem_unit(r));
	return ok ? 0 : -ENOMEM;
}

/* --- checks the request, and chooses what it left open --- */

static int check_folios(struct p2pmem_region_add *req)
{
	if (req->folio_bytes <= PAGE_SIZE && !(req->folio_bytes % PAGE_SIZE))
		return 0;
	if (req->folio_bytes != PMD_SIZE && req->folio_bytes != PUD_SIZE) {
		p2pmem_reason(req->reason, "folios have 4 KiB, 2 MiB or 1 GiB: no entry of a page table maps one of another size");
		return -EINVAL;
	}
	if (!COMPAT_HAS_FOLIOS) {
		p2pmem_reason(req->reason, "folios of a pagemap need Linux 7.0 with CONFIG_TRANSPARENT_HUGEPAGE: leave them out");
		return -EOPNOTSUPP;
	}
	if (req->folio_bytes == PUD_SIZE && !compat_has_puds()) {
		p2pmem_reason(req->reason, "entries of 1 GiB need Linux 7.3 with CONFIG_FS_DAX and CONFIG_MMU_NOTIFIER, and a processor that has them (pdpe1gb in /proc/cpuinfo): use folios of 2 MiB");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int check_request(struct p2pmem_region_add *req)
{
	if (req->page_type > P2PMEM_PAGES_PMEM ||
	    req->memtype > P2PMEM_MEMTYPE_WB || req->bar > 5) {
		p2pmem_reason(req->reason, "the BAR, page type or memory type is not a known one");
		return -EINVAL;
	}
	if (!IS_ALIGNED(req->offset | req->length, P2PMEM_PAGEMAP_ALIGN)) {
		p2pmem_reason(req->reason, "offset and length must be multiples of 2 MiB");
		return -EINVAL;
	}
	return check_folios(req);
}

static void explain_no_memory(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	const char *folios = "";

	if (req->page_type == P2PMEM_PAGES_PMEM) {
		p2pmem_reason(req->reason, "the kernel's nvdimm layer did not take the memory, perhaps for want of free memory: the kernel log says why");
		return;
	}
	if (COMPAT_HAS_FOLIOS && req->page_type != P2PMEM_PAGES_P2PDMA &&
	    !r->provider->pinned && !r->folio_order)
		folios = ", ask for folios of 2 MiB, which need a quarter of that";
	p2pmem_reason(req->reason, "the kernel has not enough free memory for the struct pages%s: free some%s, or offer less by length",
		      r->folio_order ? "" : " (64 bytes for each 4 KiB)", folios);
}

/* An offset that the caller chose is aligned (check_request()), and so are BARs of 2 MiB and more. */
static void explain_alignment(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	if (!IS_ALIGNED(r->backing.phys, P2PMEM_PAGEMAP_ALIGN))
		p2pmem_reason(req->reason, "the memory begins at 0x%llx, no multiple of 2 MiB, and struct pages of devices need one: no offset mends that, take other memory",
			      (u64)r->backing.phys);
	else
		p2pmem_reason(req->reason, "the memory has %llu bytes, and struct pages of devices come for whole 2 MiB: take other memory",
			      (u64)r->backing.bytes);
}

/* Returns the errno for the caller. */
static int explain_backing(struct p2pmem_region *r, struct p2pmem_region_add *req,
			   int err)
{
	req->reason[0] = '\0';	/* it said why the page type was chosen */
	if (err == -EEXIST)
		p2pmem_reason(req->reason, "this memory is offered already (by a region, or as the P2PDMA pool of its own driver)");
	else if (err == -EINVAL)
		explain_alignment(r, req);
	else if (err == -ERANGE)
		p2pmem_explain_direct_map(r, req->reason);
	else if (err == -EBUSY)
		p2pmem_reason(req->reason, "another mapping of the BAR has a different memory type (p2pdma pages are always uc), or the function has a P2PDMA pool already, or the kernel had no memory left to map it (the kernel log says so)");
	else if (err == -EUCLEAN)
		p2pmem_reason(req->reason, "the kernel ran out of memory when it made struct pages for this range before, and did not undo it: reboot, or take another range");
	else if (err == -ENOMEM)
		explain_no_memory(r, req);
	else if (err == -ENOPKG)
		p2pmem_reason(req->reason, "the kernel has no pmem driver: install the modules libnvdimm and nd_pmem (CONFIG_LIBNVDIMM, CONFIG_BLK_DEV_PMEM)");
	else if (err == -EMEDIUMTYPE)
		p2pmem_reason(req->reason, "the memory holds a namespace that ndctl made elsewhere, in mode devdax or with struct pages of its own, which this barrier does not reach: if nobody needs it, add it with page type generic, and overwrite its first MiB");
	else if (err == -EIO)
		p2pmem_reason(req->reason, "the kernel's pmem driver did not take the memory: the kernel log says why");
	else if (err == -EOPNOTSUPP)
		p2pmem_reason(req->reason, "page type p2pdma needs a kernel with CONFIG_PCI_P2PDMA (6.13 or later) and a BAR that p2pmem drives itself");
	else if (err != -EINTR)
		p2pmem_reason(req->reason, "the kernel could not make struct pages for the memory (errno %d)", -err);
	return err == -ENOPKG || err == -EMEDIUMTYPE || err == -ERANGE ? -EOPNOTSUPP : err;
}

/*
 * Chooses the memory type for a range of a BAR.  Returns 0, or -errno if the range cannot
 * have it.
 */
static int choose_memtype(const struct p2pmem_provider *p, struct pci_dev *pdev,
			  const struct p2pmem_place *place,
			  struct p2pmem_region_add *req, u32 *memtype)
{
	bool prefetchable = pci_resource_flags(pdev, place->bar) & IORESOURCE_PREFETCH;

	*memtype = req->memtype ?:
		   prefetchable ? p->default_memtype : P2PMEM_MEMTYPE_UC;
	if (*memtype != P2PMEM_MEMTYPE_WB && !p2pmem_memtype_can_be_chosen()) {
		p2pmem_reason(req->reason, "the kernel has no PAT (nopat, or a processor without it), so the pages cannot have memory type %s: boot without nopat%s",
			      p2pmem_memtype_name(*memtype),
			      p->persistent || !prefetchable ? "" : ", or use memory type wb");
		return -EOPNOTSUPP;
	}
	if (p->persistent && *memtype == P2PMEM_MEMTYPE_WB) {
		p2pmem_reason(req->reason, "memory type wb would leave stores in the CPU's cache, where no SYNC makes them durable: use wc or uc");
		return -EOPNOTSUPP;
	}
	if (!prefetchable && *memtype != P2PMEM_MEMTYPE_UC) {
		p2pmem_reason(req->reason, "BAR%u of %s is not prefetchable: its device need not bear combined stores or reads ahead; use memory type uc",
			      place->bar, pci_name(pdev));
		return -EOPNOTSUPP;
	}
	return 0;
}

static int default_page_type(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	if (!r->backing.kaddr && !r->borrowed)
		return p2pmem_default_page_type(r, req);
	req->page_type = P2PMEM_PAGES_P2PDMA;
	p2pmem_reason(req->reason, "page type p2pdma: the function's own driver has published it as such");
	return 0;
}

/* @chosen: why the page type is p2pdma, or "" if it was asked for. */
static int refuse_folios(struct p2pmem_region_add *req, const char *chosen)
{
	p2pmem_reason(req->reason, "the kernel makes pages of type p2pdma itself, 4 KiB each: leave the folios out, or use page type generic where each drive and NIC has a route%s%s",
		      *chosen ? "; " : "", chosen);
	return -EOPNOTSUPP;
}

/* Whoever makes pages of type p2pdma has mapped them with a type of its own. */
static int check_p2pdma_memtype(struct p2pmem_region *r, struct p2pmem_region_add *req,
				const char *chosen)
{
	u32 fixed = r->borrowed ?
		    p2pmem_memtype_of(page_address(pfn_to_page(PHYS_PFN(r->backing.phys)))) :
		    P2PMEM_MEMTYPE_UC;

	/* Without PAT wb is all that can be asked for, whatever it becomes. */
	if (!req->memtype || req->memtype == fixed || !p2pmem_memtype_can_be_chosen())
		return 0;
	p2pmem_reason(req->reason, "pages of type p2pdma are always %s here: leave the memory type out%s%s%s",
		      p2pmem_memtype_name(fixed),
		      r->borrowed ? "" : ", or use page type generic where each drive and NIC has a route",
		      *chosen ? "; " : "", chosen);
	return -EOPNOTSUPP;
}

/* Sets req->page_type to what the region will have. */
static int choose_page_type(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	char chosen[P2PMEM_REASON_BYTES] = "";
	int ret = 0;

	if (req->page_type == P2PMEM_PAGES_DEFAULT) {
		ret = default_page_type(r, req);
		strscpy(chosen, req->reason, sizeof(chosen));
	}
	if (r->borrowed && req->page_type != P2PMEM_PAGES_P2PDMA) {
		p2pmem_reason(req->reason, "the driver of %s has struct pages of type p2pdma for BAR%u itself (static BAR1): use that type, or start the driver without RMForceStaticBar1",
			      pci_name(r->pdev), r->bar);
		return -EOPNOTSUPP;
	}
	if (req->page_type == P2PMEM_PAGES_PMEM)
		return p2pmem_pmem_vet(r, req);
	if (ret || req->page_type != P2PMEM_PAGES_P2PDMA)
		return ret;
	return r->folio_order ? refuse_folios(req, chosen) :
				check_p2pdma_memtype(r, req, chosen);
}

/* Sets the order of the folios that are asked for. */
static int choose_folios(struct p2pmem_region *r, const struct p2pmem_place *place,
			 struct p2pmem_region_add *req)
{
	phys_addr_t phys = pci_resource_start(r->pdev, place->bar) + place->offset;

	if (req->folio_bytes <= PAGE_SIZE)
		return 0;
	if (r->provider->pinned) {
		p2pmem_reason(req->reason, "memory is pinned in pieces of 64 KiB, which belong to different processes, so that no folio can hold several: leave out the size of folios");
		return -EOPNOTSUPP;
	}
	if (!IS_ALIGNED(phys | place->bytes, req->folio_bytes)) {
		p2pmem_reason(req->reason, "%llu MiB at %pa do not begin and end at multiples of %llu MiB: use smaller folios%s",
			      place->bytes >> 20, &phys, req->folio_bytes >> 20,
			      place->kaddr ? "" : ", or choose an offset and a length that do");
		return -EINVAL;
	}
	r->folio_order = ilog2(req->folio_bytes) - PAGE_SHIFT;
	return 0;
}

static void region_set_place(struct p2pmem_region *r,
			     const struct p2pmem_place *place)
{
	r->bar = place->bar;
	r->bar_offset = place->offset;
	r->backing.phys = pci_resource_start(r->pdev, place->bar) + place->offset;
	r->backing.bytes = place->bytes;
	r->backing.kaddr = place->kaddr;
	r->borrowed = place->borrowed;
}

/* --- making --- */

/* The caller has a reference. */
static void announce(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	req->region = r->id;
	dev_info(&r->pdev->dev, "p2pmem%u: %s, BAR%u+%#llx, %llu MiB, %s, %s\n",
		 r->id, r->provider->name, r->bar, r->bar_offset,
		 r->backing.bytes >> 20,
		 p2pmem_page_type_name(req->page_type),
		 p2pmem_memtype_name(r->backing.memtype));
	if (req->reason[0])
		dev_info(&r->dev, "%s\n", req->reason);
	p2pmem_warn_unrouted(r, req->reason);
}

/*
 * A device that was given up may work again.  Its claims were dropped with the region that
 * is in quarantine, but somebody still has that memory.
 */
static int refuse_quarantined(struct pci_dev *pdev, const struct p2pmem_place *place,
			      struct p2pmem_region_add *req)
{
	phys_addr_t phys = pci_resource_start(pdev, place->bar) + place->offset;
	int id = p2pmem_region_at(phys, place->bytes, true);

	return id < 0 ? 0 : p2pmem_region_refuse_quarantined(id, req->reason);
}

/* The caller holds the device lock of @pdev, so neither @pdev nor its driver can go away. */
static int region_create(const struct p2pmem_provider *p, struct pci_dev *pdev,
			 struct p2pmem_region_add *req,
			 struct p2pmem_region **made)
{
	struct p2pmem_place place = { };
	struct p2pmem_region *r;
	void *data = NULL;
	u32 memtype;
	int ret;

	device_lock_assert(&pdev->dev);
	ret = p->find(pdev, req, &place, &data);
	if (ret)
		return ret;
	ret = refuse_quarantined(pdev, &place, req);
	if (ret)
		goto err_free_place;
	/*
	 * find() has seen that a driver is bound.  Without one, the guard would keep
	 * every driver from binding.
	 */
	ret = p->foreign ? p2pmem_guard(pdev) : 0;
	if (ret)
		goto err_free_place;
	ret = choose_memtype(p, pdev, &place, req, &memtype);
	if (ret)
		goto err_free_place;
	r = region_alloc(p, pdev, req->reason);
	if (IS_ERR(r)) {
		ret = PTR_ERR(r);
		goto err_free_place;
	}
	r->provider_data = data;
	r->function_resets = p->foreign ? p2pmem_guard_resets(pdev) : 0;
	r->want_memtype = memtype;
	r->generic_by_name = req->page_type == P2PMEM_PAGES_GENERIC;
	region_set_place(r, &place);
	ret = choose_folios(r, &place, req) ?: region_alloc_state(r);
	if (ret)
		goto err_put;
	ret = choose_page_type(r, req);
	if (ret)
		goto err_put;
	ret = p2pmem_backing_open(r, req->page_type);
	if (ret) {
		ret = explain_backing(r, req, ret);
		goto err_put;
	}
	get_device(&r->dev);
	/* Until p2pmem_remove_fn(): also while the guard waits, and the function has no driver. */
	pm_runtime_get_noresume(&pdev->dev);
	ret = p2pmem_region_publish(r);
	if (ret) {
		req->reason[0] = '\0';	/* it said why the page type was chosen */
		goto err_close_backing;
	}
	announce(r, req);
	*made = r;
	return 0;

err_close_backing:
	pm_runtime_put_noidle(&pdev->dev);
	put_device(&r->dev);
	p2pmem_backing_close(r);
	place.kaddr = NULL;
err_put:
	put_device(&r->dev);
err_free_place:
	if (place.kaddr)
		pci_free_p2pmem(pdev, place.kaddr, place.bytes);
	if (p->release)
		p->release(pdev, data, true);
	return ret;
}

/* The caller gets a reference in *@made. */
int p2pmem_region_add(struct p2pmem_region_add *req, struct p2pmem_region **made)
{
	const struct p2pmem_provider *p = provider_of(req->kind);
	struct pci_dev *pdev;
	int ret;

	if (!p) {
		p2pmem_reason(req->reason, "kind %u is unknown", req->kind);
		return -EINVAL;
	}
	ret = check_request(req);
	if (ret)
		return ret;
	pdev = pci_get_domain_bus_and_slot(req->pci_domain, req->pci_bus,
					   req->pci_devfn);
	if (!pdev) {
		p2pmem_reason(req->reason, "there is no such PCI function");
		return -ENODEV;
	}
	/* An unbind may hold the device lock for as long as a region drains. */
	ret = device_lock_interruptible(&pdev->dev);
	if (ret)
		goto out_put;
	/*
	 * A device that sleeps (D3cold) does not answer either, so wake it.  While it has
	 * a region it stays awake.
	 */
	pm_runtime_get_sync(&pdev->dev);
	if (pci_device_is_present(pdev)) {
		ret = region_create(p, pdev, req, made);
	} else {
		p2pmem_reason(req->reason, "the device does not answer: it was unplugged");
		ret = -ENODEV;
	}
	pm_runtime_put(&pdev->dev);
	device_unlock(&pdev->dev);
out_put:
	pci_dev_put(pdev);
	return ret;
}
