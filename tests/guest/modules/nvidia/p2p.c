// SPDX-License-Identifier: GPL-2.0
/* NVIDIA's peer-to-peer calls, and what they demand of their caller. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "lab.h"

/* The value of *table after an error, so that a caller that follows it is detected. */
#define LAB_GARBAGE	((void *)0xdead0000beef0000UL)
/* NVIDIA's own: some of its errors are not userspace's. */
#define LAB_ENOTSUPP	524

/* The table that the caller gets.  Version 2 has flags in place of the padding. */
struct lab_table {
	struct nvidia_p2p_page_table table;
	u32 flags;
	u8 uuid[16];
};

/*
 * A pin that was fired stays on a list for long, and its table in memory, filled with
 * garbage: so no later table has its address, and whoever still names it is known.
 */
#define FIRED_MAX	2048
struct lab_pin {
	struct list_head link;
	struct lab_allocation *a;
	struct lab_table *table;
	size_t table_bytes;
	u64 va;
	u64 length;
	pid_t owner;
	bool persistent;
	bool forgiven;		/* a put of it was made to fail */
	bool dropped;		/* so that it is no user of the GPU any more */
	bool put;		/* fired: while it was being put, which is allowed once */
	u64 fired;		/* how many pins had been made when the callback came; 0: it has not come */
	void (*callback)(void *data);
	void *data;
	struct list_head mappings;
};

struct lab_mapping {
	struct nvidia_p2p_dma_mapping map;
	struct list_head link;
	dma_addr_t dma[];
};

static LIST_HEAD(persistent_pins);
static LIST_HEAD(fired_pins);
static unsigned int fired_count;
static u64 pins_made;

/* True if the call may go on. */
static bool caller_is_sound(void)
{
	if (LAB_COMPLAIN(preempt_count(), "nvidia_p2p call from atomic context\n"))
		return false;
	might_sleep();
	return !LAB_COMPLAIN(READ_ONCE(lab.in_callback) == current,
		     "nvidia_p2p call from inside of a free callback\n");
}

/* --- page tables --- */

static size_t table_bytes(u32 pages)
{
	return sizeof(struct lab_table) +
	       array_size(pages, sizeof(struct nvidia_p2p_page) + sizeof(void *));
}

static struct lab_table *make_table(const struct lab_allocation *a, u64 offset,
				    u32 pages)
{
	struct nvidia_p2p_page *page;
	struct lab_table *t;
	u32 i;

	t = vzalloc(table_bytes(pages));
	if (!t)
		return NULL;
	t->table.version = lab_table_version;
	t->table.page_size = lab_page_size;
	t->table.pages = (void *)(t + 1);
	t->table.entries = pages;
	t->table.gpu_uuid = t->uuid;
	memcpy(t->uuid, "the lab's GPU 0", sizeof(t->uuid));
	page = (void *)(t->table.pages + pages);
	for (i = 0; i < pages; i++, page++) {
		page->physical_address = lab.phys +
			lab_bar_offset(a, offset + (u64)i * LAB_PAGE);
		t->table.pages[i] = page;
	}
	return t;
}

/* --- mappings for a peer --- */

static void unmap(struct lab_mapping *m, u32 pages)
{
	while (pages--)
		dma_unmap_resource(&m->map.pci_dev->dev, m->dma[pages], LAB_PAGE,
				   DMA_BIDIRECTIONAL, 0);
	list_del(&m->link);
	pci_dev_put(m->map.pci_dev);
	kvfree(m);
}

static int map_pages(struct lab_mapping *m, const struct nvidia_p2p_page_table *t)
{
	struct device *dev = &m->map.pci_dev->dev;
	u32 i;

	for (i = 0; i < t->entries; i++) {
		m->dma[i] = dma_map_resource(dev, t->pages[i]->physical_address,
					     LAB_PAGE, DMA_BIDIRECTIONAL, 0);
		if (dma_mapping_error(dev, m->dma[i])) {
			unmap(m, i);
			return -EIO;
		}
	}
	return 0;
}

