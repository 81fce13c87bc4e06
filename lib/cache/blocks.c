// SPDX-License-Identifier: Apache-2.0
/*
 * A treap: in the order of the blocks it is a search tree, and in the order of random priorities a heap, so that its depth is
 * likely to be a small multiple of the logarithm of its size (Seidel and Aragon, Randomized Search Trees, 1996).  Extents do
 * not overlap, so the order of their first blocks is that of their ends.
 */
#include <errno.h>
#include <stdlib.h>

#include "cache/blocks.h"

struct dnd_cache_node {
	struct dnd_cache_extent extent;
	struct dnd_cache_node *left, *right;	/* in a spare node, left is the next spare one */
	uint64_t priority;
};

static uint64_t end_of(const struct dnd_cache_node *node)
{
	return node->extent.first + node->extent.count;
}

/* ---- the tree ---- */

/* SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t draw(struct dnd_cache_blocks *blocks)
{
	uint64_t drawn = blocks->seed += 0x9e3779b97f4a7c15U;

	drawn = (drawn ^ (drawn >> 30)) * 0xbf58476d1ce4e5b9U;
	drawn = (drawn ^ (drawn >> 27)) * 0x94d049bb133111ebU;
	return drawn ^ (drawn >> 31);
}

static struct dnd_cache_node **side(struct dnd_cache_node *node, uint64_t first)
{
	return first < node->extent.first ? &node->left : &node->right;
}

static void divide(struct dnd_cache_node *tree, uint64_t first, struct dnd_cache_node **before, struct dnd_cache_node **behind)
{
	while (tree) {
		if (tree->extent.first < first) {
			*before = tree;
			before = &tree->right;
			tree = tree->right;
		} else {
			*behind = tree;
			behind = &tree->left;
			tree = tree->left;
		}
	}
	*before = *behind = NULL;
}

static struct dnd_cache_node *take_spare(struct dnd_cache_blocks *blocks)
{
	struct dnd_cache_node *node = blocks->spare;

	if (!node)
		return &blocks->nodes[blocks->touched++];
	blocks->spare = node->left;
	return node;
}

static void insert(struct dnd_cache_blocks *blocks, struct dnd_cache_extent extent)
{
	struct dnd_cache_node **at = &blocks->root, *node = take_spare(blocks), *below;

	node->extent = extent;
	node->priority = draw(blocks);
	while (*at && (*at)->priority >= node->priority)
		at = side(*at, extent.first);
	below = *at;
	*at = node;
	divide(below, extent.first, &node->left, &node->right);
}

static void take_out(struct dnd_cache_blocks *blocks, struct dnd_cache_node *node)
{
	struct dnd_cache_node **at = &blocks->root, *left = node->left, *right = node->right;

	while (*at != node)
		at = side(*at, node->extent.first);
	while (left && right) {
		if (left->priority > right->priority) {
			*at = left;
			at = &left->right;
			left = left->right;
		} else {
			*at = right;
			at = &right->left;
			right = right->left;
		}
	}
	*at = left ? left : right;
	node->left = blocks->spare;
	blocks->spare = node;
}

/* Returns the first extent that contains this block or lies behind it, or NULL. */
static struct dnd_cache_node *first_from(const struct dnd_cache_blocks *blocks, uint64_t number)
{
	struct dnd_cache_node *node = blocks->root, *found = NULL;

	while (node) {
		if (end_of(node) > number) {
			found = node;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return found;
}

/* ---- extents ---- */

/* Removes the blocks from @first up to, but not including, @end from an extent that contains some of them. */
static void cut(struct dnd_cache_blocks *blocks, struct dnd_cache_node *node, uint64_t first, uint64_t end)
{
	struct dnd_cache_extent *extent = &node->extent, behind = *extent;

	behind.first = end;
	behind.count = end_of(node) - end;
	if (extent->first < first) {
		if (end_of(node) > end)
			insert(blocks, behind);
		extent->count = first - extent->first;
	} else if (end_of(node) > end) {
		*extent = behind;
	} else {
		take_out(blocks, node);
	}
}

static void drop(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count, uint64_t sequence)
{
	struct dnd_cache_node *node = first_from(blocks, first);
	uint64_t end = first + count;

	while (node && node->extent.first < end) {
		uint64_t next = end_of(node);

		if (node->extent.sequence <= sequence)
			cut(blocks, node, first, end);
		node = next < end ? first_from(blocks, next) : NULL;
	}
}

/* ---- for the log ---- */

int dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, uint64_t records)
{
	*blocks = (struct dnd_cache_blocks){ .nodes = calloc(2 * records + 1, sizeof(*blocks->nodes)) };
	return blocks->nodes ? 0 : -ENOMEM;
}

void dnd_cache_blocks_free(struct dnd_cache_blocks *blocks)
{
	free(blocks->nodes);
	*blocks = (struct dnd_cache_blocks){ 0 };
}

bool dnd_cache_blocks_next(const struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count,
			   struct dnd_cache_extent *extent)
{
	const struct dnd_cache_node *node = first_from(blocks, first);
	uint64_t end = first + count;

	if (!node || node->extent.first >= end)
		return false;
	*extent = node->extent;
	if (extent->first < first)
		extent->first = first;
	extent->count = (end_of(node) < end ? end_of(node) : end) - extent->first;
	return true;
}

uint64_t dnd_cache_blocks_find(const struct dnd_cache_blocks *blocks, uint64_t number)
{
	struct dnd_cache_extent extent;

	return dnd_cache_blocks_next(blocks, number, 1, &extent) ? extent.sequence : 0;
}

void dnd_cache_blocks_set(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count, uint64_t sequence)
{
	drop(blocks, first, count, UINT64_MAX);
	insert(blocks, (struct dnd_cache_extent){ .first = first, .count = count, .sequence = sequence });
}

void dnd_cache_blocks_drop(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count, uint64_t sequence)
{
	drop(blocks, first, count, sequence);
}

void dnd_cache_blocks_drop_range(struct dnd_cache_blocks *blocks, uint64_t first, uint64_t count)
{
	drop(blocks, first, count, UINT64_MAX);
}
