// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "output.h"
#include "pairs.h"

static bool is_region(const struct examination *x, const struct donard_candidate_info *candidate)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(x->regions, i)); i++)
		if (region->kind == candidate->kind && !strcmp(region->bdf, candidate->bdf) &&
		    (region->kind != DONARD_KIND_PCI_BAR || region->bar == candidate->bar))
			return true;
	return false;
}

static void add_memory(struct examination *x, struct pairs *pairs, const struct memory *memory,
		       const char *bdf)
{
	struct memory *place = &pairs->memories[pairs->memory_count];

	*place = *memory;
	place->function = pci_find(&x->pci, bdf);
	pairs->memory_count += place->function != NULL;
}

static void add_regions(struct examination *x, struct pairs *pairs)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(x->regions, i)); i++) {
		struct memory memory = { .region = region, .page_type = region->page_type };

		snprintf(memory.name, sizeof(memory.name), "%s", region->name);
		if (region->state == DONARD_STATE_READY)
			add_memory(x, pairs, &memory, region->bdf);
	}
}

/* The nvme driver makes p2pdma pages of a CMB where the kernel has them: kernel/provider_nvme_cmb.c. */
static enum donard_page_type page_type_of(const struct examination *x, const struct donard_candidate_info *candidate)
{
	return candidate->kind == DONARD_KIND_NVME_CMB && x->kernel.p2pdma ? DONARD_PAGES_P2PDMA : DONARD_PAGES_GENERIC;
}

static void name_candidate(struct memory *memory, const struct donard_candidate_info *candidate)
{
	static const char *const words[] = {
		[DONARD_KIND_NVME_CMB] = "CMB", [DONARD_KIND_NVME_PMR] = "PMR", [DONARD_KIND_GPU_NVIDIA] = "GPU memory",
	};

	if (candidate->kind == DONARD_KIND_PCI_BAR)
		snprintf(memory->name, sizeof(memory->name), "%s BAR %u", candidate->bdf, candidate->bar);
	else
		snprintf(memory->name, sizeof(memory->name), "%s of %s", words[candidate->kind], candidate->bdf);
}

static void add_candidates(struct examination *x, struct pairs *pairs)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; (candidate = donard_candidate_get(x->candidates, i)); i++) {
		struct memory memory = { .candidate = candidate, .page_type = page_type_of(x, candidate) };

		name_candidate(&memory, candidate);
		if (!candidate->obstacle[0] && !is_beyond_direct_map(x, candidate) && !is_region(x, candidate))
			add_memory(x, pairs, &memory, candidate->bdf);
	}
}

static bool has_line(const char *lines, const char *line)
{
	size_t bytes = strlen(line);

	for (; *lines; lines += strspn(lines, "\n")) {
		if (strcspn(lines, "\n") == bytes && !strncmp(lines, line, bytes))
			return true;
		lines += strcspn(lines, "\n");
	}
	return false;
}

/*
 * The kernel's answer, which the module asks for.  If the module cannot be asked (a captured machine, a region that this
 * process may not open), a region of generic pages still names the drives and NICs without a route, unless they are too many.
 */
static enum kernel_word heard(const struct examination *x, const struct pair *pair)
{
	const struct donard_region_info *region = pair->memory->region;

	if (pair->by_module)
		return pair->route.unlisted_bridge ? KERNEL_UNLISTED : KERNEL_FORWARDS;
	if (!region || !region->unrouted || region->page_type != DONARD_PAGES_GENERIC ||
	    pair->client->type == DONARD_CLIENT_GPU || !source_exists(&x->source, "/sys/class/p2pmem/%s/unrouted", region->name))
		return KERNEL_NOT_ASKED;
	if (has_line(region->unrouted, pair->client->bdf))
		return KERNEL_UNLISTED;
	return cli_lines_left_out(region->unrouted) ? KERNEL_NOT_ASKED : KERNEL_FORWARDS;
}

