// SPDX-License-Identifier: Apache-2.0
/* See pin.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "gpu/alloc.h"
#include "gpu/context.h"
#include "gpu/driver.h"
#include "gpu/order.h"
#include "gpu/pin.h"
#include "gpu/range.h"

#define PIN_WAIT_SECONDS	5	/* for how long a call that signals interrupt is repeated */

static enum dnd_error error_of(int error_number)
{
	switch (error_number) {
	case EINVAL:
		return DND_E_BAD_OPTION;
	case ENXIO:
		return DND_E_OUTSIDE;
	case ENOSPC:
		return DND_E_NO_SPACE;
	case EBUSY:
	case EEXIST:
	case EINTR:
		return DND_E_BUSY;
	case ENOMEM:
		return DND_E_NO_MEMORY;
	case ENODEV:
		return DND_E_REGION_GONE;
	case EOPNOTSUPP:
		return DND_E_UNSUPPORTED;
	default:
		return DND_E_DEVICE;
	}
}

/* The module reports the cause and the remedy.  If CUDA's allocator may be behind the cause, this adds what it does. */
static const char *more_of(const struct p2pmem_pin_gpu *pin)
{
	static const char cause[] = "is pinned through";

	return !memmem(pin->reason, sizeof(pin->reason), cause, sizeof(cause) - 1) ? "" :
	       " Small allocations of CUDA's lie side by side in pages of 64 KiB, and a page has one memory: "
	       "allocate both at once and make one memory of them, or allocate 64 KiB more for each.";
}

static int pin_failed(struct donard_memory *memory, const struct dnd_gpu_range *range, int error_number,
		      const struct p2pmem_pin_gpu *pin)
{
	if (error_number == ENOTTY)
		return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s: the loaded module cannot pin memory of a GPU. "
				"Load the one of this release.", memory->region.name);
	if (!pin->reason[0])
		return dnd_fail_errno(memory->ctx, error_number, "%s: %llu bytes at %#llx of GPU %d cannot be pinned",
				      memory->region.name, (unsigned long long)pin->length,
				      (unsigned long long)pin->va, range->gpu.number);
	return dnd_fail(memory->ctx, error_of(error_number), "%s: %.*s.%s", memory->region.name,
			(int)sizeof(pin->reason) - 1, pin->reason, more_of(pin));
}

/* A signal ends the module's wait for room, and each call begins another one. */
static int ask_for_pin(int fd, struct p2pmem_pin_gpu *pin)
{
	double until = dnd_now_seconds() + PIN_WAIT_SECONDS;
	int rc;

	do
		rc = ioctl(fd, P2PMEM_IOC_PIN_GPU, pin);
	while (rc && errno == EINTR && dnd_now_seconds() < until);
	return rc;
}

/* Pins whole pages, from the one with the first byte to the one with the last. */
static int pin_in_region(struct donard_memory *memory, const struct dnd_gpu_range *range, const char *name)
{
	uint64_t start = dnd_round_down(range->address, DND_GPU_PAGE_BYTES);
	struct p2pmem_pin_gpu arg = {
		.size = sizeof(arg),
		.va = start,
		.length = dnd_round_up(range->address + range->bytes, DND_GPU_PAGE_BYTES) - start,
	};
	int rc = dnd_region_open(memory->ctx, name, &memory->region);

	if (rc)
		return rc;
	if (ask_for_pin(memory->region.fd, &arg))
		return pin_failed(memory, range, errno, &arg);
	memory->length = range->bytes;
	return dnd_region_map(memory->ctx, &memory->region, 0, arg.length, range->address - start,
			      &memory->window);
}

static int no_region(struct donard_context *ctx, const struct dnd_gpu_range *range, const char *leaving)
{
	char obstacle[DND_TEXT_BYTES / 2];

	dnd_region_gpu_obstacle(ctx, range->gpu.bdf, obstacle, sizeof(obstacle));
	if (obstacle[0])
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "GPU %d: %s.", range->gpu.number, obstacle);
	if (leaving)
		return dnd_fail(ctx, DND_E_REGION_GONE, "GPU %d (%s): its region %s is being taken away. Wait for that, and "
				"add it again.", range->gpu.number, range->gpu.bdf, leaving);
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "GPU %d (%s) has no region to pin its memory in. Add it, as root: "
			"donard_region_add(gpu-nvidia, %s)", range->gpu.number, range->gpu.bdf, range->gpu.bdf);
}

