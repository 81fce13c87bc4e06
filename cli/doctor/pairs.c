// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Of a CMB the nvme driver makes p2pdma pages where the kernel has them: kernel/provider_nvme_cmb.c. */
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
		if (!candidate->obstacle[0] && !is_region(x, candidate))
			add_memory(x, pairs, &memory, candidate->bdf);
	}
}

/* A region that goes away meanwhile, or cannot be opened, leaves what sysfs says. */
static void ask_module(struct examination *x, struct pair *pair)
{
	pair->route = pair->tree.route;
	if (!pair->memory->region || !x->source.live)
		return;
	pair->route.size = sizeof(pair->route);
	pair->by_module = !donard_route_probe(x->ctx, pair->memory->name, pair->client->bdf, &pair->route);
	if (!pair->by_module)
		pair->route = pair->tree.route;
	else if (pair->tree.certain && (pair->route.route != pair->tree.route.route ||
					pair->route.unlisted_bridge != pair->tree.route.unlisted_bridge))
		find(x, CODE_PREDICTION_DIFFERS, pair->client->bdf, "from %s to %s: the module says '%s' (%s), sysfs '%s' "
		     "(%s)", pair->client->bdf, pair->memory->name, donard_route_text(pair->route.route),
		     pair->route.reason, donard_route_text(pair->tree.route.route), pair->tree.route.reason);
}

void pair_set_verdict(struct pair *pair, enum donard_verdict verdict)
{
	static const char *const words[] = { "no", "unlisted", "yes" };

	pair->verdict = verdict;
	cli_add_text(pair->model, "verdict", words[verdict]);
}

void pair_set_proven(struct pair *pair)
{
	char reason[sizeof(pair->route.reason) + 80];

	pair->proven = true;
	cli_add_text(pair->model, "evidence", donard_evidence_text(DONARD_EVIDENCE_PROVEN));
	pair_set_verdict(pair, DONARD_VERDICT_YES);
	if (!pair->route.unlisted_bridge)
		return;
	snprintf(reason, sizeof(reason), "%s, and the bytes arrived: --allow-unlisted-bridge uses it", pair->route.reason);
	cli_add_text(pair->model, "reason", reason);
}

static struct json_object *model_of(const struct pair *pair)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "client", pair->client->name);
	cli_add_text(model, "client_type", donard_client_type_text(pair->client->type));
	cli_add_text(model, "client_bdf", pair->client->bdf);
	cli_add_text(model, "memory", pair->memory->name);
	cli_add_text(model, "memory_bdf", pair->memory->function->bdf);
	json_object_object_add(model, "is_region", json_object_new_boolean(pair->memory->region != NULL));
	cli_add_text(model, "page_type", donard_page_type_text(pair->memory->page_type));
	cli_add_text(model, "evidence", donard_evidence_text(DONARD_EVIDENCE_PREDICTED));
	cli_add_text(model, "route", donard_route_text(pair->route.route));
	cli_add_text(model, "predicted_by", pair->by_module ? "module" : "sysfs");
	cli_add_text(model, "sysfs_route", donard_route_text(pair->tree.route.route));
	json_object_object_add(model, "sysfs_certain", json_object_new_boolean(pair->tree.certain));
	cli_add_number(model, "distance", pair->route.distance);
	cli_add_text(model, "bridge", pair->route.bridge);
	cli_add_text(model, "reason", pair->route.reason);
	return model;
}

static void add_pair(struct examination *x, struct pairs *pairs, const struct donard_client_info *client,
		     const struct memory *memory, struct json_object *models)
{
	struct pair *pair = &pairs->pairs[pairs->count];

	memset(pair, 0, sizeof(*pair));
	pair->client = client;
	pair->memory = memory;
	pair->function = pci_find(&x->pci, client->bdf);
	if (!pair->function)
		return;
	/* A GPU starts no DMA without a driver, and needs nobody to reach its own memory. */
	if (client->type == DONARD_CLIENT_GPU &&
	    (memory->function == pair->function || !pair->function->driver[0] ||
	     !strcmp(pair->function->driver, "p2pmem")))
		return;
	route_predict(&x->pci, &x->kernel, memory->function, pair->function, memory->page_type, &pair->tree);
	ask_module(x, pair);
	pair->model = model_of(pair);
	pair_set_verdict(pair, donard_route_verdict(&pair->route));
	json_object_array_add(models, pair->model);
	pairs->count++;
}

int pairs_make(struct examination *x, struct pairs *pairs, struct json_object *models)
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
			add_pair(x, pairs, client, &pairs->memories[m], models);
	return 0;
}

void pairs_forget(struct pairs *pairs)
{
	free(pairs->memories);
	free(pairs->pairs);
	memset(pairs, 0, sizeof(*pairs));
}
