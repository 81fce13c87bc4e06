// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "bytes.h"

#define MIXED	((u32)-3)	/* in a block's entry: each granule has an entry of its own */

/* Entries that equal @from become @to.  The others become @others_to, or stay. */
struct change {
	u32 from;
	u32 to;
	u32 others_to;
	bool others_stay;
};

static u32 changed(u32 now, const struct change *change)
{
	if (now == change->from)
		return change->to;
	return change->others_stay ? now : change->others_to;
}

static u64 block_end(const struct p2pmem_bytes *b, u64 block)
{
	u64 end = (block + 1) * P2PMEM_BYTES_BLOCK;

	return end < b->granules ? end : b->granules;
}

void p2pmem_bytes_init(struct p2pmem_bytes *b, u32 *entries, u64 granules, u64 unit)
{
	u64 i;

	b->of_block = entries;
	b->of_granule = p2pmem_bytes_in_blocks(unit) ? NULL :
			entries + p2pmem_bytes_blocks(granules);
	b->granules = granules;
	for (i = 0; i < p2pmem_bytes_blocks(granules); i++)
		b->of_block[i] = P2PMEM_BYTES_UNKNOWN;
}

u32 p2pmem_bytes_of(const struct p2pmem_bytes *b, u64 granule)
{
	u32 all = b->of_block[granule / P2PMEM_BYTES_BLOCK];

	return all == MIXED ? b->of_granule[granule] : all;
}

u64 p2pmem_bytes_next_unknown(const struct p2pmem_bytes *b, u64 from, u64 end)
{
	while (from < end) {
		u64 block = from / P2PMEM_BYTES_BLOCK;

		if (p2pmem_bytes_of(b, from) == P2PMEM_BYTES_UNKNOWN)
			return from;
		from = b->of_block[block] == MIXED ? from + 1 : block_end(b, block);
	}
	return end;
}

/* Gives each granule of the block an entry of its own. */
static void part(struct p2pmem_bytes *b, u64 block)
{
	u32 all = b->of_block[block];
	u64 g;

	if (all == MIXED)
		return;
	for (g = block * P2PMEM_BYTES_BLOCK; g < block_end(b, block); g++)
		b->of_granule[g] = all;
	b->of_block[block] = MIXED;
}

/*
 * [first, end) lies in one block.  If it is only a part of the block, each granule of the
 * block gets an entry of its own.
 */
static void change_in_block(struct p2pmem_bytes *b, u64 first, u64 end,
			    const struct change *change)
{
	u64 block = first / P2PMEM_BYTES_BLOCK;
	bool whole = first == block * P2PMEM_BYTES_BLOCK && end == block_end(b, block);
	bool alike = true;
	u64 g;

	if (whole && b->of_block[block] != MIXED) {
		b->of_block[block] = changed(b->of_block[block], change);
		return;
	}
	part(b, block);
	for (g = first; g < end; g++) {
		b->of_granule[g] = changed(b->of_granule[g], change);
		alike &= b->of_granule[g] == b->of_granule[first];
	}
	if (whole && alike)
		b->of_block[block] = b->of_granule[first];
}

static void change_all(struct p2pmem_bytes *b, u64 first, u64 count,
		       const struct change *change)
{
	u64 end = first + count;

	while (first < end) {
		u64 to = block_end(b, first / P2PMEM_BYTES_BLOCK);

		if (to > end)
			to = end;
		change_in_block(b, first, to, change);
		first = to;
	}
}

static void set_all(struct p2pmem_bytes *b, u64 first, u64 count, u32 value)
{
	const struct change change = { .from = value, .to = value, .others_to = value };

	change_all(b, first, count, &change);
}

void p2pmem_bytes_forget(struct p2pmem_bytes *b, u64 first, u64 count)
{
	set_all(b, first, count, P2PMEM_BYTES_UNKNOWN);
}

void p2pmem_bytes_admit(struct p2pmem_bytes *b, u64 first, u64 count, u32 uid,
			bool trusted)
{
	const u32 others_to = trusted ? P2PMEM_BYTES_CLEAN : P2PMEM_BYTES_UNKNOWN;
	/* A uid that collides with a marker owns nothing. */
	const struct change change = {
		.from = uid,
		.to = uid >= MIXED ? others_to : P2PMEM_BYTES_CLEAN,
		.others_to = others_to,
	};

	change_all(b, first, count, &change);
}

void p2pmem_bytes_show(struct p2pmem_bytes *b, u64 first, u64 count)
{
	set_all(b, first, count, P2PMEM_BYTES_CLEAN);
}

void p2pmem_bytes_keep(struct p2pmem_bytes *b, u64 first, u64 count, u32 uid)
{
	/* A uid that collides with a marker is not remembered. */
	const struct change change = {
		.from = P2PMEM_BYTES_CLEAN,
		.to = uid >= MIXED ? P2PMEM_BYTES_UNKNOWN : uid,
		.others_stay = true,
	};

	change_all(b, first, count, &change);
}
