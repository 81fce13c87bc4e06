// SPDX-License-Identifier: GPL-2.0
/*
 * Clients are the functions of this machine whose drivers do DMA to memory that a user
 * names: NVMe controllers and RDMA functions.  A region leads a client astray if the
 * kernel maps the region's pages for it although there is no route.
 *
 * The kernel maps GENERIC pages for everybody, and only donard's own programs ask
 * PROBE_PEER first.  So they are the default only where every client has a route.
 */
#include <linux/delay.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "backing.h"
#include "clients.h"
#include "lines.h"
#include "names.h"
#include "p2pmem.h"
#include "reason.h"
#include "registry.h"
#include "route.h"

#define NVME_CLASS	0x0108	/* class and subclass; any programming interface */
/*
 * How long to try for the lock of a function that is being bound or reset.  After that,
 * the worst is assumed.
 */
#define LOCK_TRIES	10
#define LOCK_RETRY_MS	10

static int is_infiniband(struct device *dev, void *unused)
{
	return dev->class && !strcmp(dev->class->name, "infiniband");
}

/* A driver in two parts puts the RDMA device below an auxiliary one. */
static int offers_rdma(struct device *dev, void *unused)
{
	if (dev->bus && !strcmp(dev->bus->name, "auxiliary"))
		return device_for_each_child(dev, NULL, is_infiniband);
	return is_infiniband(dev, NULL);
}

/*
 * Soft RDMA (rxe, siw) copies by CPU, and its device has no PCI function as parent, so
 * this does not find it.  If a driver registers its RDMA device long after it was bound,
 * only later calls find that function.
 */
static bool is_client(struct pci_dev *pdev)
{
	return pdev->class >> 8 == NVME_CLASS ||
	       device_for_each_child(&pdev->dev, NULL, offers_rdma);
}

/*
 * Would the kernel map pages of @type for @client although its requests have no route to
 * them?  The kernel itself refuses P2PDMA pages where the path crosses an unlisted host
 * bridge.  p2pmem_predict() explains @steady.
 */
static bool is_astray(struct p2pmem_region *r, struct pci_dev *client, u32 type,
		      bool steady)
{
	struct p2pmem_probe probe = { };

	if (!type)
		return false;	/* no pages at all */
	p2pmem_predict(r, client, type, steady, &probe);
	if (probe.route != P2PMEM_ROUTE_NONE)
		return false;
	return type != P2PMEM_PAGES_P2PDMA ||
	       !(probe.flags & P2PMEM_PROBE_UNLISTED_BRIDGE);
}

/* Only tries for a second device lock: whoever holds it may wait for the first one. */
static bool try_to_lock(struct pci_dev *pdev)
{
	int tries = LOCK_TRIES;

	while (!device_trylock(&pdev->dev))
		if (!--tries || msleep_interruptible(LOCK_RETRY_MS))
			return false;
	return true;
}

/*
 * Like is_astray().  The caller holds the device lock of @held, or none if that is NULL.  A
 * function whose driver does not use the DMA API is left alone (probe.c, needs_no_lock()).
 */
static bool goes_astray(struct p2pmem_region *r, struct pci_dev *client, u32 type,
			const struct pci_dev *held)
{
	bool locked = client != held && p2pmem_uses_dma_api(client) && try_to_lock(client);
	bool astray = is_astray(r, client, type, locked || client == held);

	if (locked)
		device_unlock(&client->dev);
	return astray;
}

/*
 * Names all clients, or, if @astray is a page type, those that pages of that type would
 * lead astray.  The caller holds the device lock of the region's function.
 */
static void name_clients(struct p2pmem_region *r, u32 astray, struct p2pmem_names *names)
{
	struct pci_dev *pdev = NULL;

	device_lock_assert(&r->pdev->dev);
	memset(names, 0, sizeof(*names));
	for_each_pci_dev(pdev)
		if (is_client(pdev) && pci_device_is_present(pdev) &&
		    (!astray || goes_astray(r, pdev, astray, r->pdev)))
			p2pmem_names_add(names, pci_name(pdev));
	p2pmem_names_end(names);
}

/*
 * Writes a line for sysfs for each function that the region leads astray now.  The last
 * line counts those that do not fit.
 */