/* A GPU has at most one region that is ready; the removal of an earlier one may still be under way. */
static int pin_in_its_region(struct donard_memory *memory, const struct dnd_gpu_range *range,
			     const struct donard_region_list *list)
{
	const char *leaving = NULL;

	for (size_t i = 0; i < donard_region_count(list); i++) {
		const struct donard_region_info *info = donard_region_get(list, i);

		if (info->kind != DONARD_KIND_GPU_NVIDIA || strcmp(info->bdf, range->gpu.bdf))
			continue;
		if (info->state == DONARD_STATE_READY)
			return pin_in_region(memory, range, info->name);
		leaving = info->name;
	}
	return no_region(memory->ctx, range, leaving);
}

/* Makes the copies synchronous only after the pin, so that a refused pin leaves them as they were. */
static int pin(struct donard_memory *memory, const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	struct donard_region_list *list = NULL;
	int rc = donard_region_list_parts(memory->ctx, 0, &list);

	if (rc < 0)
		return rc;
	rc = pin_in_its_region(memory, range, list);
	donard_region_list_free(list);
	return rc ? rc : dnd_gpu_make_synchronous(memory->ctx, cuda, range);
}

/* Where the program's memory lies, for a GPU that needs a flush. */
struct lent {
	const struct dnd_cuda *cuda;
	CUdeviceptr address;
};

/* Looks up again which context has the memory, since the program may have destroyed the former one. */
static int flush_lent(const struct donard_memory *memory)
{
	const struct lent *lent = memory->end_data;
	struct dnd_gpu_range range;
	int rc = dnd_gpu_find(memory->ctx, lent->cuda, lent->address, memory->length, &range);

	if (rc)
		return rc;
	rc = dnd_gpu_flush(memory->ctx, lent->cuda, &range);
	dnd_gpu_let_go(lent->cuda, &range);
	return rc;
}

static int note_lent(struct donard_memory *memory, const struct dnd_cuda *cuda, const struct dnd_gpu_range *range)
{
	struct lent *lent;

	if (!dnd_gpu_needs_flush(cuda, &range->gpu))
		return 0;
	lent = malloc(sizeof(*lent));
	if (!lent)
		return dnd_fail_memory(memory->ctx);
	*lent = (struct lent){ cuda, range->address };
	memory->end = free;
	memory->end_data = lent;
	memory->flush = flush_lent;
	return 0;
}

static int find_and_pin(struct donard_memory *memory, CUdeviceptr address, uint64_t bytes)
{
	const struct dnd_cuda *cuda;
	struct dnd_gpu_range range;
	int rc = dnd_cuda_open(memory->ctx, &cuda);

	if (!rc)
		rc = dnd_gpu_find(memory->ctx, cuda, address, bytes, &range);
	if (rc)
		return rc;
	rc = pin(memory, cuda, &range);
	if (!rc)
		rc = note_lent(memory, cuda, &range);
	dnd_gpu_let_go(cuda, &range);
	return rc;
}

DND_PUBLIC int donard_memory_from_cuda(struct donard_context *ctx, uint64_t address, uint64_t length_bytes,
				       struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;

	if (!length_bytes || address > INT64_MAX || length_bytes > INT64_MAX - address)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION,
				       !length_bytes ? DND_LEAST("length", 0, 1) :
				       address > INT64_MAX ? DND_VALUE("address", address) :
				       DND_MOST("length", length_bytes, INT64_MAX - address),
				       "%llu bytes at %#llx are not GPU memory. Pass the address that CUDA "
				       "returned, and a length of at least one byte.",
				       (unsigned long long)length_bytes, (unsigned long long)address);
	memory = dnd_memory_new(ctx, "");
	return memory ? dnd_memory_give(memory, find_and_pin(memory, address, length_bytes), memory_out) : -ENOMEM;
}

/* --- allocated here --- */

