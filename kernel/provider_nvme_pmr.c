// SPDX-License-Identifier: GPL-2.0
/*
 * NVMe Persistent Memory Region (Base Specification 2.0, 8.14).  Linux itself never
 * enables it.  The nvme driver stays bound.  A reset of the function or of the subsystem
 * clears PMRCTL silently, and forgot() detects that.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "answers.h"
#include "nvme_regs.h"
#include "p2pmem.h"
#include "pmr.h"
#include "provider.h"
#include "reason.h"
#include "registry.h"

struct pmr {
	void __iomem *regs;
	u64 bus_address;
	u32 cap;
	unsigned long ready_by;	/* jiffies: PMRCAP.PMRTO after the PMR was enabled */
	u64 readied;		/* the count of resets when the PMR was ready; U64_MAX: unknown */
	bool was_enabled;
};

/* Registers that do not answer read as ones, also when the function's configuration is there. */
static bool pmr_enabled(struct pmr *pmr)
{
	u32 control = readl(pmr->regs + NVME_PMRCTL);

	return !PCI_POSSIBLE_ERROR(control) && control & NVME_PMRCTL_EN;
}

/* Does the controller know the PMR's address, by which it recognises its own accesses to the PMR? */
static bool pmr_place_is_known(struct pmr *pmr)
{
	return !(pmr->cap & NVME_PMRCAP_CMSS) ||
	       hi_lo_readq(pmr->regs + NVME_PMRMSCL) == (pmr->bus_address | NVME_PMRMSC_CMSE);
}

static unsigned long timeout_from_now(struct pmr *pmr)
{
	return jiffies + msecs_to_jiffies(p2pmem_pmr_timeout_ms(pmr->cap));
}

/*
 * Sets the enable bit, and returns whether it stays.  A reset meanwhile clears the address.
 * Without its address the PMR must not stay enabled, since forgot() looks only at the
 * enable bit.
 */
static bool pmr_set_enable(struct pmr *pmr)
{
	if (pmr->cap & NVME_PMRCAP_CMSS &&
	    !p2pmem_nvme_space_on(pmr->regs + NVME_PMRMSCL, pmr->bus_address | NVME_PMRMSC_CMSE))
		return false;
	writel(NVME_PMRCTL_EN, pmr->regs + NVME_PMRCTL);
	if (!pmr_place_is_known(pmr))
		writel(0, pmr->regs + NVME_PMRCTL);
	return pmr_enabled(pmr);
}

/*
 * Begins to enable the PMR; pmr_state() says whether it is ready.  The time that it may take
 * is noted first, because pmr_state() may look at any moment.  A PMR that refuses its enable
 * bit gets no more time than it had.
 */
static void pmr_enable(struct pmr *pmr)
{
	unsigned long before = pmr->ready_by;

	WRITE_ONCE(pmr->ready_by, timeout_from_now(pmr));
	if (!pmr_set_enable(pmr))
		WRITE_ONCE(pmr->ready_by, before);
}

/* Does PMRSTS report no error, sound content, and an address that was not refused? */
static bool is_sound(u32 status)
{
	return !(status & (NVME_PMRSTS_ERR | NVME_PMRSTS_HSTS | NVME_PMRSTS_CBAI));
}

/*
 * Returns 1 if the PMR is ready, 0 if not yet, and -errno if it does not become ready.
 * While the PMR is not enabled, PMRSTS need not say that it is not ready.
 */
static int pmr_state(struct pmr *pmr)
{
	bool enabled = pmr_enabled(pmr);	/* before its status is read */
	u32 status = readl(pmr->regs + NVME_PMRSTS);

	if (!enabled || status & NVME_PMRSTS_NRDY)
		return time_after(jiffies, READ_ONCE(pmr->ready_by)) ? -EIO : 0;
	return is_sound(status) ? 1 : -EIO;
}

static int explain_unready(struct pci_dev *pdev, struct pmr *pmr, char *reason)
{
	u32 status = readl(pmr->regs + NVME_PMRSTS);

	if (!pci_device_is_present(pdev)) {
		p2pmem_reason(reason, "the device does not answer: it was unplugged");
		return -ENODEV;
	}
	if (!(status & NVME_PMRSTS_NRDY) && !is_sound(status))
		p2pmem_reason(reason, "the PMR of %s is ready, but PMRSTS is %#x (bits 0 to 7: an error, 9 to 11: its health, 12: its address is refused): reset its function; if that does not help, the drive is at fault",
			      pci_name(pdev), status);
	else
		p2pmem_reason(reason, "the PMR of %s does not become ready (PMRSTS %#x)",
			      pci_name(pdev), status);
	return -EIO;
}

