// SPDX-License-Identifier: Apache-2.0
/*
 * Our own memory for staging, for GPU buffers that are not registered, and for the ends of
 * transfers that are not aligned.  The bytes of a GPU stay on that GPU, and those of the
 * host stay on the host, for which the context is NULL.  Only in compatibility mode the
 * bytes of a GPU go through memory of the host, which stays ours when the context ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cufile/codes.h"
#include "cufile/engine_own.h"
#include "cufile/locks.h"
#include "cufile/log.h"
#include "cufile/pool.h"
#include "cufile/settings.h"
#include "gpu/cuda.h"

#define KIB	1024ULL
#define PAGE_BYTES	65536ULL	/* a GPU's page, the unit of pinning */

static uint64_t all_bytes;	/* on GPUs, of all engines together; atomic */

enum life {
	LIVES,
	ENDED,			/* its memory ended with its context, which therefore must not be made current any more */
	UNKNOWN,		/* CUDA does not say, so the memory is not touched any more */
};

static enum life life_of(const struct cuf_stage *stage)
{
	uint64_t number = 0;
	int rc = stage->numbered ? cuf_gpu->identify(stage->address, &number) : 0;

	if (rc)
		return rc == CUDA_ERROR_INVALID_VALUE ? ENDED : UNKNOWN;
	return !stage->numbered || number == stage->number ? LIVES : ENDED;
}

static void free_on_gpu(struct cuf_stage *stage)
{
	__atomic_sub_fetch(&all_bytes, stage->bytes, __ATOMIC_RELAXED);
	if (life_of(stage) != LIVES)
		return;		/* another allocation may have the address by now */
	cuf_gpu->free(stage->context, stage->allocation);
	cuf_gpu->close_stream(stage->context, stage->stream);
}

/* Pages that CUDA may still have locked stay mapped: whatever came to their place would not be what the GPU copies. */
static void free_on_host(struct cuf_stage *stage)
{
	if (!stage->locked || (stage->numbered && life_of(stage) == ENDED))
		munmap(stage->address, stage->bytes);
}

static void free_stage(struct cuf_stage *stage)
{
	donard_memory_free(stage->memory);
	if (stage->on_host)
		free_on_host(stage);
	else
		free_on_gpu(stage);
	free(stage);
}

/* Contexts come and go; a program that makes many must not keep a stage for each. */
static void free_ended(struct cuf_stage **at)
{
	struct cuf_stage *stage;

	while ((stage = *at)) {
		if (life_of(stage) != ENDED) {
			at = &stage->next;
			continue;
		}
		cuf_log(CUF_LOG_NOTICE, "CUDA's context %p was reset: new memory for staging", stage->context);
		*at = stage->next;
		free_stage(stage);
	}
}

/*
 * Pages stay locked as long as their context lives (see cuf_gpu's lock_pages()).  So a stage that has such pages waits
 * here for the next thread that needs one in that context.
 */
static struct cuf_stage *locked;	/* CUF_LOCK_STAGES protects the list */

static void keep_locked(struct cuf_stage *stage)
{
	cuf_lock(CUF_LOCK_STAGES);
	stage->next = locked;
	locked = stage;
	cuf_unlock(CUF_LOCK_STAGES);
}

static struct cuf_stage *take_locked(void *context, uint64_t bytes)
{
	struct cuf_stage **at = &locked, *stage;

	cuf_lock(CUF_LOCK_STAGES);
	free_ended(&locked);
	while ((stage = *at) && (stage->context != context || stage->for_pool != cuf_pool_is_own() || stage->bytes != bytes))
		at = &stage->next;
	if (stage)
		*at = stage->next;
	cuf_unlock(CUF_LOCK_STAGES);
	return stage;
}

static void unpin(struct cuf_stage *stage)
{
	donard_memory_free(stage->memory);
	stage->memory = NULL;
}

/* A fork() waits for the lock, so that its child does not free this once more. */
void cuf_engine_unpin(struct cuf_engine *engine, struct cuf_stage *stage)
{
	pthread_mutex_lock(&engine->lock);
	unpin(stage);
	pthread_mutex_unlock(&engine->lock);
}

void cuf_stages_unpin(struct cuf_engine *engine)
{
	for (struct cuf_stage *stage = engine->stages; stage; stage = stage->next)
		unpin(stage);
}

struct cuf_stage *cuf_stages_detach(struct cuf_engine *engine)
{
	struct cuf_stage *stages = engine->stages;

	cuf_stages_unpin(engine);
	engine->stages = NULL;
	return stages;
}

void cuf_stages_end(struct cuf_stage *stages)
{
	struct cuf_stage *stage;

	while ((stage = stages)) {
		stages = stage->next;
		if (stage->on_host && stage->numbered && life_of(stage) == LIVES)
			keep_locked(stage);
		else
			free_stage(stage);
	}
}

static int cuda_failed(int result, const char *what)
{
	cuf_log(CUF_LOG_ERROR, "%s: CUDA's error %d", what, result);
	return CUF_CUDA_DRIVER_ERROR;
}

static struct cuf_stage **look_for(struct cuf_engine *engine, const void *context, bool on_host)
{
	struct cuf_stage **at = &engine->stages;

	while (*at && ((*at)->context != context || (*at)->on_host != on_host))
		at = &(*at)->next;
	return at;
}

static struct cuf_stage *find(struct cuf_engine *engine, void *context, bool on_host)
{
	struct cuf_stage **at = look_for(engine, context, on_host), *stage = *at;

