// SPDX-License-Identifier: Apache-2.0
/*
 * Our own memory for staging, for GPU buffers that are not registered, and for the ends of
 * transfers that are not aligned.  The bytes of a GPU stay on that GPU, and those of the
 * host stay on the host, for which the context is NULL.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cufile/codes.h"
#include "cufile/engine_own.h"
#include "cufile/log.h"
#include "cufile/settings.h"

#define KIB	1024ULL

static uint64_t all_bytes;	/* on GPUs, of all engines together; atomic */

/* False if the memory was freed with its context; its address may be the program's memory by now. */
static bool is_ours(const struct cuf_stage *stage)
{
	uint64_t number = 0;

	return !stage->context || (!cuf_gpu->identify(stage->address, &number) && number == stage->number);
}

static void free_stage(struct cuf_stage *stage)
{
	bool ours = is_ours(stage);

	donard_memory_free(stage->memory);
	if (!stage->context) {
		free(stage->address);
	} else {
		__atomic_sub_fetch(&all_bytes, stage->bytes, __ATOMIC_RELAXED);
		if (ours) {
			cuf_gpu->free(stage->context, stage->address);
			cuf_gpu->close_stream(stage->context, stage->stream);
		}
	}
	free(stage);
}

void cuf_stages_end(struct cuf_engine *engine)
{
	struct cuf_stage *stage;

	while ((stage = engine->stages)) {
		engine->stages = stage->next;
		free_stage(stage);
	}
}

static int cuda_failed(int result, const char *what)
{
	cuf_log(CUF_LOG_ERROR, "%s: CUDA's error %d", what, result);
	return CUF_CUDA_DRIVER_ERROR;
}

static struct cuf_stage *find(struct cuf_engine *engine, void *context)
{
	struct cuf_stage **at = &engine->stages, *stage;

	while (*at && (*at)->context != context)
		at = &(*at)->next;
	stage = *at;
	if (!stage || is_ours(stage))
		return stage;
	cuf_log(CUF_LOG_NOTICE, "CUDA's context %p was reset: new memory for staging", context);
	*at = stage->next;
	free_stage(stage);
	return NULL;
}

/* The limit is for one device; here it holds for all devices together. */
static int take_bytes(uint64_t bytes)
{
	if (__atomic_add_fetch(&all_bytes, bytes, __ATOMIC_RELAXED) <= cuf_size(CUF_SIZE_MAX_CACHE_KIB) * KIB)
		return 0;
	__atomic_sub_fetch(&all_bytes, bytes, __ATOMIC_RELAXED);
	cuf_log(CUF_LOG_ERROR, "max_device_cache_size_kb is taken: %llu more bytes are needed for a buffer that is "
		"not registered, or not aligned", (unsigned long long)bytes);
	return CUF_GPU_MEMORY_PINNING_FAILED;
}

static int allocate_on_host(struct cuf_stage *stage)
{
	if (posix_memalign(&stage->address, (size_t)sysconf(_SC_PAGESIZE), stage->bytes))
		return CUF_INTERNAL_ERROR;
	memset(stage->address, 0, stage->bytes);
	return 0;
}

static int allocate_on_gpu(struct cuf_stage *stage)
{
	int rc = cuf_gpu->allocate(stage->context, stage->bytes, &stage->address);

	if (rc)
		return cuda_failed(rc, "no GPU memory for staging");
	rc = cuf_gpu->identify(stage->address, &stage->number);
	if (!rc)
		rc = cuf_gpu->open_stream(stage->context, &stage->stream);
	if (!rc)
		return 0;
	cuf_gpu->free(stage->context, stage->address);
	return cuda_failed(rc, "no stream for staging");
}

static int allocate(struct cuf_stage *stage)
{
	int rc;

	if (!stage->context)
		return allocate_on_host(stage);
	rc = take_bytes(stage->bytes);
	if (rc)
		return rc;
	rc = allocate_on_gpu(stage);
	if (rc)
		__atomic_sub_fetch(&all_bytes, stage->bytes, __ATOMIC_RELAXED);
	return rc;
}

/* A temporary failure must not get a code that leads to compatibility mode. */
static int code_of_pin(int failure)
{
	switch (-failure) {
	case EMFILE:
	case ENFILE:
		return CUF_GETNEWFD_FAILED;
	case EBUSY:
	case EINTR:
	case ENOMEM:
		return CUF_INTERNAL_ERROR;
	}
	return CUF_GPU_MEMORY_PINNING_FAILED;
}

static int pin(struct cuf_engine *engine, struct cuf_stage *stage)
{
	int rc = stage->context ? cuf_gpu->pin(engine->ctx, stage->address, stage->bytes, &stage->memory) :
		 donard_memory_from_host(engine->ctx, stage->address, stage->bytes, &stage->memory);

	if (!rc)
		return 0;
	cuf_log(CUF_LOG_ERROR, "memory for staging cannot be pinned: %s", donard_error(engine->ctx));
	return code_of_pin(rc);
}

static int add(struct cuf_engine *engine, void *context, struct cuf_stage **made)
{
	struct cuf_stage *stage = calloc(1, sizeof(*stage));
	int rc;

	if (!stage)
		return CUF_INTERNAL_ERROR;
	stage->context = context;
	stage->bytes = cuf_size(CUF_SIZE_PER_BUFFER_CACHE_KIB) * KIB;
	rc = allocate(stage);
	if (rc) {
		free(stage);
		return rc;
	}
	stage->next = engine->stages;
	engine->stages = *made = stage;
	return 0;
}

struct cuf_stage *cuf_engine_stage(struct cuf_engine *engine, void *context, int *code)
{
	struct cuf_stage *stage = find(engine, context);

	*code = stage ? 0 : add(engine, context, &stage);
	if (!*code && !stage->memory)
		*code = pin(engine, stage);
	return *code ? NULL : stage;
}

/*
 * One of the two is memory of the program, and may not be mapped.  The kernel makes the
 * copy, so that a bad pointer causes EFAULT, and no signal while we hold locks.
 */
static int copy_on_host(void *to, const void *from, size_t bytes)
{
	struct iovec local = { .iov_base = to, .iov_len = bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)from, .iov_len = bytes };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (got < 0 && errno != EFAULT) {	/* for instance a sandbox forbids the call */
		memcpy(to, from, bytes);
		return 0;
	}
	return got == (ssize_t)bytes ? 0 : EFAULT;
}

/* In compatibility mode there may be no stage, and so no stream, on the GPU. */
static int copy_in_new_stream(void *context, void *to, const void *from, size_t bytes)
{
	void *stream;
	int rc = cuf_gpu->open_stream(context, &stream);

	if (rc)
		return rc;
	rc = cuf_gpu->copy(context, stream, to, from, bytes);
	cuf_gpu->close_stream(context, stream);
	return rc;
}

int cuf_engine_copy(struct cuf_engine *engine, void *context, void *to, const void *from, size_t bytes)
{
	struct cuf_stage *stage;
	int rc;

	if (!context)
		return copy_on_host(to, from, bytes);
	stage = find(engine, context);
	rc = stage ? cuf_gpu->copy(context, stage->stream, to, from, bytes) :
		     copy_in_new_stream(context, to, from, bytes);
	return rc ? cuda_failed(rc, "a copy of staged bytes") : 0;
}