static int pmr_enable_and_wait(struct pci_dev *pdev, struct pmr *pmr, char *reason)
{
	int state;

	pmr->ready_by = timeout_from_now(pmr);
	pmr_enable(pmr);
	while (!(state = pmr_state(pmr)) && pci_device_is_present(pdev))
		if (msleep_interruptible(20))
			return -EINTR;
	return state > 0 ? 0 : explain_unready(pdev, pmr, reason);
}

/*
 * Disables the PMR, and waits until it is not ready, as the nvme driver waits for its
 * controller.  Until then the PMR must not be enabled again, and PMRSTS still says that it is
 * ready.  A device that is gone is not waited for.
 */
static void pmr_disable(struct pci_dev *pdev, struct pmr *pmr)
{
	unsigned long by = timeout_from_now(pmr);
	bool enabled = pmr_enabled(pmr);

	writel(0, pmr->regs + NVME_PMRCTL);
	if (pmr->cap & NVME_PMRCAP_CMSS)
		p2pmem_nvme_space_off(pmr->regs + NVME_PMRMSCL, 0);
	while (enabled && !(readl(pmr->regs + NVME_PMRSTS) & NVME_PMRSTS_NRDY) &&
	       pci_device_is_present(pdev) && time_before(jiffies, by))
		msleep(20);
}

static int pmr_explain(struct pci_dev *pdev, enum p2pmem_pmr_fit fit, unsigned int bar,
		       char *reason)
{
	switch (fit) {
	case P2PMEM_PMR_FITS:
		return 0;
	case P2PMEM_PMR_NOWHERE:
		p2pmem_reason(reason, "the PMR of %s names a BAR that is not there, or one that ends before the offset",
			      pci_name(pdev));
		return -ENXIO;
	case P2PMEM_PMR_IN_REGISTERS:
		p2pmem_reason(reason, "the PMR of %s names BAR%u, where registers lie: the drive is at fault, and this memory cannot be offered",
			      pci_name(pdev), bar);
		return -EOPNOTSUPP;
	case P2PMEM_PMR_TOO_SHORT:
		break;
	}
	p2pmem_reason(reason, "the range ends past the PMR of %s", pci_name(pdev));
	return -ENXIO;
}

static int pmr_place(struct pci_dev *pdev, struct pmr *pmr,
		     struct p2pmem_region_add *req, struct p2pmem_place *place)
{
	unsigned int bar = p2pmem_pmr_bar(pmr->cap);
	u64 bar_bytes = bar < PCI_STD_NUM_BARS ? pci_resource_len(pdev, bar) : 0;
	enum p2pmem_pmr_fit fit;

	fit = p2pmem_pmr_check(bar, p2pmem_bar_has_msix(pdev, bar, 0, U64_MAX), bar_bytes,
			       req->offset, req->length, &place->bytes);
	if (fit != P2PMEM_PMR_FITS)
		return pmr_explain(pdev, fit, bar, req->reason);
	place->bar = bar;
	place->offset = req->offset;
	pmr->bus_address = pci_bus_address(pdev, bar);
	return 0;
}