/* --- pins --- */

/* Takes the pin from its owner. */
static void end_pin(struct lab_pin *pin)
{
	struct lab_mapping *m, *next;

	list_for_each_entry_safe(m, next, &pin->mappings, link)
		unmap(m, m->map.entries);
	list_del(&pin->link);
	lab_pinned_pages -= pin->length / LAB_PAGE;
	lab.bar1_used -= pin->length;
	lab_allocation_put(pin->a);
	if (!pin->dropped)
		lab_user_ends();
}

static void free_pin(struct lab_pin *pin)
{
	vfree(pin->table);
	kfree(pin);
}

static void forget(struct lab_pin *pin)
{
	end_pin(pin);
	free_pin(pin);
}

static void forget_fired(struct lab_pin *pin)
{
	list_del(&pin->link);
	fired_count--;
	free_pin(pin);
}

/* Calls back, as the driver does when the owner frees the memory, exits or loses it. */
static void fire(struct lab_pin *pin)
{
	int before = preempt_count();

	LAB_COMPLAIN(lab.in_callback, "a free callback inside of another\n");
	lab.in_callback = current;
	pin->callback(pin->data);
	lab.in_callback = NULL;
	LAB_COMPLAIN(preempt_count() != before, "a free callback left a lock held\n");
	lab_callbacks++;
	end_pin(pin);
	pin->fired = pins_made;
	memset(pin->table, 0xdb, pin->table_bytes);
	list_add(&pin->link, &fired_pins);
	if (++fired_count > FIRED_MAX)
		forget_fired(list_last_entry(&fired_pins, struct lab_pin, link));
}

/* Persistent pins must have been put by now, unless a put was made to fail. */
void lab_forget_persistent(void)
{
	struct lab_pin *pin, *next;

	lockdep_assert_held(&lab.lock);
	list_for_each_entry_safe(pin, next, &persistent_pins, link) {
		LAB_COMPLAIN(!pin->forgiven, "%llu bytes at %#llx were never put\n", pin->length, pin->va);
		forget(pin);
	}
}

unsigned int lab_count_persistent(void)
{
	struct lab_pin *pin;
	unsigned int n = 0;

	lockdep_assert_held(&lab.lock);
	list_for_each_entry(pin, &persistent_pins, link)
		n++;
	return n;
}

void lab_forget_fired(void)
{
	struct lab_pin *pin, *next;

	list_for_each_entry_safe(pin, next, &fired_pins, link)
		forget_fired(pin);
}

void lab_revoke(struct lab_allocation *a)
{
	struct lab_pin *pin, *next;

	lockdep_assert_held(&lab.lock);
	list_for_each_entry_safe(pin, next, &a->pins, link)
		fire(pin);
}

static struct lab_pin *find_pin(const struct nvidia_p2p_page_table *table)
{
	struct lab_client *client;
	struct lab_allocation *a;
	struct lab_pin *pin;

	list_for_each_entry(client, &lab.clients, link)
		list_for_each_entry(a, &client->allocations, link)
			list_for_each_entry(pin, &a->pins, link)
				if (&pin->table->table == table)
					return pin;
	list_for_each_entry(pin, &persistent_pins, link)
		if (&pin->table->table == table)
			return pin;
	return NULL;
}

static struct lab_allocation *find_own(u64 va, u64 length)
{
	struct lab_client *client;
	struct lab_allocation *a;

	list_for_each_entry(client, &lab.clients, link) {
		if (client->tgid != current->tgid)
			continue;
		a = lab_find(client, va, length);
		if (a)
			return a;
	}
	return NULL;
}

static int may_pin(bool persistent, u64 length)
{
	u64 bar1 = lab_bar1_mib ? (u64)lab_bar1_mib << 20 : lab.bytes;

	if (!lab.pdev)
		return -ENODEV;
	if (lab_vgpu || (lab_mig && persistent))
		return -LAB_ENOTSUPP;
	if (bar1 < lab.bar1_used + LAB_HEADROOM ||
	    length > bar1 - lab.bar1_used - LAB_HEADROOM)
		return -ENOMEM;
	return 0;
}

