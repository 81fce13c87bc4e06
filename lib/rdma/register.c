// SPDX-License-Identifier: Apache-2.0
/*
 * A dma-buf is asked for first: it can be revoked, works for pages that must
 * not be pinned, and lets the kernel check the route.  What cannot import one
 * (soft RDMA) pins the mapping.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rdma/register.h"

#define KNOWN_RIGHTS (DND_RIGHTS | DONARD_RDMA_LOCAL_WRITE)

/* What peers with these DONARD_RDMA_* may do, and nothing else. */
static int access_of(unsigned int rights)
{
	int access = 0;

	if (rights & DONARD_RDMA_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (rights & DONARD_RDMA_WRITE)	/* verbs want LOCAL_WRITE with it */
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	if (rights & DONARD_RDMA_LOCAL_WRITE)
		access |= IBV_ACCESS_LOCAL_WRITE;
	return access;
}

static const char *device_name(const struct ibv_pd *pd)
{
	return ibv_get_device_name(pd->context->device);
}

static void set_reason(struct dnd_registration *registration, const char *who, const char *why,
		       int error_number)
{
	snprintf(registration->reason, sizeof(registration->reason), "%s %s (%s)", who, why,
		 strerror(error_number));
}

/* Leaves the reason when there is no dma-buf to be had. */
static struct ibv_mr *register_dmabuf(struct ibv_pd *pd, const struct dnd_target *target,
				      int access, struct dnd_registration *registration)
{
	uint64_t skip = (uint64_t)(target->data - target->window.map);
	struct ibv_mr *mr;
	int fd;

	if (!dnd_target_is_region(target)) {
		snprintf(registration->reason, sizeof(registration->reason),
			 "plain memory has no dma-buf");
		return NULL;
	}
	/* Writable, since drivers map for both directions; a registration's rights are what limits a peer. */
	fd = dnd_region_export(&target->region, target->window.file_offset,
			       target->window.map_bytes, O_RDWR);
	if (fd < 0) {
		set_reason(registration, target->name, "exports no dma-buf", -fd);
		return NULL;
	}
	mr = ibv_reg_dmabuf_mr(pd, skip, target->length, (uintptr_t)target->data, fd, access);
	if (!mr)
		set_reason(registration, device_name(pd), "imports no dma-buf", errno);
	close(fd);	/* the registration holds the dma-buf */
	return mr;
}

static bool is_p2pdma(const struct dnd_target *target)
{
	return dnd_target_is_region(target) &&
	       target->region.info.page_type == P2PMEM_PAGES_P2PDMA;
}

static int no_pins(struct donard_context *ctx, const struct ibv_pd *pd,
		   const struct dnd_target *target, const struct dnd_registration *registration)
{
	static const char cause[] = "its pages are of type p2pdma, which can only be registered as a "
				    "dma-buf, and";

	if (target->region.info.kind == P2PMEM_KIND_NVME_CMB)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s cannot register %s: %s %s. The nvme "
				"driver owns this Controller Memory Buffer, so that its page type "
				"stays p2pdma. Use a region of another kind, or a device that "
				"imports dma-bufs.", device_name(pd), target->name, cause,
				registration->reason);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s cannot register %s: %s %s. Use 'donard-cli "
			"region set %s --page-type generic', or a device that imports dma-bufs.",
			device_name(pd), target->name, cause, registration->reason, target->name);
}

/* All pins of this process count together, and some transports (siw) ask root as well. */
static bool has_limit(uint64_t *limit_kib)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*limit_kib = limit.rlim_cur / 1024;
	return true;
}

static int mapping_failed(struct donard_context *ctx, const struct ibv_pd *pd,
			  const struct dnd_target *target, int error_number)
{
	uint64_t limit_kib = 0;

	if (error_number == ENOMEM && has_limit(&limit_kib))
		return dnd_fail(ctx, DND_E_LOCKED_MEMORY, "%s cannot register %llu KiB of %s: this "
				"process may lock %llu KiB of memory in all. Raise the limit by 'ulimit -l' "
				"(or LimitMEMLOCK= of its service), or use a smaller --size.",
				device_name(pd), (unsigned long long)(target->length + 1023) / 1024,
				target->name, (unsigned long long)limit_kib);
	if (dnd_target_gone(target))
		return dnd_target_gone_text(ctx, target);
	return dnd_fail_errno(ctx, error_number, "%s cannot register %llu bytes of %s",
			      device_name(pd), (unsigned long long)target->length, target->name);
}

int dnd_register(struct donard_context *ctx, struct ibv_pd *pd, const struct dnd_target *target,
		 unsigned int rights, struct dnd_registration *registration)
{
	int access = access_of(rights);

	memset(registration, 0, sizeof(*registration));
	registration->mr = register_dmabuf(pd, target, access, registration);
	if (registration->mr) {
		registration->dmabuf = true;
		snprintf(registration->reason, sizeof(registration->reason),
			 "a dma-buf is preferred to pins of the mapping");
		return 0;
	}
	if (is_p2pdma(target))
		return no_pins(ctx, pd, target, registration);
	registration->mr = ibv_reg_mr(pd, target->data, target->length, access);
	return registration->mr ? 0 : mapping_failed(ctx, pd, target, errno);
}

void dnd_unregister(struct dnd_registration *registration)
{
	if (registration->mr)
		ibv_dereg_mr(registration->mr);
	registration->mr = NULL;
}

/* ---- the public handle: a target and its registration ---- */

struct donard_rdma_memory {
	struct dnd_target target;
	struct dnd_registration registration;
};

static int open_and_register(struct donard_context *ctx, struct ibv_pd *pd, const char *text,
			     uint64_t length, unsigned int rights, struct donard_rdma_memory *memory)
{
	int rc;

	if (rights & ~KNOWN_RIGHTS)
		return dnd_fail(ctx, DND_E_BAD_OPTION, "unknown rights %#x.",
				rights & ~KNOWN_RIGHTS);
	if (!length && !strcmp(text, "dram"))
		return dnd_fail(ctx, DND_E_BAD_OPTION, "dram: needs a length.");
	rc = dnd_target_open(ctx, text, length, 0, &memory->target);
	if (rc)
		return rc;
	rc = dnd_register(ctx, pd, &memory->target, rights, &memory->registration);
	if (rc)
		dnd_target_close(&memory->target);
	return rc;
}

DND_PUBLIC int donard_rdma_register(struct donard_context *ctx, struct ibv_pd *pd,
				    const char *target, uint64_t length_bytes, unsigned int rights,
				    struct donard_rdma_memory **memory_out)
{
	struct donard_rdma_memory *memory = calloc(1, sizeof(*memory));
	int rc;

	if (!memory)
		return dnd_fail_memory(ctx);
	rc = open_and_register(ctx, pd, target, length_bytes, rights, memory);
	if (rc) {
		free(memory);
		return rc;
	}
	*memory_out = memory;
	return 0;
}

DND_PUBLIC int donard_rdma_memory_info(const struct donard_rdma_memory *memory,
				       struct donard_rdma_memory_info *info)
{
	const struct donard_rdma_memory_info found = {
		.mr = memory->registration.mr,
		.data = memory->target.data,
		.length_bytes = memory->target.length,
		.method = dnd_method(memory->registration.dmabuf),
		.reason = memory->registration.reason,
	};

	if (info->size < sizeof(info->size))
		return -EINVAL;
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

DND_PUBLIC void donard_rdma_deregister(struct donard_rdma_memory *memory)
{
	if (!memory)
		return;
	dnd_unregister(&memory->registration);
	dnd_target_close(&memory->target);
	free(memory);
}
