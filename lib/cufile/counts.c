// SPDX-License-Identifier: Apache-2.0
/* See counts.h. */
#include <errno.h>
#include <string.h>

#include "cufile/calls.h"
#include "cufile/counts.h"
#include "cufile/donard-cufile.h"
#include "cufile/driver.h"
#include "cufile/locks.h"
#include "cufile/log.h"

static struct donard_cufile_counts counts;	/* each member atomic */
static __thread uint64_t of_thread[CUF_WAYS];

static void add(uint64_t *count, uint64_t more)
{
	__atomic_add_fetch(count, more, __ATOMIC_RELAXED);
}

void cuf_count_request(bool writes, bool failed)
{
	add(writes ? &counts.writes : &counts.reads, 1);
	if (failed)
		add(&counts.failures, 1);
}

void cuf_count_bytes(bool writes, enum cuf_way way, uint64_t bytes)
{
	of_thread[way] += bytes;
	add(writes ? &counts.written_bytes : &counts.read_bytes, bytes);
	if (way != CUF_WAY_DIRECT)
		add(way == CUF_WAY_STAGED ? &counts.staged_bytes : &counts.compat_bytes, bytes);
}

void cuf_count_forget(void)
{
	memset(of_thread, 0, sizeof(of_thread));
}

const uint64_t *cuf_counts_of_thread(void)
{
	return of_thread;
}

static struct donard_cufile_counts read_all(void)
{
	return (struct donard_cufile_counts){
		.size = sizeof(counts),
		.reads = __atomic_load_n(&counts.reads, __ATOMIC_RELAXED),
		.writes = __atomic_load_n(&counts.writes, __ATOMIC_RELAXED),
		.failures = __atomic_load_n(&counts.failures, __ATOMIC_RELAXED),
		.read_bytes = __atomic_load_n(&counts.read_bytes, __ATOMIC_RELAXED),
		.written_bytes = __atomic_load_n(&counts.written_bytes, __ATOMIC_RELAXED),
		.staged_bytes = __atomic_load_n(&counts.staged_bytes, __ATOMIC_RELAXED),
		.compat_bytes = __atomic_load_n(&counts.compat_bytes, __ATOMIC_RELAXED),
	};
}

static void tell(void)
{
	struct donard_cufile_counts all = read_all();

	cuf_log(all.compat_bytes ? CUF_LOG_NOTICE : CUF_LOG_INFO, "%llu reads (%llu bytes), %llu writes (%llu bytes), "
		"%llu failures; %llu bytes staged, %llu bytes in compatibility mode",
		(unsigned long long)all.reads, (unsigned long long)all.read_bytes,
		(unsigned long long)all.writes, (unsigned long long)all.written_bytes,
		(unsigned long long)all.failures, (unsigned long long)all.staged_bytes,
		(unsigned long long)all.compat_bytes);
}

/* Nobody counts at the same time, because the driver is being closed. */
void cuf_counts_end(void)
{
	tell();
	memset(&counts, 0, sizeof(counts));
}

/* The child does not count what the parent did. */
void cuf_counts_after_fork(void)
{
	memset(&counts, 0, sizeof(counts));
}

/* Writes the line at exit, because many programs never close the driver. */
__attribute__((destructor)) static void at_exit(void)
{
	if (!cuf_driver_check())
		tell();
}

CUF_PUBLIC int donard_cufile_counts(struct donard_cufile_counts *out)
{
	struct donard_cufile_counts all = read_all();
	size_t size;

	if (!out || out->size < sizeof(out->size))
		return -EINVAL;
	size = out->size;
	memset(out, 0, size);
	memcpy(out, &all, size < sizeof(all) ? size : sizeof(all));
	out->size = size;
	return 0;
}
