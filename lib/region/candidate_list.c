// SPDX-License-Identifier: Apache-2.0
/* The list of candidates. */
#include <stdio.h>
#include <stdlib.h>

#include "region/candidate_list.h"
#include "region/names.h"

static void name_memory(struct dnd_candidate *candidate)
{
	const char *word = dnd_region_suffix(candidate->info.kind);
	char suffix[16];

	if (candidate->info.kind == DONARD_KIND_PCI_BAR)
		snprintf(suffix, sizeof(suffix), "%s%u", word, candidate->info.bar);
	else
		snprintf(suffix, sizeof(suffix), "%s", word);
	dnd_identity_by_id(&candidate->identity, candidate->bdf, suffix, candidate->by_id,
			   sizeof(candidate->by_id));
	dnd_identity_by_path(&candidate->identity, suffix, candidate->by_path,
			     sizeof(candidate->by_path));
}

static void point_at_strings(struct dnd_candidate *candidate)
{
	struct donard_candidate_info *info = &candidate->info;

	info->bdf = candidate->bdf;
	info->driver = candidate->identity.driver;
	info->serial = candidate->identity.serial;
	info->path = candidate->identity.path;
	info->slot = candidate->identity.slot;
	info->by_id = candidate->by_id;
	info->by_path = candidate->by_path;
	info->obstacle = candidate->obstacle;
}

struct dnd_candidate *dnd_candidate_add(struct donard_candidate_list *list,
					const struct dnd_function *function,
					enum donard_region_kind kind, unsigned int bar)
{
	struct dnd_candidate **candidates, *candidate = calloc(1, sizeof(*candidate));

	candidates = realloc(list->candidates, (list->count + 1) * sizeof(*candidates));
	if (candidates)
		list->candidates = candidates;
	if (!candidates || !candidate) {
		free(candidate);
		return NULL;
	}
	candidates[list->count++] = candidate;
	candidate->identity = *function->identity;
	snprintf(candidate->bdf, sizeof(candidate->bdf), "%s", function->bdf);
	candidate->info.size = sizeof(candidate->info);
	candidate->info.kind = kind;
	candidate->info.bar = bar;
	candidate->info.size_bytes = function->bars[bar].bytes;
	name_memory(candidate);
	point_at_strings(candidate);
	return candidate;
}

DND_PUBLIC size_t donard_candidate_count(const struct donard_candidate_list *list)
{
	DND_DEMANDS(CANDIDATE_LIST, list);
	return list ? list->count : 0;
}

DND_PUBLIC const struct donard_candidate_info *
donard_candidate_get(const struct donard_candidate_list *list, size_t index)
{
	DND_DEMANDS(CANDIDATE_LIST, list);
	return list && index < list->count ? &list->candidates[index]->info : NULL;
}

DND_PUBLIC void donard_candidate_list_free(struct donard_candidate_list *list)
{
	DND_LETS_GO(CANDIDATE_LIST, list);
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		free(list->candidates[i]);
	free(list->candidates);
	dnd_handle_free(list, sizeof(*list));
}
