// SPDX-License-Identifier: GPL-2.0
/*
 * A caller that breaks one rule of NVIDIA's peer-to-peer calls each time that it is
 * loaded, so that a test sees the lab's driver complain.  The process that loads it
 * says where it has 64 KiB of GPU memory.  It never stays.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../../../../kernel/nv_p2p.h"

static char *what = "";
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "Rule to break");

static ulong va;
module_param(va, ulong, 0);
MODULE_PARM_DESC(va, "Address of the calling process's GPU memory");

typedef int (*get_t)(u64, u32, u64, u64, struct nvidia_p2p_page_table **,
		     void (*)(void *), void *);
typedef int (*put_t)(u64, u32, u64, struct nvidia_p2p_page_table *);

static get_t get;
static put_t put;
static struct nvidia_p2p_page_table *table, *second;

static void nothing(void *data)
{
}

/* Lever "get revoke": it runs while the pages are got. */
static void calls(void *data)
{
	put(0, 0, va, table);
}

static bool locked;

/* Plays a callback that takes a spinlock and does not release it. */
static void locks(void *data)
{
	preempt_disable();
	locked = true;
}

static int got(struct nvidia_p2p_page_table **made, void (*callback)(void *data))
{
	return get(0, 0, va, NV_P2P_PAGE_BYTES, made, callback, NULL);
}

static int put_twice(void)
{
	int ret = got(&table, nothing);

	if (!ret) {
		put(0, 0, va, table);
		put(0, 0, va, table);
	}
	return ret;
}

/* Lever "get revoke"; so its va is none any more, and the second pin is of the next page. */
static int put_late(void)
{
	int ret = got(&table, nothing);

	if (ret)
		return ret;
	ret = get(0, 0, va + NV_P2P_PAGE_BYTES, NV_P2P_PAGE_BYTES, &second, nothing, NULL);
	put(0, 0, va, table);
	if (!ret)
		put(0, 0, va + NV_P2P_PAGE_BYTES, second);
	return ret;
}

static int put_elsewhere(void)
{
	int ret = got(&table, nothing);

	if (!ret) {
		put(0, 0, va + NV_P2P_PAGE_BYTES, table);
		put(0, 0, va, table);
	}
	return ret;
}

static int put_in_atomic(void)
{
	int ret = got(&table, nothing);

	if (!ret) {
		preempt_disable();
		put(0, 0, va, table);
		preempt_enable();
		put(0, 0, va, table);
	}
	return ret;
}

static void put_it(struct work_struct *work)
{
	put(0, 0, va, table);
}

static int put_by_another(void)
{
	int ret = got(&table, nothing);
	struct work_struct work;

	if (!ret) {
		INIT_WORK_ONSTACK(&work, put_it);
		schedule_work(&work);
		flush_work(&work);
		destroy_work_on_stack(&work);
		put(0, 0, va, table);
	}
	return ret;
}

/* Lever "get revoke". */
static int lock_in_callback(void)
{
	int ret = got(&table, locks);

	if (locked)
		preempt_enable();
	return ret;
}

static int unmap_twice(void)
{
	typeof(&nvidia_p2p_dma_map_pages) map = symbol_get(nvidia_p2p_dma_map_pages);
	typeof(&nvidia_p2p_dma_unmap_pages) unmap = symbol_get(nvidia_p2p_dma_unmap_pages);
	struct nvidia_p2p_dma_mapping *mapping;
	struct pci_dev *peer = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, NULL);
	int ret = got(&table, nothing);

	if (!ret)
		ret = map(peer, table, &mapping);
	if (!ret) {
		unmap(peer, table, mapping);
		unmap(peer, table, mapping);
		put(0, 0, va, table);
	}
	pci_dev_put(peer);
	symbol_put(nvidia_p2p_dma_unmap_pages);
	symbol_put(nvidia_p2p_dma_map_pages);
	return ret;
}

static int leak(void)
{
	typeof(&nvidia_p2p_get_pages_persistent) get_persistent =
		symbol_get(nvidia_p2p_get_pages_persistent);
	int ret;

	if (!get_persistent)
		return -EOPNOTSUPP;
	ret = get_persistent(va, NV_P2P_PAGE_BYTES, &table, 0);
	symbol_put(nvidia_p2p_get_pages_persistent);
	return ret;
}

/* Uses the lever "put_persistent" with an error after which NVIDIA's driver has released the pin's GPU. */
static int put_again_after_failure(void)
{
	typeof(&nvidia_p2p_put_pages_persistent) put_persistent =
		symbol_get(nvidia_p2p_put_pages_persistent);
	int ret;

	if (!put_persistent)
		return -EOPNOTSUPP;
	ret = leak();
	if (!ret) {
		put_persistent(va, table, 0);
		put_persistent(va, table, 0);
	}
	symbol_put(nvidia_p2p_put_pages_persistent);
	return ret;
}

static int break_rule(void)
{
	if (!strcmp(what, "put-twice"))
		return put_twice();
	if (!strcmp(what, "put-late"))
		return put_late();
	if (!strcmp(what, "put-elsewhere"))
		return put_elsewhere();
	if (!strcmp(what, "put-in-atomic"))
		return put_in_atomic();
	if (!strcmp(what, "put-by-another"))
		return put_by_another();
	if (!strcmp(what, "put-again-after-failure"))
		return put_again_after_failure();
	if (!strcmp(what, "lock-in-callback"))
		return lock_in_callback();
	if (!strcmp(what, "unmap-twice"))
		return unmap_twice();
	if (!strcmp(what, "call-in-callback"))
		return got(&table, calls);
	if (!strcmp(what, "leak"))
		return leak();
	return -EINVAL;
}

static int __init wrong_init(void)
{
	int ret = -ENOENT;

	get = symbol_get(nvidia_p2p_get_pages);
	put = symbol_get(nvidia_p2p_put_pages);
	if (get && put)
		ret = break_rule();
	if (put)
		symbol_put(nvidia_p2p_put_pages);
	if (get)
		symbol_put(nvidia_p2p_get_pages);
	return ret ?: -ECANCELED;
}
module_init(wrong_init);

MODULE_DESCRIPTION("Breaks the rules of the lab's GPU");
MODULE_LICENSE("GPL");
