// SPDX-License-Identifier: Apache-2.0
/*
 * See handle.h.  A debug build never frees its records of handles, so they need no lock: a thread finds a record whole or not
 * at all, also in the child of a fork().
 */
#include <stdio.h>
#include <string.h>

#include "base/handle.h"

void dnd_handle_init(struct dnd_handle *handle)
{
	static uint64_t last;

	handle->identity = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	handle->holders = 1;
}

void dnd_handle_get(struct dnd_handle *handle)
{
	__atomic_add_fetch(&handle->holders, 1, __ATOMIC_RELAXED);
}

unsigned int dnd_handle_holders(const struct dnd_handle *handle)
{
	return __atomic_load_n(&handle->holders, __ATOMIC_RELAXED);
}

/* The memory order makes all accesses of the other holders visible to the last one before it frees. */
bool dnd_handle_put(struct dnd_handle *handle)
{
	return !__atomic_sub_fetch(&handle->holders, 1, __ATOMIC_ACQ_REL);
}

#ifdef DONARD_DEBUG

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#define BUCKETS	4096U
#define FREED	0xdd	/* what freed handles are filled with: no pointer, no number that looks right */

struct record {
	struct record *next;	/* in its bucket, the newest first */
	const void *handle;
	struct donard_context *ctx;
	enum dnd_handle_kind kind;
	bool freed;
};

static const struct {
	const char *a;
	const char *freed_by;
} words[] = {
	[DND_A_CONTEXT] = { "a context", "donard_close()" },
	[DND_A_MEMORY] = { "a memory", "donard_memory_free()" },
	[DND_A_FILE] = { "a file", "donard_file_close()" },
	[DND_A_QUEUE] = { "a queue", "donard_queue_close()" },
	[DND_A_CACHE] = { "a connection to a cache", "donard_cache_close()" },
	[DND_A_RDMA_CLIENT] = { "an RDMA client", "donard_rdma_close()" },
	[DND_A_REGISTRATION] = { "a registration", "donard_rdma_deregister()" },
	[DND_A_REGION_LIST] = { "a list of regions", "donard_region_list_free()" },
	[DND_A_CLIENT_LIST] = { "a list of clients", "donard_client_list_free()" },
	[DND_A_CANDIDATE_LIST] = { "a list of candidates", "donard_candidate_list_free()" },
	[DND_A_GPU_LIST] = { "a list of GPUs", "donard_gpu_list_free()" },
	[DND_A_METER] = { "a meter", "donard_meter_close()" },
};

static struct record *buckets[BUCKETS];

static struct record **bucket_of(const void *handle)
{
	return &buckets[((uintptr_t)handle >> 4) * 2654435761U % BUCKETS];
}

static struct record *find(const void *handle)
{
	struct record *record = handle ? __atomic_load_n(bucket_of(handle), __ATOMIC_ACQUIRE) : NULL;

	while (record && record->handle != handle)
		record = record->next;
	return record;
}

/* If there is no memory for a record, the handle stays unknown, and the checks accept it. */
void dnd_handle_made(enum dnd_handle_kind kind, const void *handle, struct donard_context *ctx)
{
	struct record **bucket = bucket_of(handle), *record = malloc(sizeof(*record));

	if (!record)
		return;
	*record = (struct record){ .handle = handle, .ctx = ctx, .kind = kind };
	record->next = __atomic_load_n(bucket, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(bucket, &record->next, record, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

bool dnd_handle_mark(const void *handle)
{
	struct record *record = find(handle);

	return !record || !__atomic_exchange_n(&record->freed, true, __ATOMIC_ACQ_REL);
}

/* Overwrites a recorded handle instead of freeing it; its pointers would hide leaks from tools that follow them. */
void dnd_handle_free(void *handle, size_t bytes)
{
	if (!find(handle)) {
		free(handle);
		return;
	}
	dnd_handle_mark(handle);
	memset(handle, FREED, bytes);
#ifdef __SANITIZE_ADDRESS__
	__asan_poison_memory_region(handle, bytes);
#endif
}

static bool is_freed(const struct record *record)
{
	return record && __atomic_load_n(&record->freed, __ATOMIC_ACQUIRE);
}

bool dnd_handle_is(enum dnd_handle_kind kind, const void *handle)
{
	const struct record *record = find(handle);

	return !record || (record->kind == kind && !is_freed(record));
}

bool dnd_handle_right(enum dnd_handle_kind kind, const void *handle, const char *call, char text[DND_MISUSE_BYTES],
		      struct donard_context **ctx)
{
	const struct record *record = find(handle);
	bool orphan = record && is_freed(find(record->ctx));

	if (!record || (record->kind == kind && !is_freed(record) && !orphan))
		return true;
	*ctx = orphan ? NULL : record->ctx;
	if (is_freed(record))
		snprintf(text, DND_MISUSE_BYTES, "%s() was called with %s that %s had freed.", call, words[record->kind].a,
			 words[record->kind].freed_by);
	else if (record->kind != kind)
		snprintf(text, DND_MISUSE_BYTES, "%s() was called with %s in place of %s.", call, words[record->kind].a,
			 words[kind].a);
	else
		snprintf(text, DND_MISUSE_BYTES, "%s() was called with %s whose context donard_close() had freed. Close the "
			 "context last.", call, words[kind].a);
	return false;
}

#endif /* DONARD_DEBUG */
