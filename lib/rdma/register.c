// SPDX-License-Identifier: Apache-2.0
/*
 * Registers memory with an RDMA device.  A dma-buf is tried first: it can be revoked, works
 * for pages that must not be pinned, and lets the kernel check the route.  For a device that
 * cannot import dma-bufs (soft RDMA), the mapping is pinned instead.  A transient failure of
 * the import is reported, and nothing is pinned.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rdma/device.h"
#include "rdma/protocol.h"
#include "rdma/register.h"

#define KNOWN_RIGHTS (DND_RIGHTS | DONARD_RDMA_LOCAL_WRITE)

int dnd_access(unsigned int rights)
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

/* The bytes to register. */
struct part {
	const struct donard_memory *memory;
	uint64_t offset, length;
};

uint64_t dnd_registration_address(const struct donard_memory *memory, uint64_t offset)
{
	return (memory->window.data ? (uintptr_t)memory->window.data : memory->dmabuf_offset) + offset;
}

static uintptr_t start_of(const struct part *part)
{
	return dnd_registration_address(part->memory, part->offset);
}

/*
 * Returns a descriptor of the imported dma-buf, or of one that is exported for the granules in which the bytes lie.
 * *skip is where the bytes begin in it.
 */
static int export(const struct part *part, uint64_t *skip)
{
	uint64_t granule = part->memory->region.info.granule_bytes;
	uint64_t from = dnd_memory_file_offset(part->memory) + part->offset;
	uint64_t first;
	int fd;

	if (dnd_memory_is_imported(part->memory)) {
		*skip = part->memory->dmabuf_offset + part->offset;
		fd = fcntl(part->memory->dmabuf.fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	first = dnd_round_down(from, granule);
	*skip = from - first;
	/* Export it writable, since drivers map for both directions; the registration's rights limit the peer. */
	return dnd_region_export(&part->memory->region, first,
				 dnd_round_up(from + part->length, granule) - first, O_RDWR);
}

/* Returns NULL, and sets the reason and the errno, if the memory cannot be registered as a dma-buf. */
static struct ibv_mr *register_dmabuf(struct ibv_pd *pd, const struct part *part, int access,
				      struct dnd_registration *registration, int *error_number)
{
	struct ibv_mr *mr;
	uint64_t skip;
	int fd;

	*error_number = EOPNOTSUPP;
	if (!dnd_memory_is_region(part->memory) && !dnd_memory_is_imported(part->memory)) {
		snprintf(registration->reason, sizeof(registration->reason),
			 "plain memory has no dma-buf");
		return NULL;
	}
	fd = export(part, &skip);
	if (fd < 0) {
		*error_number = -fd;
		set_reason(registration, dnd_memory_name(part->memory), "exports no dma-buf", *error_number);
		return NULL;
	}
	mr = ibv_reg_dmabuf_mr(pd, skip, part->length, start_of(part), fd, access);
	if (!mr) {
		*error_number = errno == DND_KERNEL_ENOTSUPP ? EOPNOTSUPP : errno;
		set_reason(registration, device_name(pd), "imports no dma-buf", *error_number);
	}
	close(fd);	/* the registration keeps a reference to the dma-buf */
	return mr;
}

static bool is_p2pdma(const struct donard_memory *memory)
{
	return dnd_memory_is_region(memory) &&
	       memory->region.info.page_type == P2PMEM_PAGES_P2PDMA;
}

static int no_pins(const struct donard_memory *memory, const struct ibv_pd *pd,
		   const struct dnd_registration *registration)
{
	char remedy[DND_GENERIC_REMEDY_BYTES];

	return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s cannot register %s: its pages are of type p2pdma, which can only "
			"be registered as a dma-buf, and %s. %s, or use a device that imports dma-bufs.",
			device_name(pd), dnd_memory_name(memory), registration->reason,
			dnd_region_generic_remedy(memory->ctx, &memory->region, remedy));
}

/* Memory of another exporter is pinned only if its pages are the host's; nobody can judge a route to a device's. */
static bool is_for_importers(const struct donard_memory *memory)
{
	return !dnd_memory_is_region(memory) && memory->pages != DONARD_PAGES_HOST;
}

static int no_import(const struct donard_memory *memory, const struct ibv_pd *pd,
		     const struct dnd_registration *registration)
{
	return dnd_fail(memory->ctx, DND_E_UNSUPPORTED, "%s cannot register %s: it has no pages of the host's memory to "
			"pin, and %s. Use a device that imports dma-bufs (docs/hardware.md lists their drivers), or another exporter.",
			device_name(pd), dnd_memory_name(memory), registration->reason);
}

/* The limit is for all pins of the process together; some transports (siw) apply it to root as well. */
static bool has_limit(uint64_t *limit_kib)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*limit_kib = limit.rlim_cur / 1024;
	return true;
}

/* How much this process has pinned or locked, whichever is more: most transports count pins, siw locked memory. */
static uint64_t held_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long most = 0, kib;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %llu", &kib) == 1 || sscanf(line, "VmLck: %llu", &kib) == 1)
			most = dnd_max(most, kib);
	if (file)
		fclose(file);
	return most;
}

