// SPDX-License-Identifier: Apache-2.0
/* See buffers.h.  GPU memory is pinned once, and the engines of all threads use the same pages. */
#include <stdlib.h>

#include "cufile/buffers.h"
#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/locks.h"
#include "cufile/log.h"
#include "cufile/map.h"
#include "cufile/settings.h"
#include "gpu/cuda.h"

#define KIB	1024ULL

static struct cuf_map buffers;	/* under the home's lock */

/*
 * CUF_LOCK_PINS protects these.  They have a lock of their own because CUDA, while it pins, may wait for a stream whose
 * request needs the home's lock.
 */
static struct donard_context *pins;	/* in which buffers are registered; NULL: not opened yet */
static uint64_t pinned_bytes;

struct cuf_buffer *cuf_buffer_find(uint64_t base)
{
	return cuf_map_get(&buffers, base);
}

struct cuf_buffer *cuf_buffer_around(uint64_t start, uint64_t bytes)
{
	for (size_t i = 0; i < buffers.room; i++) {
		struct cuf_buffer *buffer = buffers.entries[i].value;

		if (buffers.entries[i].key && cuf_buffer_has(buffer, start, bytes))
			return buffer;
	}
	return NULL;
}

bool cuf_buffer_is_pinned(uint64_t base, int64_t offset, uint64_t bytes, void **context)
{
	const struct cuf_buffer *buffer;
	bool pinned;

	cuf_home_lock();
	buffer = cuf_buffer_find(base);
	if (!buffer)
		buffer = cuf_buffer_around(base + (uint64_t)offset, bytes);
	pinned = buffer && buffer->memory;
	if (pinned && context)
		*context = buffer->pointer.context;
	cuf_home_unlock();
	return pinned;
}

void cuf_buffer_free(struct cuf_buffer *buffer)
{
	if (!buffer)
		return;
	cuf_lock(CUF_LOCK_PINS);
	if (buffer->memory)
		pinned_bytes -= buffer->bytes;
	donard_memory_free(buffer->memory);
	cuf_unlock(CUF_LOCK_PINS);
	free(buffer);
}

struct cuf_buffer *cuf_buffer_take(const void *base)
{
	struct cuf_buffer *buffer;

	cuf_home_lock();
	buffer = base ? cuf_map_take(&buffers, (uintptr_t)base) : NULL;
	if (buffer)
		__atomic_store_n(&buffer->taken, true, __ATOMIC_RELEASE);
	cuf_home_unlock();
	return buffer;
}

void cuf_buffers_end(void)
{
	cuf_lock(CUF_LOCK_PINS);
	cuf_home_lock();
	for (size_t i = 0; i < buffers.room; i++) {
		struct cuf_buffer *buffer = buffers.entries[i].value;

		if (!buffers.entries[i].key)
			continue;
		donard_memory_free(buffer->memory);
		free(buffer);
	}
	cuf_map_free(&buffers);
	cuf_home_unlock();
	pinned_bytes = 0;
	donard_close(pins);
	pins = NULL;
	cuf_unlock(CUF_LOCK_PINS);
}

/* ---- registration, under CUF_LOCK_PINS ---- */

static int check_limit(const struct cuf_buffer *buffer)
{
	uint64_t limit_kib = cuf_size(CUF_SIZE_MAX_PINNED_KIB);
	uint64_t limit = limit_kib > UINT64_MAX / KIB ? UINT64_MAX : limit_kib * KIB;

	if (buffer->bytes > limit)
		return CUF_INVALID_MAPPING_SIZE;
	if (pinned_bytes > limit || buffer->bytes > limit - pinned_bytes)
		return CUF_GPU_MEMORY_PINNING_FAILED;
	return 0;
}

/*
 * CUDA has reported that the buffer is memory of a GPU and long enough.  If the library then finds no allocation that it can
 * pin, or a shorter one, the memory is of a kind that cannot be pinned: from a pool (cudaMallocAsync()), or several mappings of
 * cuMemMap().
 */
static int code_of_pin(int failure)
{
	return failure == -EINVAL || failure == -ENXIO ? CUF_DEVICE_NOT_SUPPORTED : cuf_code_of_buffer(failure);
}

static int pin(struct cuf_buffer *buffer)
{
	int rc = check_limit(buffer);

	if (rc) {
		cuf_log(CUF_LOG_ERROR, "%llu bytes at %#llx: more than max_device_pinned_mem_size_kb allows, of which "
			"%llu bytes are taken", (unsigned long long)buffer->bytes,
			(unsigned long long)buffer->base, (unsigned long long)pinned_bytes);
		return rc;
	}
	rc = cuf_gpu->pin(pins, (void *)(uintptr_t)buffer->base, buffer->bytes, &buffer->memory);
	if (!rc) {
		pinned_bytes += buffer->bytes;
		buffer->info.size = sizeof(buffer->info);
		donard_memory_info(buffer->memory, &buffer->info);
		return 0;
	}
	if (rc == -EBUSY) {	/* two buffers lie in one page of the GPU, or its driver is busy: it may be long until another try */
		cuf_log(CUF_LOG_NOTICE, "%llu bytes at %#llx are staged until they are registered anew: %s",
			(unsigned long long)buffer->bytes, (unsigned long long)buffer->base, donard_error(pins));
		return 0;
	}
	cuf_log(CUF_LOG_ERROR, "%llu bytes at %#llx cannot be pinned: %s", (unsigned long long)buffer->bytes,
		(unsigned long long)buffer->base, donard_error(pins));
	return code_of_pin(rc);
}

