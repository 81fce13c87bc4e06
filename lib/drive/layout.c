// SPDX-License-Identifier: Apache-2.0
/* Puts a stack's nodes and pieces together, and finds where a byte lies; see stack.h. */
#include <stdio.h>

#include "drive/stack.h"

int dnd_stack_too_large(struct dnd_stack_walk *walk, const char *what, int limit)
{
	return dnd_fail(walk->ctx, DND_E_UNSUPPORTED, "%s: it is made of too much: more than %d %s. "
			"Use what lies below.", walk->label, limit, what);
}

void dnd_stack_set_kind(struct dnd_stack_walk *walk, const char *kind)
{
	if (walk->depth == 1)
		snprintf(walk->stack->kind, sizeof(walk->stack->kind), "%s", kind);
}

int dnd_stack_add_node(struct dnd_stack_walk *walk, const struct dnd_node *node, uint16_t *index)
{
	struct dnd_stack *stack = walk->stack;
	struct dnd_node *added = &stack->nodes[stack->node_count];

	if (stack->node_count == DND_NODES)
		return dnd_stack_too_large(walk, "devices", DND_NODES);
	*index = (uint16_t)stack->node_count++;
	*added = *node;
	added->first_piece = (uint16_t)stack->piece_count;
	if (node->layout == DND_LAYOUT_CHUNKS && node->chunk_bytes != UINT64_MAX)
		stack->chunk_bytes = stack->chunk_bytes ?
			dnd_min(stack->chunk_bytes, node->chunk_bytes) : node->chunk_bytes;
	return 0;
}

int dnd_stack_add_piece(struct dnd_stack_walk *walk, const struct dnd_piece *part)
{
	struct dnd_stack *stack = walk->stack;

	if (stack->piece_count == DND_PIECES)
		return dnd_stack_too_large(walk, "pieces", DND_PIECES);
	stack->pieces[stack->piece_count++] = *part;
	return 0;
}

static void locate(const struct dnd_stack *stack, uint16_t index, uint64_t offset,
		   struct dnd_places *places);

static void shorten(struct dnd_places *places, uint64_t run_bytes)
{
	places->run_bytes = dnd_min(places->run_bytes, run_bytes);
}

static void in_leg(const struct dnd_stack *stack, const struct dnd_node *node, uint64_t offset,
		   struct dnd_places *places)
{
	const struct dnd_leg *leg = &stack->legs[node->leg];

	if (offset >= leg->blockdev.length_bytes || places->count == DND_LEGS)
		return;
	shorten(places, leg->blockdev.length_bytes - offset);
	places->copies[places->count++] = (struct dnd_place_on_leg){ node->leg, offset };
}

static void in_line(const struct dnd_stack *stack, const struct dnd_node *node, uint64_t offset,
		    struct dnd_places *places)
{
	for (uint16_t i = 0; i < node->piece_count; i++) {
		const struct dnd_piece *part = &stack->pieces[node->first_piece + i];

		if (offset < part->at_bytes || offset - part->at_bytes >= part->length_bytes)
			continue;
		shorten(places, part->length_bytes - (offset - part->at_bytes));
		locate(stack, part->node, part->from_bytes + offset - part->at_bytes, places);
		return;
	}
}

static void in_chunks(const struct dnd_stack *stack, const struct dnd_node *node, uint64_t offset,
		      struct dnd_places *places)
{
	uint64_t chunk = offset / node->chunk_bytes, within = offset % node->chunk_bytes;

	shorten(places, node->chunk_bytes - within);
	for (uint32_t copy = 0; copy < node->copies; copy++) {
		uint64_t slot = chunk * node->copies + copy;
		const struct dnd_piece *part = &stack->pieces[node->first_piece + slot % node->piece_count];
		uint64_t stripe = slot / node->piece_count;

		locate(stack, part->node, part->from_bytes + stripe * node->chunk_bytes + within, places);
	}
}

static void locate(const struct dnd_stack *stack, uint16_t index, uint64_t offset,
		   struct dnd_places *places)
{
	const struct dnd_node *node;

	if (index == DND_NO_NODE)
		return;
	node = &stack->nodes[index];
	if (node->layout == DND_LAYOUT_LEG)
		in_leg(stack, node, offset, places);
	else if (node->layout == DND_LAYOUT_LINEAR)
		in_line(stack, node, offset, places);
	else if (node->layout == DND_LAYOUT_CHUNKS)
		in_chunks(stack, node, offset, places);
}

void dnd_stack_locate(const struct dnd_stack *stack, uint64_t offset_bytes, struct dnd_places *places)
{
	places->count = 0;
	places->run_bytes = UINT64_MAX;
	locate(stack, stack->top, offset_bytes, places);
}
