// SPDX-License-Identifier: GPL-2.0
/* The order of init and exit, and two reasons not to load on a machine at all. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cc_platform.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/rcupdate.h>

#include "clients.h"
#include "control.h"
#include "importers.h"
#include "notifier.h"
#include "provider.h"
#include "pseudofs.h"
#include "../include/donard/version.h"

/*
 * Eideticom's out-of-tree p2pmem-pci uses the same node names.  Another module can
 * recognise it only by its class.
 */
static bool __init other_module_loaded(void)
{
	struct path path;

	if (kern_path("/sys/class/p2pmem_device", LOOKUP_FOLLOW, &path))
		return false;
	path_put(&path);
	return true;
}

static int __init refuse_machine(void)
{
	if (cc_platform_has(CC_ATTR_MEM_ENCRYPT)) {
		pr_err("memory encryption is active: device memory cannot be shared between devices. Boot without it (mem_encrypt=off)\n");
		return -EOPNOTSUPP;
	}
	if (other_module_loaded()) {
		pr_err("the module p2pmem-pci owns /dev/p2pmemN already: unload it first (rmmod p2pmem_pci)\n");
		return -EBUSY;
	}
	return 0;
}

static int __init p2pmem_init(void)
{
	int ret;

	ret = refuse_machine();
	if (ret)
		return ret;
	ret = p2pmem_pseudofs_init();
	if (ret)
		return ret;
	ret = p2pmem_exports_init();
	if (ret)
		goto err_pseudofs_exit;
	ret = p2pmem_regions_init();
	if (ret)
		goto err_exports_exit;
	ret = p2pmem_clients_init();
	if (ret)
		goto err_regions_exit;
	ret = p2pmem_pci_bar_init();
	if (ret)
		goto err_clients_exit;
	ret = p2pmem_control_init();
	if (ret)
		goto err_pci_bar_exit;
	return 0;

err_pci_bar_exit:
	p2pmem_pci_bar_exit();
err_clients_exit:
	p2pmem_clients_exit();
err_regions_exit:
	p2pmem_regions_exit();
err_exports_exit:
	p2pmem_exports_exit();
err_pseudofs_exit:
	p2pmem_pseudofs_exit();
	return ret;
}

/*
 * Open files, pins of closed files, removals under way and quarantines each hold a
 * module reference, so all that is left here is idle.  But let_go(), which io_uring calls
 * (buffer.c), and the GPU driver's callback (gpu_revoke.c) hold none while they return:
 * the last object may be freed before they have returned.  synchronize_rcu_tasks() waits
 * for a task that was preempted in one of them.
 */
static void __exit p2pmem_exit(void)
{
	p2pmem_control_exit();
	p2pmem_pci_bar_exit();
	p2pmem_clients_exit();
	p2pmem_regions_exit();
	p2pmem_exports_exit();
	p2pmem_pseudofs_exit();
	synchronize_rcu_tasks();
}

module_init(p2pmem_init);
module_exit(p2pmem_exit);

MODULE_DESCRIPTION("Peer-to-peer PCIe memory broker");
MODULE_AUTHOR("The donard authors");
MODULE_VERSION(DONARD_VERSION);
MODULE_LICENSE("GPL");