static int pin(bool persistent, u64 va, u64 length, struct lab_pin **made)
{
	struct lab_allocation *a;
	struct lab_pin *p;
	int ret;

	a = find_own(va, length);
	if (!length || (va | length) % LAB_PAGE || !a)
		return -EINVAL;
	ret = may_pin(persistent, length);
	if (ret)
		return ret;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->table_bytes = table_bytes(length / LAB_PAGE);
	p->table = make_table(a, va - a->va, length / LAB_PAGE);
	if (!p->table) {
		kfree(p);
		return -ENOMEM;
	}
	kref_get(&a->refs);
	p->a = a;
	p->va = va;
	p->length = length;
	p->owner = current->tgid;
	p->persistent = persistent;
	INIT_LIST_HEAD(&p->mappings);
	list_add_tail(&p->link, persistent ? &persistent_pins : &a->pins);
	lab_pinned_pages += length / LAB_PAGE;
	lab.bar1_used += length;
	lab_user_begins();
	pins_made++;
	*made = p;
	return 0;
}

int lab_get(bool persistent, u64 va, u64 length,
	    struct nvidia_p2p_page_table **table, void (*callback)(void *data),
	    void *data)
{
	struct lab_pin *p;
	int ret;

	*table = LAB_GARBAGE;
	if (!caller_is_sound())
		return -EIO;
	lab_lock();
	ret = lab_failure(persistent ? "get_persistent" : "get");
	if (ret >= 0) {
		int err = pin(persistent, va, length, &p);

		if (!err) {
			p->callback = callback;
			p->data = data;
			*table = &p->table->table;
			if (ret == LAB_REVOKE)
				lab_free(p->a);	/* *table is stale before it is returned */
		}
		ret = err;
	}
	mutex_unlock(&lab.lock);
	return ret;
}

/*
 * A callback may come first while a put is on its way, and then the put finds nothing.
 * But once another pin was made, the table's address may be that one's.
 */
static int put_fired(const struct nvidia_p2p_page_table *table)
{
	struct lab_pin *pin;

	list_for_each_entry(pin, &fired_pins, link) {
		if (&pin->table->table != table)
			continue;
		LAB_COMPLAIN(pin->put, "a second nvidia_p2p_put_pages after the callback\n");
		LAB_COMPLAIN(pin->fired != pins_made, "nvidia_p2p_put_pages after the callback, and after another pin was made\n");
		pin->put = true;
		return 0;
	}
	LAB_COMPLAIN(1, "nvidia_p2p_put_pages of what is not pinned\n");
	return -EINVAL;
}

static int put_locked(bool persistent, u64 va, struct nvidia_p2p_page_table *table)
{
	int ret = lab_failure(persistent ? "put_persistent" : "put");
	struct lab_pin *p = find_pin(table);

	if (!p && persistent) {
		LAB_COMPLAIN(1, "nvidia_p2p_put_pages_persistent of what is not pinned\n");
		return -EIO;
	}
	if (!p)
		return put_fired(table);
	LAB_COMPLAIN(p->dropped, "nvidia_p2p_put_pages_persistent again after it failed\n");
	if (ret < 0) {
		p->forgiven = true;
		/* NVIDIA's drops the pin's use of the GPU, unless it had no memory for the call. */
		p->dropped = persistent && ret != -ENOMEM;
		if (p->dropped)
			lab_user_ends();
		return ret;
	}
	if (LAB_COMPLAIN(p->persistent != persistent || p->va != va,
		 "nvidia_p2p put of another kind or address than the get's\n"))
		return -EINVAL;
	if (LAB_COMPLAIN(!persistent && p->owner != current->tgid,
		 "nvidia_p2p_put_pages from another process does nothing\n"))
		return 0;
	if (ret != LAB_REVOKE) {
		forget(p);
		return 0;
	}
	lab_free(p->a);		/* the owner's free came first */
	return put_fired(table);
}