size_t p2pmem_unrouted_text(struct p2pmem_region *r, char *buf, size_t bytes)
{
	u32 type = READ_ONCE(r->backing.type);
	struct pci_dev *pdev = NULL;
	struct p2pmem_lines lines;

	p2pmem_lines_begin(&lines, buf, bytes, NULL);
	for_each_pci_dev(pdev)
		if (is_client(pdev) && pci_device_is_present(pdev) &&
		    goes_astray(r, pdev, type, NULL))
			p2pmem_lines_add(&lines, "%s\n", pci_name(pdev));
	return p2pmem_lines_end(&lines);
}

static int choose_generic(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	struct p2pmem_names all;

	name_clients(r, 0, &all);
	req->page_type = P2PMEM_PAGES_GENERIC;
	if (all.count)
		p2pmem_reason(req->reason, "page type generic: each NVMe and RDMA function has a route (%s)",
			      all.text);
	else
		p2pmem_reason(req->reason, "page type generic: the machine has no NVMe or RDMA function that might lack a route");
	return 0;
}

/*
 * Chooses the page type of a region that was added without one, and writes into
 * req->reason why.  Returns -EHOSTUNREACH if no type is safe.  The caller holds the
 * device lock of the region's function.
 */
int p2pmem_default_page_type(struct p2pmem_region *r, struct p2pmem_region_add *req)
{
	struct p2pmem_names astray, worse;

	name_clients(r, P2PMEM_PAGES_GENERIC, &astray);
	if (!astray.count)
		return choose_generic(r, req);
	if (COMPAT_HAS_P2PDMA && r->provider->can_p2pdma) {
		name_clients(r, P2PMEM_PAGES_P2PDMA, &worse);
		if (!worse.count) {
			req->page_type = P2PMEM_PAGES_P2PDMA;
			p2pmem_reason(req->reason, "page type p2pdma, with which the kernel checks routes: there is none from %s",
				      astray.text);
			return 0;
		}
	}
	p2pmem_reason(req->reason, "no route from %s: put these and %s below one PCIe switch, or ask for page type generic, for which the kernel checks no routes",
		      astray.text, pci_name(r->pdev));
	return -EHOSTUNREACH;
}

/*
 * Says in the log, and in @reason unless it is NULL, whom the region leads astray.  The
 * region has its pages, and clients_notify() knows it, so later clients are reported
 * there.  The caller holds the device lock of the region's function.
 */
void p2pmem_warn_unrouted(struct p2pmem_region *r, char *reason)
{
	u32 type = READ_ONCE(r->backing.type);
	struct p2pmem_names astray;

	device_lock_assert(&r->pdev->dev);
	if (!type)
		return;
	name_clients(r, type, &astray);
	if (!astray.count)
		return;
	dev_warn(&r->dev, "no route from %s, and nothing in the kernel stops their transfers\n",
		 astray.text);
	if (reason)
		p2pmem_reason(reason, "page type %s, though there is no route from %s: nothing in the kernel stops their transfers",
			      p2pmem_page_type_name(type),
			      astray.text);
}

static void warn_of_newcomer(struct p2pmem_region *r, void *data)
{
	struct pci_dev *pdev = data;

	if (READ_ONCE(r->state) == P2PMEM_STATE_READY &&
	    is_astray(r, pdev, READ_ONCE(r->backing.type), true))
		dev_warn(&r->dev, "%s came later and has no route here, and nothing in the kernel stops its transfers\n",
			 pci_name(pdev));
}

/*
 * By now the newcomer's IOMMU domain is set up.  If both parts of its driver were loaded,
 * its RDMA device is there, too.  The driver core holds the newcomer's device lock, so
 * nothing here takes a device lock or waits for a region.
 */
static int clients_notify(struct notifier_block *nb, unsigned long action,
			  void *data)
{
	struct pci_dev *pdev = to_pci_dev((struct device *)data);

	if (action != BUS_NOTIFY_BOUND_DRIVER)
		return NOTIFY_DONE;
	device_lock_assert(&pdev->dev);
	if (is_client(pdev))
		p2pmem_for_each_region(warn_of_newcomer, pdev);
	return NOTIFY_DONE;
}

static struct notifier_block clients_nb = { .notifier_call = clients_notify };

int p2pmem_clients_init(void)
{
	return bus_register_notifier(&pci_bus_type, &clients_nb);
}

void p2pmem_clients_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &clients_nb);
}
