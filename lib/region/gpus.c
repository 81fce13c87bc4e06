// SPDX-License-Identifier: Apache-2.0
/* The list of GPUs. */
#include <stdio.h>
#include <stdlib.h>

#include "region/gpu_facts.h"
#include "region/pci_names.h"
#include "region/region.h"

struct gpu {
	struct donard_gpu_info info;
	struct dnd_gpu_facts facts;
	char bdf[DONARD_BDF_BYTES], model[128], region[P2PMEM_NAME_BYTES], obstacle[320];
	char leaving[P2PMEM_NAME_BYTES];	/* a region that is being taken away, in which nothing can be pinned any more */
};

struct donard_gpu_list {
	size_t count;
	struct gpu **gpus;	/* each is allocated, so that pointers to it stay valid */
};

struct scan {
	struct donard_gpu_list *list;
	struct donard_region_list *regions;
	struct pci_access *names;
};

static struct gpu *add(struct donard_gpu_list *list, const char *bdf)
{
	struct gpu **gpus = realloc(list->gpus, (list->count + 1) * sizeof(*gpus)), *gpu;

	if (gpus)
		list->gpus = gpus;
	gpu = gpus ? calloc(1, sizeof(*gpu)) : NULL;
	if (!gpu)
		return NULL;
	list->gpus[list->count++] = gpu;
	snprintf(gpu->bdf, sizeof(gpu->bdf), "%s", bdf);
	return gpu;
}

static bool is_leaving(const struct donard_region_info *region)
{
	return region->state == DONARD_STATE_DRAINING || region->state == DONARD_STATE_QUARANTINED;
}

/* A GPU has one region that is ready; earlier ones may still be on their way out. */
static void find_region(const struct scan *scan, struct gpu *gpu)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(scan->regions, i)); i++)
		if (region->kind == DONARD_KIND_GPU_NVIDIA && !strcmp(region->bdf, gpu->bdf))
			snprintf(is_leaving(region) ? gpu->leaving : gpu->region, P2PMEM_NAME_BYTES, "%s", region->name);
}

/* A GPU that has a region has no obstacle. */
static void find_obstacle(struct gpu *gpu)
{
	if (gpu->region[0])
		return;
	dnd_gpu_obstacle(&gpu->facts, gpu->obstacle, sizeof(gpu->obstacle));
	if (!gpu->obstacle[0] && gpu->leaving[0])
		snprintf(gpu->obstacle, sizeof(gpu->obstacle), "%s: its region %s is being taken away. Wait for that, and add "
			 "it again, as root: donard_region_add(gpu-nvidia, %s)", gpu->bdf, gpu->leaving, gpu->bdf);
	else if (!gpu->obstacle[0])
		snprintf(gpu->obstacle, sizeof(gpu->obstacle), "%s has no region to pin its memory in. Add it, as root: "
			 "donard_region_add(gpu-nvidia, %s)", gpu->bdf, gpu->bdf);
}

static void fill(const struct donard_context *ctx, struct gpu *gpu, const struct dnd_bar bars[DND_BARS])
{
	bool has_bar = gpu->facts.bar < DND_BARS && !gpu->facts.bar_unset;

	gpu->info = (struct donard_gpu_info){
		.size = sizeof(gpu->info),
		.bdf = gpu->bdf,
		.model = gpu->model,
		.driver = gpu->facts.driver,
		.driver_version = gpu->facts.driver_version,
		.region = gpu->region,
		.obstacle = gpu->obstacle,
		.driver_kind = gpu->facts.kind,
		.bar = has_bar ? gpu->facts.bar : 0,
		.bar_bytes = has_bar ? bars[gpu->facts.bar].bytes : 0,
		.bar_largest_bytes = has_bar ? dnd_bar_largest(ctx, gpu->bdf, gpu->facts.bar) : 0,
		.static_bar1 = gpu->facts.static_bar1,
	};
}

static int scan_function(struct donard_context *ctx, const char *bdf, void *data)
{
	struct dnd_bar bars[DND_BARS];
	struct scan *scan = data;
	struct gpu *gpu;

	if (!dnd_is_gpu(ctx, bdf))
		return 0;
	gpu = add(scan->list, bdf);
	if (!gpu)
		return -ENOMEM;
	dnd_bars_read(ctx, bdf, bars);
	dnd_gpu_facts(ctx, gpu->bdf, bars, &gpu->facts);
	dnd_pci_name(ctx, scan->names, bdf, gpu->model, sizeof(gpu->model));
	find_region(scan, gpu);
	find_obstacle(gpu);
	fill(ctx, gpu, bars);
	return 0;
}

/* If the module is not loaded, there are no regions, which is not a failure. */
static int look_at_regions(struct donard_context *ctx, struct scan *scan)
{
	struct dnd_failure kept = dnd_failure_keep(ctx);
	int rc = donard_region_list_parts(ctx, 0, &scan->regions);

	if (rc == -EOPNOTSUPP)
		dnd_failure_put_back(ctx, &kept);
	return rc == -EOPNOTSUPP || rc >= 0 ? 0 : rc;
}

DND_PUBLIC int donard_gpu_list(struct donard_context *ctx, struct donard_gpu_list **out)
{
	DND_USES(CONTEXT, ctx);
	struct scan scan = { .list = calloc(1, sizeof(*scan.list)), .names = dnd_pci_names_open() };
	unsigned int unread = dnd_sysfs_unread(ctx);
	int rc = scan.list && scan.names ? look_at_regions(ctx, &scan) : -ENOMEM;

	if (!rc)
		rc = dnd_for_each_entry(ctx, "bus/pci/devices", scan_function, &scan);
	dnd_pci_names_close(scan.names);
	donard_region_list_free(scan.regions);
	if (rc == -ENOMEM)
		dnd_fail_memory(ctx);
	rc = dnd_sysfs_check(ctx, unread, rc);
	if (rc) {
		donard_gpu_list_free(scan.list);
		return rc;
	}
	dnd_handle_made(DND_A_GPU_LIST, scan.list, ctx);
	*out = scan.list;
	return (int)scan.list->count;
}

DND_PUBLIC size_t donard_gpu_count(const struct donard_gpu_list *list)
{
	DND_DEMANDS(GPU_LIST, list);
	return list ? list->count : 0;
}

DND_PUBLIC const struct donard_gpu_info *donard_gpu_get(const struct donard_gpu_list *list, size_t index)
{
	DND_DEMANDS(GPU_LIST, list);
	return list && index < list->count ? &list->gpus[index]->info : NULL;
}

DND_PUBLIC void donard_gpu_list_free(struct donard_gpu_list *list)
{
	DND_LETS_GO(GPU_LIST, list);
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		free(list->gpus[i]);
	free(list->gpus);
	dnd_handle_free(list, sizeof(*list));
}

DND_PUBLIC const char *donard_gpu_driver_text(enum donard_gpu_driver driver)
{
	static const char *const words[] = {
		[DONARD_GPU_DRIVER_NONE] = "none", [DONARD_GPU_DRIVER_OPEN] = "open",
		[DONARD_GPU_DRIVER_PROPRIETARY] = "proprietary", [DONARD_GPU_DRIVER_OTHER] = "other",
	};

	return (size_t)driver < sizeof(words) / sizeof(words[0]) ? words[driver] : "unknown";
}
