// SPDX-License-Identifier: Apache-2.0
/* See target.h. */
#include <stdio.h>
#include <sys/mman.h>

#include "rdma/target.h"

static int open_dram(struct donard_context *ctx, uint64_t length, struct dnd_target *target)
{
	void *memory = length > SIZE_MAX ? MAP_FAILED :
		       mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return dnd_fail(ctx, DND_E_NO_MEMORY, "dram: no %llu bytes of memory can be had. "
				"Use a smaller --size.", (unsigned long long)length);
	target->window.map = memory;
	target->window.map_bytes = length;
	target->data = memory;
	target->length = length;
	return 0;
}

static int check_range(struct donard_context *ctx, struct dnd_target *target, uint64_t length)
{
	uint64_t size = target->region.info.region_bytes;

	if (target->offset >= size)
		return dnd_fail(ctx, DND_E_PAST_END, "%s: offset %llu lies past its end, which is at "
				"%llu. Use a smaller offset.", target->name,
				(unsigned long long)target->offset, (unsigned long long)size);
	if (!length)
		length = size - target->offset;
	if (!dnd_range_fits(target->offset, length, size))
		return dnd_fail(ctx, DND_E_PAST_END, "%s: %llu bytes from offset %llu go past its "
				"end, which is at %llu. Use a smaller --size or offset.",
				target->name, (unsigned long long)length,
				(unsigned long long)target->offset, (unsigned long long)size);
	target->length = length;
	return 0;
}

static int open_region(struct donard_context *ctx, const struct dnd_spec *spec, uint64_t length,
		       struct dnd_target *target)
{
	int rc = dnd_region_open(ctx, spec->region, &target->region);

	if (rc)
		return rc;
	target->offset = spec->offset_bytes;
	rc = check_range(ctx, target, length);
	if (!rc)
		rc = dnd_region_claim(ctx, &target->region, target->offset, target->length,
				      &target->window);
	target->data = target->window.data;
	return rc;
}

int dnd_target_open(struct donard_context *ctx, const char *text, uint64_t length,
		    uint64_t dram_length, struct dnd_target *target)
{
	struct dnd_spec spec;
	int rc;

	memset(target, 0, sizeof(*target));
	target->region.fd = -1;
	if (!strcmp(text, "dram")) {
		snprintf(target->name, sizeof(target->name), "dram");
		return open_dram(ctx, length ? length : dram_length, target);
	}
	rc = dnd_spec_parse(ctx, text, &spec);
	if (rc)
		return rc;
	if (!spec.is_region)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: neither a region nor 'dram'; regions look "
				"like p2pmem0 or p2pmem0+64M.", text);
	snprintf(target->name, sizeof(target->name), "%s", spec.region);
	rc = open_region(ctx, &spec, length, target);
	if (rc)
		dnd_target_close(target);
	return rc;
}

void dnd_target_close(struct dnd_target *target)
{
	dnd_window_unmap(&target->window);
	dnd_region_close(&target->region);
	target->data = NULL;
}

bool dnd_target_gone(const struct dnd_target *target)
{
	return dnd_region_called_back(&target->region);
}

int dnd_target_gone_text(struct donard_context *ctx, const struct dnd_target *target)
{
	return dnd_fail(ctx, DND_E_REGION_GONE, "%s: the region was taken away while RDMA used it. "
			"Add it again, and start again.", target->name);
}