	if (!stage || life_of(stage) == LIVES)
		return stage;
	free_ended(&engine->stages);
	at = look_for(engine, context, on_host);	/* the stage before it may be gone, too */
	stage = *at;
	if (!stage)
		return NULL;
	*at = stage->next;	/* CUDA does not say what became of it */
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

/* Copies are correct without it, but slower. */
static void lock_for_context(struct cuf_stage *stage)
{
	int rc = cuf_gpu->open_stream(stage->context, !stage->for_pool, &stage->stream);

	if (!rc)
		rc = cuf_gpu->lock_pages(stage->context, stage->address, stage->bytes);
	stage->locked = !rc;
	if (!rc)
		rc = cuf_gpu->identify(stage->address, &stage->number);
	stage->numbered = !rc;
	if (!rc)
		return;
	cuf_log(CUF_LOG_INFO, "memory for compatibility mode stays pageable: CUDA's error %d", rc);
	if (!stage->stream || !stage->for_pool)
		return;
	/* There is no way to find out later whether this stream ended with its context. */
	cuf_gpu->close_stream(stage->context, stage->stream);
	stage->stream = NULL;
}

/* Maps whole pages: CUDA locks pages, and must not lock memory that the heap gives to others. */
static int allocate_on_host(struct cuf_stage *stage)
{
	stage->address = mmap(NULL, stage->bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (stage->address == MAP_FAILED) {
		cuf_log(CUF_LOG_ERROR, "%llu bytes for staging cannot be mapped (%s): lower properties.per_buffer_cache_size_kb, or "
			"raise the limit of memory (ulimit -v)", (unsigned long long)stage->bytes, strerror(errno));
		return CUF_INTERNAL_ERROR;
	}
	if (stage->context)
		lock_for_context(stage);
	return 0;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/*
 * CUDA cuts small allocations from a chunk, but a page can be pinned only once.  So there is one page more, and the stage
 * shares none with memory of the program, nor with another stage.
 */
static int allocate_pages(struct cuf_stage *stage)
{
	int rc = cuf_gpu->allocate(stage->context, whole_pages(stage->bytes) + PAGE_BYTES, &stage->allocation);

	stage->address = (void *)(uintptr_t)whole_pages((uintptr_t)stage->allocation);
	return rc;
}

/* A GPU whose memory is all in use is no failure of CUDA's: as with a limit that is reached, compatibility mode may help. */
static int not_allocated(const struct cuf_stage *stage, int result, const char *what)
{
	if (result != CUDA_ERROR_OUT_OF_MEMORY)
		return cuda_failed(result, what);
	cuf_log(CUF_LOG_ERROR, "%s: the GPU's memory is in use, and %llu bytes of it are needed for a buffer that is not "
		"registered, or not aligned: free some, lower properties.per_buffer_cache_size_kb in cufile.json, or set "
		"properties.allow_compat_mode", what, (unsigned long long)stage->bytes);
	return CUF_GPU_MEMORY_PINNING_FAILED;
}

static int allocate_on_gpu(struct cuf_stage *stage)
{
	int rc = allocate_pages(stage);

	if (rc)
		return not_allocated(stage, rc, "no GPU memory for staging");
	rc = cuf_gpu->identify(stage->address, &stage->number);
	stage->numbered = !rc;
	if (!rc)
		rc = cuf_gpu->open_stream(stage->context, false, &stage->stream);
	if (!rc)
		return 0;
	cuf_gpu->free(stage->context, stage->allocation);
	return not_allocated(stage, rc, "no stream for staging");
}

static int allocate(struct cuf_stage *stage)
{
	int rc;

	if (stage->on_host)
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

static int make(void *context, bool on_host, uint64_t bytes, struct cuf_stage **made)
{
	struct cuf_stage *stage = calloc(1, sizeof(*stage));
	int rc;

	if (!stage)
		return CUF_INTERNAL_ERROR;
	*stage = (struct cuf_stage){
		.context = context, .on_host = on_host, .for_pool = cuf_pool_is_own(), .bytes = bytes,
	};
	rc = allocate(stage);
	if (rc)
		free(stage);
	else
		*made = stage;
	return rc;
}

static int add(struct cuf_engine *engine, void *context, bool on_host, struct cuf_stage **made)
{
	uint64_t bytes = cuf_size(CUF_SIZE_PER_BUFFER_CACHE_KIB) * KIB;
	struct cuf_stage *stage = NULL;
	int rc = 0;

	free_ended(&engine->stages);
	if (context && on_host)
		stage = take_locked(context, bytes);
	if (!stage)
		rc = make(context, on_host, bytes, &stage);
	if (rc)
		return rc;
	stage->next = engine->stages;
	engine->stages = *made = stage;
	return 0;
}

static struct cuf_stage *find_or_add(struct cuf_engine *engine, void *context, bool on_host, int *code)
{
	struct cuf_stage *stage = find(engine, context, on_host);

	*code = stage ? 0 : add(engine, context, on_host, &stage);
	return stage;
}

struct cuf_stage *cuf_engine_bounce(struct cuf_engine *engine, void *context, int *code)
{
	return find_or_add(engine, context, true, code);
}

struct cuf_stage *cuf_engine_stage(struct cuf_engine *engine, void *context, int *code)
{
	struct cuf_stage *stage = find_or_add(engine, context, !context, code);

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

int cuf_stage_copy(const struct cuf_stage *stage, void *to, const void *from, size_t bytes)
{
	int rc;

	if (!stage->context)
		return copy_on_host(to, from, bytes);
	rc = life_of(stage) == LIVES ? cuf_gpu->copy(stage->context, stage->stream, to, from, bytes) :
				       CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return rc ? cuda_failed(rc, "a copy of staged bytes") : 0;
}