static int not_now(const struct donard_memory *memory, const struct ibv_pd *pd)
{
	return dnd_fail(memory->ctx, DND_E_BUSY, "%s cannot register %s now: its device is being reset, or its exporter has "
			"something else to do first. Try again in a moment.", device_name(pd), dnd_memory_name(memory));
}

static int mapping_failed(const struct part *part, const struct ibv_pd *pd, int error_number)
{
	struct donard_context *ctx = part->memory->ctx;
	const char *name = dnd_memory_name(part->memory);
	uint64_t limit_kib = 0, kib = (part->length + 1023) / 1024, held = held_kib();

	/* If the limit is not the cause, the machine or the device lacks memory. */
	if (error_number == ENOMEM && has_limit(&limit_kib) && held + kib > limit_kib)
		return dnd_fail(ctx, DND_E_LOCKED_MEMORY, "%s cannot register %llu KiB of %s: this "
				"process may lock %llu KiB of memory in all, and holds %llu. Raise the limit by 'ulimit -l' "
				"(or LimitMEMLOCK= of its service), or register less at a time.",
				device_name(pd), (unsigned long long)kib, name, (unsigned long long)limit_kib,
				(unsigned long long)held);
	if (dnd_target_gone(part->memory))
		return dnd_target_gone_text(ctx, part->memory);
	/*
	 * When the kernel pins pages that were not touched yet, it waits only briefly for the end of a reset (kernel/mmap.c).
	 */
	if (error_number == EFAULT && dnd_memory_is_region(part->memory) &&
	    dnd_region_try_sync(&part->memory->region, false) == -EIO)
		return not_now(part->memory, pd);
	return dnd_fail_errno(ctx, error_number, "%s cannot register %llu bytes of %s",
			      device_name(pd), (unsigned long long)part->length, name);
}

/*
 * The kernel checks the route of a device that imports a dma-buf.  It pins a mapping for any device, even for one whose
 * requests are dropped on the way, so the library checks the route here.  Soft RDMA needs no route, since the CPU copies.  A
 * device whose PCI function is unknown, for want of memory or because sysfs is hidden, may have none.
 */
static int check_route(const struct donard_memory *memory, const struct ibv_pd *pd)
{
	struct donard_route route = { .size = sizeof(route) };
	char bdf[DONARD_BDF_BYTES];
	int rc;

	if (!dnd_memory_is_region(memory))
		return 0;
	rc = dnd_sysfs_function(memory->ctx, bdf, "class/infiniband/%s/device", device_name(pd));
	if (rc && dnd_device_copies_by_cpu(pd->context))
		return 0;
	if (rc)
		return dnd_fail(memory->ctx, DND_E_UNREACHABLE, "%s: sysfs does not tell its PCI function (%s), so that no route from it "
				"to %s can be judged. Let this program see all of %s.", device_name(pd), strerror(-rc),
				memory->region.name, memory->ctx->sysfs_root);
	rc = dnd_route_probe(memory->ctx, &memory->region, bdf, &route);
	if (rc || donard_route_verdict(&route) == DONARD_VERDICT_YES)
		return rc;
	return dnd_fail(memory->ctx, DND_E_UNREACHABLE, "%s (%s) cannot reach %s (%s): %s. %s.", device_name(pd), bdf,
			memory->region.name, memory->region.bdf,
			route.reason[0] ? route.reason : "the kernel found no route", dnd_route_remedy(&route));
}

/* The kernel refuses an importer that has no route, or whose addresses do not reach the memory.  A probe may say why. */
static int import_refused(const struct donard_memory *memory, const struct ibv_pd *pd, int error_number)
{
	int rc = check_route(memory, pd);

	if (rc)
		return rc;
	return dnd_fail(memory->ctx, DND_E_UNREACHABLE, "%s cannot reach %s: the import of its dma-buf was refused (%s). The "
			"kernel's log may say why.", device_name(pd), dnd_memory_name(memory), strerror(error_number));
}

/*
 * Is this failure of an import transient?  The mapping is not pinned then, even if it could be: such a pin would last, could
 * not be revoked, and its device would not learn of a reset.
 */
static bool may_pass(int error_number)
{
	return error_number == EAGAIN || error_number == EINTR || error_number == ENOMEM;
}

/*
 * Reports that an import failed, for memory that can only be registered as a dma-buf, or after a transient failure.  The text
 * advises another device or other memory only if the import is never possible; the errnos are those of include/uapi/p2pmem.h.
 */