static int pmr_vet(struct pci_dev *pdev, struct pmr *pmr,
		   struct p2pmem_region_add *req, struct p2pmem_place *place)
{
	if (!(hi_lo_readq(pmr->regs + NVME_CAP) & NVME_CAP_PMRS)) {
		p2pmem_reason(req->reason, "%s has no Persistent Memory Region (CAP.PMRS is 0)",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	pmr->cap = readl(pmr->regs + NVME_PMRCAP);
	if (!(pmr->cap & NVME_PMRCAP_RDS) || !(pmr->cap & NVME_PMRCAP_WDS)) {
		p2pmem_reason(req->reason, "the PMR of %s takes no data (PMRCAP.RDS/WDS)",
			      pci_name(pdev));
		return -EOPNOTSUPP;
	}
	/* Without a barrier, programs would rely on a SYNC that makes nothing durable. */
	if (p2pmem_pmr_barrier(pmr->cap) == P2PMEM_PMR_NO_BARRIER) {
		p2pmem_reason(req->reason, "the PMR of %s names no barrier that makes writes persistent (PMRCAP is %#x, without bits 10 and 11): the drive is at fault, and this memory cannot be offered",
			      pci_name(pdev), pmr->cap);
		return -EOPNOTSUPP;
	}
	return pmr_place(pdev, pmr, req, place);
}

static int pmr_find(struct pci_dev *pdev, struct p2pmem_region_add *req,
		    struct p2pmem_place *place, void **data)
{
	struct pmr *pmr;
	int ret;

	/* The whole PMR has one enable bit, which the end of the first region clears. */
	ret = p2pmem_region_refuse_second(pdev, P2PMEM_KIND_NVME_PMR, "PMR", req->reason);
	if (ret)
		return ret;
	pmr = kzalloc(sizeof(*pmr), GFP_KERNEL);
	if (!pmr)
		return -ENOMEM;
	pmr->readied = U64_MAX;
	pmr->regs = p2pmem_nvme_map(pdev, req->reason);
	ret = PTR_ERR_OR_ZERO((void __force *)pmr->regs);
	if (ret)
		goto err_free;
	ret = pmr_vet(pdev, pmr, req, place);
	if (ret)
		goto err_unmap;
	pmr->was_enabled = pmr_enabled(pmr);
	ret = pmr_enable_and_wait(pdev, pmr, req->reason);
	if (ret) {
		if (!pmr->was_enabled)
			pmr_disable(pdev, pmr);
		goto err_unmap;
	}
	*data = pmr;
	return 0;

err_unmap:
	iounmap(pmr->regs);
err_free:
	kfree(pmr);
	return ret;
}

static void pmr_release(struct pci_dev *pdev, void *data, bool alive)
{
	struct pmr *pmr = data;

	if (alive && !pmr->was_enabled)
		pmr_disable(pdev, pmr);
	iounmap(pmr->regs);
	kfree(pmr);
}

static bool pmr_forgot(struct p2pmem_region *r)
{
	return !pmr_enabled(r->provider_data);
}

static void pmr_enable_anew(struct p2pmem_region *r)
{
	pmr_enable(r->provider_data);
}

/*
 * Reads PMRSTS only once after each reset: that read is a barrier, and each read() and
 * write() calls this function.  p2pmem_revalidate() counts a reset before it enables the
 * PMR again.  So if the count is read first and the PMR is ready then, it was enabled
 * after the last reset that was counted.  If the PMR fails by itself, commit() notices,
 * and the next call reads PMRSTS again.  Nobody waits for a PMR whose function is gone.
 */
static int pmr_ready(struct p2pmem_region *r)
{
	struct pmr *pmr = r->provider_data;
	u64 resets = atomic64_read(&r->resets);
	int state;

	if (READ_ONCE(pmr->readied) == resets)
		return 1;
	rmb(); /* the count is read first */
	state = pmr_state(pmr);
	if (!state && !p2pmem_function_works(r->pdev))
		return -EIO;
	if (state > 0)
		WRITE_ONCE(pmr->readied, resets);
	if (state < 0)
		dev_err_ratelimited(&r->dev, "the PMR does not become ready again\n");
	return state;
}

/* The read that PMRCAP.PMRWBM names makes earlier writes persistent; PMRSTS says if it failed. */
static int pmr_commit(struct p2pmem_region *r)
{
	struct pmr *pmr = r->provider_data;
	u32 status;

	if (p2pmem_pmr_barrier(pmr->cap) == P2PMEM_PMR_READ_MEMORY)
		READ_ONCE(*(u64 *)r->backing.kaddr);
	status = readl(pmr->regs + NVME_PMRSTS);	/* all ones: it is gone */
	if (!(status & NVME_PMRSTS_NRDY) && is_sound(status))
		return 0;
	WRITE_ONCE(pmr->readied, U64_MAX);
	return -EIO;
}

const struct p2pmem_provider p2pmem_provider_nvme_pmr = {
	.kind = P2PMEM_KIND_NVME_PMR,
	.name = "nvme-pmr",
	.default_memtype = P2PMEM_MEMTYPE_WC,
	.persistent = true,
	.foreign = true,
	.find = pmr_find,
	.release = pmr_release,
	.forgot = pmr_forgot,
	.enable = pmr_enable_anew,
	.ready = pmr_ready,
	.commit = pmr_commit,
};