struct owned {
	struct dnd_gpu_range range;
	const struct dnd_cuda *cuda;
};

static void give_back(void *data)
{
	struct owned *owned = data;

	dnd_gpu_free(owned->cuda, &owned->range);
	free(owned);
}

static int flush_owned(const struct donard_memory *memory)
{
	const struct owned *owned = memory->end_data;

	return dnd_gpu_flush(memory->ctx, owned->cuda, &owned->range);
}

static int alloc_and_pin(struct donard_memory *memory, int number, uint64_t length, CUdeviceptr *address)
{
	struct owned *owned = calloc(1, sizeof(*owned));
	int rc;

	if (!owned)
		return dnd_fail_memory(memory->ctx);
	rc = dnd_cuda_open(memory->ctx, &owned->cuda);
	if (!rc)
		rc = dnd_gpu_alloc(memory->ctx, owned->cuda, number, length, &owned->range);
	if (rc) {
		free(owned);
		return rc;
	}
	memory->end = give_back;
	memory->end_data = owned;
	if (dnd_gpu_needs_flush(owned->cuda, &owned->range.gpu))
		memory->flush = flush_owned;
	*address = owned->range.address;
	return pin(memory, owned->cuda, &owned->range);
}

DND_PUBLIC int donard_memory_alloc_cuda(struct donard_context *ctx, unsigned int gpu, uint64_t length_bytes,
					uint64_t *address, struct donard_memory **memory_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_memory *memory;
	CUdeviceptr found = 0;
	int rc;

	if (gpu > INT32_MAX)
		return dnd_fail_member(ctx, DND_E_NO_SUCH_DEVICE, DND_MOST("gpu", gpu, INT32_MAX),
				       "gpu:%u: no GPU has such a number. CUDA numbers them from 0.", gpu);
	if (!length_bytes || length_bytes > INT64_MAX)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION,
				       length_bytes ? DND_MOST("length", length_bytes, INT64_MAX) : DND_LEAST("length", 0, 1),
				       "gpu:%u: %llu bytes cannot be allocated. Ask for at least one byte, "
				       "and for less than the GPU has.", gpu, (unsigned long long)length_bytes);
	memory = dnd_memory_new(ctx, "");
	if (!memory)
		return -ENOMEM;
	rc = dnd_memory_give(memory, alloc_and_pin(memory, (int)gpu, length_bytes, &found), memory_out);
	if (!rc)
		*address = found;
	return rc;
}

/* --- its bytes, by CUDA's copies --- */

bool dnd_gpu_allocated(const struct donard_memory *memory)
{
	return memory->end == give_back;
}

static const struct owned *owned_by(const struct donard_memory *memory)
{
	return memory->end_data;
}

static int moved(const struct donard_memory *memory, CUresult rc, uint64_t offset, size_t bytes)
{
	const struct owned *owned = owned_by(memory);

	return rc ? dnd_cuda_failed(memory->ctx, owned->cuda, rc, "gpu:%d: its copy of %zu bytes at offset %llu failed",
				    owned->range.gpu.number, bytes, (unsigned long long)offset) : 0;
}

int dnd_gpu_load(const struct donard_memory *memory, uint64_t offset, void *to, size_t bytes)
{
	const struct owned *owned = owned_by(memory);
	CUstreamCaptureMode mode;
	CUresult rc = dnd_cuda_enter(owned->cuda, owned->range.context, &mode);

	if (!rc) {
		rc = owned->cuda->to_host(to, owned->range.address + offset, bytes);
		dnd_cuda_leave(owned->cuda, mode);
	}
	return moved(memory, rc, offset, bytes);
}

int dnd_gpu_store(const struct donard_memory *memory, uint64_t offset, const void *from, size_t bytes)
{
	const struct owned *owned = owned_by(memory);
	CUstreamCaptureMode mode;
	CUresult rc = dnd_cuda_enter(owned->cuda, owned->range.context, &mode);

	if (!rc) {
		rc = owned->cuda->from_host(owned->range.address + offset, from, bytes);
		dnd_cuda_leave(owned->cuda, mode);
	}
	return moved(memory, rc, offset, bytes);
}