static int import_failed(const struct donard_memory *memory, const struct ibv_pd *pd,
			 const struct dnd_registration *registration, int error_number)
{
	switch (error_number) {
	case EOPNOTSUPP:
	case EPROTONOSUPPORT:
	case ENOSYS:
	case ENOTTY:
	case EINVAL:
		return is_p2pdma(memory) ? no_pins(memory, pd, registration) : no_import(memory, pd, registration);
	case EHOSTUNREACH:
	case ERANGE:
		return import_refused(memory, pd, error_number);
	case EAGAIN:
		return not_now(memory, pd);
	case EINTR:
	case ENOMEM:
		return dnd_fail_errno(memory->ctx, error_number, "%s cannot register %s as a dma-buf now", device_name(pd),
				      dnd_memory_name(memory));
	}
	return dnd_fail_errno(memory->ctx, error_number, "%s cannot register %s as a dma-buf, and in no other way", device_name(pd),
			      dnd_memory_name(memory));
}

int dnd_register(const struct donard_memory *memory, uint64_t offset, uint64_t length,
		 struct ibv_pd *pd, unsigned int rights, struct dnd_registration *registration)
{
	const struct part part = { memory, offset, length };
	int access = dnd_access(rights), error_number, rc;

	memset(registration, 0, sizeof(*registration));
	registration->mr = register_dmabuf(pd, &part, access, registration, &error_number);
	if (registration->mr) {
		registration->dmabuf = true;
		snprintf(registration->reason, sizeof(registration->reason),
			 "a dma-buf is preferred to pins of the mapping");
		return 0;
	}
	/* The texts below advise nothing that would help if the memory has gone. */
	if (dnd_target_gone(memory))
		return dnd_target_gone_text(memory->ctx, memory);
	if (is_p2pdma(memory) || is_for_importers(memory) || may_pass(error_number))
		return import_failed(memory, pd, registration, error_number);
	rc = check_route(memory, pd);
	if (rc)
		return rc;
	registration->mr = ibv_reg_mr(pd, (void *)start_of(&part), length, access);
	return registration->mr ? 0 : mapping_failed(&part, pd, errno);
}

void dnd_unregister(struct dnd_registration *registration)
{
	if (registration->mr)
		ibv_dereg_mr(registration->mr);
	registration->mr = NULL;
}

/* ---- the public handle ---- */

struct donard_rdma_registration {
	struct donard_context *ctx;
	struct dnd_registration registration;
	void *address;
	uint64_t length;
};

static int register_checked(const struct donard_memory *memory, uint64_t offset, uint64_t length,
			    struct ibv_pd *pd, unsigned int rights,
			    struct donard_rdma_registration *handle)
{
	int rc;

	if (rights & ~KNOWN_RIGHTS)
		return dnd_fail_member(memory->ctx, DND_E_BAD_OPTION, DND_VALUE("rights", rights & ~KNOWN_RIGHTS),
				       "unknown rights %#x.",
				       rights & ~KNOWN_RIGHTS);
	if (offset == memory->length)
		return dnd_fail_member(memory->ctx, DND_E_PAST_END, DND_MOST("offset", offset, memory->length - 1),
				       "%s: nothing of it is left to register "
				       "from offset %llu.", dnd_memory_name(memory),
				       (unsigned long long)offset);
	if (!length && offset < memory->length)
		length = memory->length - offset;
	rc = dnd_memory_check_range(memory, offset, length);
	if (rc)
		return rc;
	if (rights & (DONARD_RDMA_WRITE | DONARD_RDMA_LOCAL_WRITE)) {
		rc = dnd_memory_check_writable(memory);
		if (rc)
			return rc;
	}
	handle->address = (void *)start_of(&(struct part){ memory, offset, length });
	handle->length = length;
	return dnd_register(memory, offset, length, pd, rights, &handle->registration);
}

DND_PUBLIC int donard_rdma_register(struct donard_memory *memory, uint64_t offset_bytes,
				    uint64_t length_bytes, struct ibv_pd *pd, unsigned int rights,
				    struct donard_rdma_registration **registration)
{
	DND_USES(MEMORY, memory);
	struct donard_rdma_registration *handle = calloc(1, sizeof(*handle));
	int rc;

	if (!handle)
		return dnd_fail_memory(memory->ctx);
	rc = register_checked(memory, offset_bytes, length_bytes, pd, rights, handle);
	if (rc) {
		free(handle);
		return rc;
	}
	handle->ctx = memory->ctx;
	dnd_handle_made(DND_A_REGISTRATION, handle, handle->ctx);
	*registration = handle;
	return 0;
}

DND_PUBLIC int donard_rdma_registration_info(const struct donard_rdma_registration *registration,
					     struct donard_rdma_registration_info *info)
{
	DND_USES(REGISTRATION, registration);
	const struct donard_rdma_registration_info found = {
		.mr = registration->registration.mr,
		.address = registration->address,
		.length_bytes = registration->length,
		.method = dnd_method(registration->registration.dmabuf),
		.reason = registration->registration.reason,
	};
	int rc = dnd_struct_check(registration->ctx, info, "donard_rdma_registration_info");

	if (rc)
		return rc;
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

DND_PUBLIC void donard_rdma_deregister(struct donard_rdma_registration *registration)
{
	DND_LETS_GO(REGISTRATION, registration);
	if (!registration)
		return;
	dnd_unregister(&registration->registration);
	dnd_handle_free(registration, sizeof(*registration));
}
