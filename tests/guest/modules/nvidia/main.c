// SPDX-License-Identifier: GPL-2.0
/* The driver of the lab's GPU: levers, probe and removal.  See lab.h. */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/memremap.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>

#include "lab.h"

struct lab lab = {
	.lock = __MUTEX_INITIALIZER(lab.lock),
	.clients = LIST_HEAD_INIT(lab.clients),
	.gone = __WAIT_QUEUE_HEAD_INITIALIZER(lab.gone),
};

bool lab_scatter;
module_param_named(scatter, lab_scatter, bool, 0644);
MODULE_PARM_DESC(scatter, "Allocations take every other page of 64 KiB");

bool lab_mig;
module_param_named(mig, lab_mig, bool, 0644);
MODULE_PARM_DESC(mig, "The GPU is partitioned: it refuses the persistent calls");

bool lab_vgpu;
module_param_named(vgpu, lab_vgpu, bool, 0644);
MODULE_PARM_DESC(vgpu, "The GPU is virtual: it refuses all calls");

bool lab_static_bar1;
module_param_named(static_bar1, lab_static_bar1, bool, 0444);
MODULE_PARM_DESC(static_bar1, "Register P2PDMA pages for the whole BAR");

unsigned int lab_bar1_mib;
module_param_named(bar1_mib, lab_bar1_mib, uint, 0644);
MODULE_PARM_DESC(bar1_mib, "Play a BAR1 of only so many MiB (0: all of the BAR)");

unsigned int lab_table_version = NVIDIA_P2P_PAGE_TABLE_VERSION;
module_param_named(table_version, lab_table_version, uint, 0644);
MODULE_PARM_DESC(table_version, "Version that page tables say");

unsigned int lab_page_size = NVIDIA_P2P_PAGE_SIZE_64KB;
module_param_named(page_size, lab_page_size, uint, 0644);
MODULE_PARM_DESC(page_size, "Type of page size that page tables say");

unsigned int lab_pinned_pages;
module_param_named(pinned_pages, lab_pinned_pages, uint, 0444);
MODULE_PARM_DESC(pinned_pages, "Pages of 64 KiB that are pinned");

unsigned int lab_callbacks;
module_param_named(callbacks, lab_callbacks, uint, 0444);
MODULE_PARM_DESC(callbacks, "Free callbacks that were run");

unsigned int lab_patience_s = 60;
module_param_named(patience_s, lab_patience_s, uint, 0644);
MODULE_PARM_DESC(patience_s, "How long removal waits for pins that nothing but their holder can put");

bool lab_expect_complaint;
module_param_named(expect_complaint, lab_expect_complaint, bool, 0644);
MODULE_PARM_DESC(expect_complaint, "Keep complaints of a caller in \"complaint\" instead of a warning");

static char complaint[160];
static struct kparam_string complaint_string = { sizeof(complaint), complaint };
module_param_cb(complaint, &param_ops_string, &complaint_string, 0644);
MODULE_PARM_DESC(complaint, "The last complaint");

/* A test of this driver wants to read it; all others are to end of it. */
void lab_complain(const char *fmt, ...)
{
	char text[sizeof(complaint)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!lab_expect_complaint) {
		WARN(1, "%s", text);
		return;
	}
	kernel_param_lock(THIS_MODULE);
	strscpy(complaint, text, sizeof(complaint));
	kernel_param_unlock(THIS_MODULE);
}

/* "CALL ERRNO" or "CALL revoke"; empty: nothing fails. */
static char fail[40];
static struct kparam_string fail_string = { sizeof(fail), fail };

/* A callback is there to be run only in these. */
static bool can_revoke(const char *call)
{
	return !strcmp(call, "get") || !strcmp(call, "put") || !strcmp(call, "dma_map");
}

static bool is_call(const char *name)
{
	return can_revoke(name) || !strcmp(name, "get_persistent") ||
	       !strcmp(name, "put_persistent") || !strcmp(name, "alloc") ||
	       !strcmp(name, "export");
}

/* Refuses a value that no call would ever use. */
static int fail_set(const char *value, const struct kernel_param *kp)
{
	char call[16], what[16], rest;
	unsigned int err;
	int words = sscanf(value, "%15s %15s %c", call, what, &rest);

	if (words > 0 && (words != 2 || !is_call(call)))
		return -EINVAL;
	if (words > 0 && !(can_revoke(call) && !strcmp(what, "revoke")) &&
	    (kstrtouint(what, 10, &err) || !err || err > MAX_ERRNO))
		return -EINVAL;
	return param_set_copystring(value, kp);
}

static const struct kernel_param_ops fail_ops = {
	.set = fail_set,
	.get = param_get_string,
};

module_param_cb(fail, &fail_ops, &fail_string, 0644);
MODULE_PARM_DESC(fail, "The next CALL (get, put, get_persistent, put_persistent, dma_map, alloc, export) fails with ERRNO, or the memory is freed during it (revoke: get, put, dma_map)");