static void compare(struct examination *x, const struct pair *pair)
{
	const struct donard_route *module = &pair->route, *sysfs = &pair->tree.route;

	if (route_contradicts(&x->kernel, &pair->tree, module))
		find(x, CODE_PREDICTION_DIFFERS, pair->client->bdf, "from %s to %s: the module says '%s' (%s), sysfs '%s' "
		     "(%s)", pair->client->bdf, pair->memory->name, donard_route_text(module->route), module->reason,
		     donard_route_text(sysfs->route), sysfs->reason);
}

static void say_undecided(const struct examination *x, struct pair *pair)
{
	char *reason = pair->route.reason;
	size_t used = strlen(reason);

	snprintf(reason + used, sizeof(pair->route.reason) - used, "; not known until %s: %s decides",
		 pair->memory->region ? "the module is asked" : x->kernel.module_loaded ? "this is a region" :
		 "the module is loaded and this is a region", x->kernel.p2pdma ? "the running kernel's own list" : "the module");
}

/* Predicts the route.  If the region goes away meanwhile, or cannot be opened, the prediction from sysfs stands. */
static void predict(struct examination *x, struct pair *pair)
{
	const struct memory *memory = pair->memory;

	pair->route.size = sizeof(pair->route);
	pair->by_module = memory->region && x->source.live &&
			  !donard_route_probe(x->ctx, memory->name, pair->client->bdf, &pair->route);
	route_predict(&x->kernel, memory->function, pair->function, memory->page_type, heard(x, pair), &pair->tree);
	if (pair->by_module) {
		compare(x, pair);
		return;
	}
	pair->route = pair->tree.route;
	if (pair->tree.undecided)
		say_undecided(x, pair);
}

void pair_set_verdict(struct pair *pair, enum donard_verdict verdict)
{
	pair->verdict = verdict;
	pair->undecided = false;
}

static void add_pair(struct examination *x, struct pairs *pairs, const struct donard_client_info *client,
		     const struct memory *memory)
{
	struct pair *pair = &pairs->pairs[pairs->count];

	memset(pair, 0, sizeof(*pair));
	pair->client = client;
	pair->memory = memory;
	pair->function = pci_find(&x->pci, client->bdf);
	if (!pair->function || is_drive_gone(x, client))
		return;
	/* A GPU may start no DMA for this machine, and needs no route to its own memory. */
	if (client->type == DONARD_CLIENT_GPU &&
	    (memory->function == pair->function || !route_starts_dma(pair->function)))
		return;
	predict(x, pair);
	pair->undecided = pair->tree.undecided;
	pair->verdict = pair->undecided ? DONARD_VERDICT_UNLISTED : donard_route_verdict(&pair->route);
	pairs->count++;
}

int pairs_make(struct examination *x, struct pairs *pairs)
{
	size_t most = donard_region_count(x->regions) + donard_candidate_count(x->candidates);
	const struct donard_client_info *client;

	memset(pairs, 0, sizeof(*pairs));
	pairs->memories = calloc(most + 1, sizeof(*pairs->memories));
	if (!pairs->memories)
		return -ENOMEM;
	add_regions(x, pairs);
	add_candidates(x, pairs);
	pairs->pairs = calloc(pairs->memory_count * donard_client_count(x->clients) + 1,
			      sizeof(*pairs->pairs));
	if (!pairs->pairs) {
		pairs_forget(pairs);
		return -ENOMEM;
	}
	for (size_t c = 0; (client = donard_client_get(x->clients, c)); c++)
		for (size_t m = 0; m < pairs->memory_count; m++)
			add_pair(x, pairs, client, &pairs->memories[m]);
	return 0;
}

void pairs_forget(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		for (int d = 0; d < DIRECTIONS; d++)
			free(pairs->pairs[i].proofs[d].reason);
	free(pairs->memories);
	free(pairs->pairs);
	memset(pairs, 0, sizeof(*pairs));
}