/*
 * May the buffer be used without a pin?  Not if it is bad, or if the failure is transient: the program has to learn of those.
 */
static bool may_stay_unpinned(int code)
{
	return cuf_flag(CUF_FLAG_ALLOW_COMPAT) && (cuf_is_unsupported(-code) || code == CUF_INVALID_MAPPING_SIZE ||
						   code == CUF_PERMISSION_DENIED);
}

/* If compatibility mode is allowed, a buffer that cannot be pinned is registered all the same. */
static int pin_device(struct cuf_buffer *buffer)
{
	const struct cuf_pointer *pointer = &buffer->pointer;
	uint64_t skip = buffer->base - pointer->start;
	int rc;

	if (buffer->base < pointer->start || skip > pointer->bytes || buffer->bytes > pointer->bytes - skip) {
		cuf_log(CUF_LOG_ERROR, "%llu bytes at %#llx go past the end of their allocation, which has %llu bytes at %#llx",
			(unsigned long long)buffer->bytes, (unsigned long long)buffer->base, (unsigned long long)pointer->bytes,
			(unsigned long long)pointer->start);
		return CUF_CUDA_POINTER_RANGE_ERROR;
	}
	if (cuf_flag(CUF_FLAG_FORCE_COMPAT))
		return 0;
	rc = pin(buffer);
	if (!rc || !may_stay_unpinned(rc))
		return rc;
	cuf_log(CUF_LOG_NOTICE, "%#llx: it was not pinned. Its bytes are staged in GPU memory of donard's own; where that is not "
		"possible either, they go through DRAM (compatibility mode is allowed)", (unsigned long long)buffer->base);
	return 0;
}

/* Refuses memory of a device: it is not host memory, although the CPU has it mapped. */
static int check_host(const struct cuf_buffer *buffer)
{
	struct donard_memory *memory;
	int rc = donard_memory_from_host(pins, (void *)(uintptr_t)buffer->base, buffer->bytes, &memory);

	if (!rc)
		donard_memory_free(memory);
	if (rc != -EHOSTUNREACH)
		return 0;	/* other failures show, with more detail, when it is read or written */
	cuf_log(CUF_LOG_ERROR, "%s", donard_error(pins));
	return CUF_CUDA_MEMORY_TYPE_INVALID;
}

static bool is_registered(uint64_t base)
{
	bool found;

	cuf_home_lock();
	found = cuf_buffer_find(base);
	cuf_home_unlock();
	return found;
}

static int put(struct cuf_buffer *buffer)
{
	int rc;

	cuf_home_lock();
	rc = cuf_map_put(&buffers, buffer->base, buffer);
	cuf_home_unlock();
	return rc ? CUF_INTERNAL_ERROR : 0;
}

static int add(struct cuf_buffer *buffer)
{
	int rc = 0;

	if (is_registered(buffer->base))
		return CUF_MEMORY_ALREADY_REGISTERED;
	if (!pins && donard_open(&pins, cuf_donard_config))
		return CUF_INTERNAL_ERROR;
	switch (buffer->pointer.kind) {
	case CUF_KIND_DEVICE:
		rc = pin_device(buffer);
		break;
	case CUF_KIND_HOST:
		rc = check_host(buffer);
		break;
	default:
		cuf_log(CUF_LOG_ERROR, "%#llx is managed memory, which moves between host and GPU, and cannot be registered: "
			"register memory of cudaMalloc()", (unsigned long long)buffer->base);
		rc = CUF_CUDA_MEMORY_TYPE_INVALID;
	}
	return rc ? rc : put(buffer);
}

/* If CUDA does not answer, as in a child of fork(), the buffer counts as present. */
bool cuf_buffer_is_gone(const struct cuf_buffer *buffer)
{
	uint64_t now = 0;
	int cuda = cuf_gpu->identify((const void *)(uintptr_t)buffer->base, &now);

	return cuda == CUDA_ERROR_INVALID_VALUE || (!cuda && now != buffer->number);
}

int cuf_buffer_register(const void *base, size_t bytes, int *cuda)
{
	struct cuf_buffer *buffer = calloc(1, sizeof(*buffer));
	int rc;

	if (!buffer)
		return CUF_INTERNAL_ERROR;
	buffer->base = (uintptr_t)base;
	buffer->bytes = bytes;
	*cuda = cuf_gpu->look_up(base, &buffer->pointer);	/* without our locks, since CUDA takes its own */
	if (!*cuda && buffer->pointer.kind == CUF_KIND_DEVICE)
		*cuda = cuf_gpu->identify(base, &buffer->number);
	if (*cuda) {
		free(buffer);
		return CUF_CUDA_DRIVER_ERROR;
	}
	cuf_lock(CUF_LOCK_PINS);
	rc = add(buffer);
	cuf_unlock(CUF_LOCK_PINS);
	if (rc)
		cuf_buffer_free(buffer);
	return rc;
}