int lab_put(bool persistent, u64 va, struct nvidia_p2p_page_table *table)
{
	int ret;

	if (!table)
		return 0;
	if (!caller_is_sound())
		return -EIO;
	lab_lock();
	ret = put_locked(persistent, va, table);
	mutex_unlock(&lab.lock);
	return ret;
}

/* --- the interface --- */

int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 virtual_address,
			 u64 length, struct nvidia_p2p_page_table **page_table,
			 void (*free_callback)(void *data), void *data)
{
	if (!free_callback)
		return -EINVAL;
	if (p2p_token || va_space)
		return -LAB_ENOTSUPP;
	return lab_get(false, virtual_address, length, page_table, free_callback, data);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_get_pages);

int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 virtual_address,
			 struct nvidia_p2p_page_table *page_table)
{
	return lab_put(false, virtual_address, page_table);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_put_pages);

int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table)
{
	return 0;	/* a callback's table goes by itself */
}
EXPORT_SYMBOL_GPL(nvidia_p2p_free_page_table);

static int map_locked(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
		      struct nvidia_p2p_dma_mapping **mapping)
{
	int ret = lab_failure("dma_map");
	struct lab_pin *p = find_pin(table);
	struct lab_mapping *m;

	if (ret < 0)
		return ret;
	if (LAB_COMPLAIN(!p, "nvidia_p2p_dma_map_pages of what is not pinned\n"))
		return -EINVAL;
	if (ret == LAB_REVOKE && !p->persistent) {
		lab_free(p->a);
		return -EINVAL;
	}
	m = kvzalloc(struct_size(m, dma, table->entries), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->map.version = NVIDIA_P2P_DMA_MAPPING_VERSION;
	m->map.page_size_type = NVIDIA_P2P_PAGE_SIZE_64KB;
	m->map.entries = table->entries;
	m->map.dma_addresses = m->dma;
	m->map.pci_dev = pci_dev_get(peer);
	list_add(&m->link, &p->mappings);
	ret = map_pages(m, table);
	if (!ret)
		*mapping = &m->map;
	return ret;
}

int nvidia_p2p_dma_map_pages(struct pci_dev *peer,
			     struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping)
{
	int ret;

	if (!peer || !page_table || !dma_mapping)
		return -EINVAL;
	*dma_mapping = LAB_GARBAGE;
	if (!caller_is_sound())
		return -EIO;
	lab_lock();
	ret = map_locked(peer, page_table, dma_mapping);
	mutex_unlock(&lab.lock);
	return ret;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_dma_map_pages);

static struct lab_mapping *find_mapping(const struct nvidia_p2p_page_table *table,
					const struct nvidia_p2p_dma_mapping *mapping)
{
	struct lab_pin *p = find_pin(table);
	struct lab_mapping *m;

	if (p)
		list_for_each_entry(m, &p->mappings, link)
			if (&m->map == mapping)
				return m;
	return NULL;
}

int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer,
			       struct nvidia_p2p_page_table *page_table,
			       struct nvidia_p2p_dma_mapping *dma_mapping)
{
	struct lab_mapping *m;

	if (!peer || !page_table || !dma_mapping)
		return -EINVAL;
	if (!caller_is_sound())
		return -EIO;
	lab_lock();
	m = find_mapping(page_table, dma_mapping);
	if (!LAB_COMPLAIN(!m || peer != m->map.pci_dev,
		  "an unmapping of what is not mapped, or not for that peer\n"))
		unmap(m, m->map.entries);
	mutex_unlock(&lab.lock);
	return 0;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_dma_unmap_pages);

int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping)
{
	return 0;	/* a callback's mapping goes by itself */
}
EXPORT_SYMBOL_GPL(nvidia_p2p_free_dma_mapping);