/* The lock is held; the administrator's write is not: kernel_param_lock(). */
int lab_failure(const char *call)
{
	char name[16], what[16];
	unsigned int err = 0;
	int ret = 0;

	kernel_param_lock(THIS_MODULE);
	if (sscanf(fail, "%15s %15s", name, what) != 2 || strcmp(name, call))
		goto out;
	if (!strcmp(what, "revoke"))
		ret = LAB_REVOKE;
	else if (!kstrtouint(what, 10, &err))
		ret = -(int)err;
	fail[0] = '\0';
out:
	kernel_param_unlock(THIS_MODULE);
	return ret;
}

void lab_lock(void)
{
	mutex_lock(&lab.lock);
	if (current->mm)
		might_lock_read(&current->mm->mmap_lock);
}

void lab_user_begins(void)
{
	lockdep_assert_held(&lab.lock);
	lab.users++;
}

void lab_user_ends(void)
{
	lockdep_assert_held(&lab.lock);
	if (!--lab.users)
		wake_up_all(&lab.gone);
}

/* The driver's own pages over all of the BAR, or a mapping without pages. */
static int map_vram(struct pci_dev *pdev)
{
	int ret;

	if (!lab_static_bar1) {
		lab.vram = memremap(lab.phys, lab.bytes, MEMREMAP_WC);
		return lab.vram ? 0 : -ENOMEM;
	}
	ret = pci_p2pdma_add_resource(pdev, LAB_BAR, lab.bytes, 0);
	if (!ret)
		lab.vram = page_address(pfn_to_page(PHYS_PFN(lab.phys)));
	return ret;
}

static void unmap_vram(void)
{
	if (!lab_static_bar1)
		memunmap(lab.vram);
	lab.vram = NULL;
}

static int lab_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	unsigned int pages;
	int ret = -ENOMEM;

	if (lab.vram)
		return -EBUSY;	/* one GPU is enough */
	lab.phys = pci_resource_start(pdev, LAB_BAR);
	lab.bytes = pci_resource_len(pdev, LAB_BAR);
	pages = lab.bytes / LAB_PAGE;
	if (!pages || pcim_enable_device(pdev))
		return -ENODEV;
	lab.taken = bitmap_zalloc(pages, GFP_KERNEL);
	lab.patterned = bitmap_zalloc(pages, GFP_KERNEL);
	if (!lab.taken || !lab.patterned)
		goto err_free_bitmaps;
	ret = map_vram(pdev);
	if (ret)
		goto err_free_bitmaps;
	pci_set_master(pdev);
	lab.absent = false;
	lab.pdev = pdev;
	ret = lab_node_begin();
	if (ret)
		goto err_unmap;
	return 0;

err_unmap:
	lab.pdev = NULL;
	unmap_vram();
err_free_bitmaps:
	bitmap_free(lab.patterned);
	bitmap_free(lab.taken);
	return ret;
}

/* Lets nothing new begin, and calls back those pins that have a callback. */
static void end_service(void)
{
	struct lab_client *client;
	struct lab_allocation *a;

	lab_node_end();
	mutex_lock(&lab.lock);
	lab.absent = !pci_device_is_present(lab.pdev);
	lab.pdev = NULL;
	list_for_each_entry(client, &lab.clients, link)
		list_for_each_entry(a, &client->allocations, link)
			lab_revoke(a);
	mutex_unlock(&lab.lock);
}

/* A process may hold its memory as long as it likes, but pins that outlive all processes are leaks. */
static void end_leaks(void)
{
	mutex_lock(&lab.lock);
	if (lab.users == lab_count_persistent())
		lab_forget_persistent();
	mutex_unlock(&lab.lock);
}

/* Like NVIDIA's, it waits for its last user. */
static void await_users(struct pci_dev *pdev)
{
	while (!wait_event_timeout(lab.gone, !READ_ONCE(lab.users), lab_patience_s * HZ)) {
		pci_info(pdev, "removal waits for %u users, %u pages are pinned\n",
			 lab.users, lab_pinned_pages);
		end_leaks();
	}
}

static void lab_remove(struct pci_dev *pdev)
{
	unsigned int page;

	end_service();
	await_users(pdev);
	mutex_lock(&lab.lock);	/* the last user has left it */
	lab_forget_persistent();
	for_each_set_bit(page, lab.patterned, lab.bytes / LAB_PAGE)
		lab_check_pattern(page);
	LAB_COMPLAIN(lab_pinned_pages || !bitmap_empty(lab.taken, lab.bytes / LAB_PAGE),
		     "%u pages stay pinned without a user\n", lab_pinned_pages);
	lab_forget_fired();
	unmap_vram();
	bitmap_free(lab.patterned);
	bitmap_free(lab.taken);
	mutex_unlock(&lab.lock);
}

static const struct pci_device_id lab_ids[] = { { } };

static struct pci_driver lab_driver = {
	.name = "nvidia",
	.id_table = lab_ids,
	.probe = lab_probe,
	.remove = lab_remove,
};
module_pci_driver(lab_driver);

MODULE_DESCRIPTION("The lab's GPU, with NVIDIA's peer-to-peer interface");
MODULE_VERSION("550.0-lab");
MODULE_LICENSE("GPL");
