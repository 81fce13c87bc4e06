// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to regions when the PCI bus reports that a driver binds or unbinds, and the
 * order in which the parts that deal with regions are set up and torn down.
 */
#include <linux/notifier.h>
#include <linux/pci.h>

#include "gate.h"
#include "guard.h"
#include "notifier.h"
#include "p2pmem.h"
#include "pmem.h"
#include "quarantine.h"
#include "registry.h"
#include "removal.h"

/* Requests of a healthy device end within this time; pins may last longer. */
#define UNBIND_GRACE	(2 * HZ)

/*
 * Another driver is about to leave a function with regions (guard.c).  The wait here has
 * a bound.
 */
static void foreign_unbinding(struct pci_dev *pdev)
{
	if (!p2pmem_is_guarded(pdev))
		return;
	p2pmem_remove_regions_soon(pdev, UNBIND_GRACE);
	p2pmem_forget_lenders(pdev);
}

/*
 * A driver is about to bind to the function @data, whose BARs may lie on a quarantined
 * range.  It may be the region's own function, if that works again.
 */
static void fence_off(struct p2pmem_region *r, void *data)
{
	if (READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED)
		p2pmem_quarantine_fence(r, data);
}

/*
 * The chain of notifiers is locked, so nothing here waits without a bound.  If p2pmem
 * drives the function, its own remove() ends the regions.
 */
static int pci_notify(struct notifier_block *nb, unsigned long action,
		      void *data)
{
	struct pci_dev *pdev = to_pci_dev((struct device *)data);

	if (action == BUS_NOTIFY_UNBIND_DRIVER)
		foreign_unbinding(pdev);
	else if (action == BUS_NOTIFY_UNBOUND_DRIVER)
		p2pmem_guard_unbound(pdev);
	else if (action == BUS_NOTIFY_BIND_DRIVER)
		p2pmem_for_each_region(fence_off, pdev);
	return NOTIFY_DONE;
}

static struct notifier_block pci_nb = { .notifier_call = pci_notify };

int p2pmem_regions_init(void)
{
	int ret = p2pmem_registry_init();

	p2pmem_gate_init();
	if (ret)
		return ret;
	ret = bus_register_notifier(&pci_bus_type, &pci_nb);
	if (ret)
		p2pmem_registry_exit();
	return ret;
}

void p2pmem_regions_exit(void)
{
	p2pmem_guards_exit();
	bus_unregister_notifier(&pci_bus_type, &pci_nb);
	p2pmem_remove_regions_of(NULL);
	p2pmem_registry_exit();
}
