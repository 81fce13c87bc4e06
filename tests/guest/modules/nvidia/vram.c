// SPDX-License-Identifier: GPL-2.0
/* Memory of the lab's GPU: pages of the BAR, allocated by processes. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lab.h"

static void *page_memory(u32 page)
{
	return lab.vram + (u64)page * LAB_PAGE;
}

static void fill_with_pattern(u32 page)
{
	memset64(page_memory(page), LAB_PATTERN, LAB_PAGE / sizeof(u64));
	wmb(); /* out of the write combining buffers before a peer may write */
	set_bit(page, lab.patterned);
}

/* A write after the page was freed: by a drive, a peer, or a CPU's mapping. */
void lab_check_pattern(u32 page)
{
	const u64 *word = page_memory(page);
	unsigned int i;

	clear_bit(page, lab.patterned);
	if (lab.absent)
		return;
	for (i = 0; i < LAB_PAGE / sizeof(u64); i++) {
		if (READ_ONCE(word[i]) == LAB_PATTERN)
			continue;
		LAB_COMPLAIN(1, "freed GPU memory was written to: BAR offset %#llx holds %#llx\n",
		     (u64)page * LAB_PAGE + i * sizeof(u64), word[i]);
		return;
	}
}

u64 lab_free_bytes(void)
{
	unsigned int pages = lab.bytes / LAB_PAGE;

	return (u64)(pages - bitmap_weight(lab.taken, pages)) * LAB_PAGE;
}

/* Scattered: no two pages of an allocation touch. */
static int take_pages(struct lab_allocation *a)
{
	unsigned int pages = lab.bytes / LAB_PAGE, at = 0, i;

	for (i = 0; i < a->pages; i++) {
		at = find_next_zero_bit(lab.taken, pages, at);
		if (at >= pages)
			goto err_give_back;
		set_bit(at, lab.taken);
		a->page[i] = at;
		at += lab_scatter ? 2 : 1;
	}
	for (i = 0; i < a->pages; i++)
		if (test_bit(a->page[i], lab.patterned))
			lab_check_pattern(a->page[i]);
	return 0;

err_give_back:
	while (i--)
		clear_bit(a->page[i], lab.taken);
	return -ENOMEM;
}

/* The first gap, so that addresses are used again soon; neighbours touch. */
static int take_address(struct lab_client *client, struct lab_allocation *a)
{
	struct lab_allocation *next;
	u64 span = (u64)a->pages * LAB_PAGE;

	a->va = NVLAB_FIRST_VA;
	list_for_each_entry(next, &client->allocations, link) {
		if (next->va - a->va >= span)
			break;
		a->va = next->va + (u64)next->pages * LAB_PAGE;
	}
	if (a->va + span > NVLAB_LAST_VA)
		return -ENOMEM;
	list_add_tail(&a->link, &next->link);
	return 0;
}

int lab_allocate(struct lab_client *client, u64 bytes, u64 *va)
{
	struct lab_allocation *a;
	int ret = lab_failure("alloc");

	if (ret < 0)
		return ret;
	if (!bytes)
		return -EINVAL;
	if (bytes > lab.bytes)
		return -ENOMEM;
	a = kvzalloc(struct_size(a, page, DIV_ROUND_UP(bytes, LAB_PAGE)), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	kref_init(&a->refs);
	INIT_LIST_HEAD(&a->pins);
	a->bytes = bytes;
	a->pages = DIV_ROUND_UP(bytes, LAB_PAGE);
	a->serial = ++lab.serial;
	ret = take_pages(a);
	if (ret)
		goto err_free;
	ret = take_address(client, a);
	if (ret)
		goto err_give_back;
	*va = a->va;
	return 0;

err_give_back:
	while (a->pages--)
		clear_bit(a->page[a->pages], lab.taken);
err_free:
	kvfree(a);
	return ret;
}

static void release_allocation(struct kref *refs)
{
	struct lab_allocation *a = container_of(refs, struct lab_allocation, refs);
	u32 i;

	lockdep_assert_held(&lab.lock);
	for (i = 0; i < a->pages; i++) {
		fill_with_pattern(a->page[i]);
		clear_bit(a->page[i], lab.taken);
	}
	kvfree(a);
}

void lab_allocation_put(struct lab_allocation *a)
{
	kref_put(&a->refs, release_allocation);
}

/* Persistent pins and dma-bufs keep the memory, but not its address. */
void lab_free(struct lab_allocation *a)
{
	lab_revoke(a);
	list_del(&a->link);
	lab_allocation_put(a);
}

struct lab_allocation *lab_find(struct lab_client *client, u64 va, u64 bytes)
{
	struct lab_allocation *a;

	list_for_each_entry(a, &client->allocations, link) {
		u64 span = (u64)a->pages * LAB_PAGE;

		if (va >= a->va && va - a->va < span)
			return bytes <= span - (va - a->va) ? a : NULL;
	}
	return NULL;
}

u64 lab_bar_offset(const struct lab_allocation *a, u64 offset)
{
	return (u64)a->page[offset / LAB_PAGE] * LAB_PAGE + offset % LAB_PAGE;
}

/* Eight bytes at a time: under emulation a string instruction is one access a byte. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	for (; bytes >= sizeof(u64); bytes -= sizeof(u64)) {
		WRITE_ONCE(*(u64 *)to, READ_ONCE(*(const u64 *)from));
		to += sizeof(u64);
		from += sizeof(u64);
	}
	for (; bytes; bytes--)
		*(u8 *)to++ = *(const u8 *)from++;
}

void lab_read(struct lab_allocation *a, u64 offset, void *to, size_t bytes)
{
	while (bytes) {
		size_t piece = min_t(size_t, bytes, LAB_PAGE - offset % LAB_PAGE);

		copy_words(to, lab.vram + lab_bar_offset(a, offset), piece);
		to += piece;
		offset += piece;
		bytes -= piece;
	}
}

void lab_write(struct lab_allocation *a, u64 offset, const void *from, size_t bytes)
{
	while (bytes) {
		size_t piece = min_t(size_t, bytes, LAB_PAGE - offset % LAB_PAGE);

		copy_words(lab.vram + lab_bar_offset(a, offset), from, piece);
		from += piece;
		offset += piece;
		bytes -= piece;
	}
	wmb(); /* out of the write combining buffers */
}
