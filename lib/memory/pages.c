// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out what is behind a mapping: struct pages of the host's memory or of a
 * device, or only page frames.  It announces no access to the exporter
 * (DMA_BUF_IOCTL_SYNC), because GPU drivers would then move the buffer to the host.
 * These drivers map page frames, for which nobody calls dnd_pages_behind().
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memory/memory.h"

#define BATCH_PAGES	512
#define ENTRY_PRESENT	(1ULL << 63)	/* Documentation/admin-guide/mm/pagemap.rst */

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

/*
 * The kernel refuses this call for VM_PFNMAP (mm/madvise.c), and no other way to learn of that
 * flag works on all kernels.  The call drops no data, because the mapping is new and shared.
 */
bool dnd_pages_are_frames(const struct dnd_window *window)
{
	return madvise(window->map, window->map_bytes, MADV_DONTNEED_LOCKED) && errno == EINVAL;
}

/* Is the page present in the calling process?  Everybody may read this bit. */
static bool is_present(const void *address, uint64_t page)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (fd < 0)
		return false;
	if (pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)address / page * sizeof(entry))) != sizeof(entry))
		entry = 0;
	close(fd);
	return entry & ENTRY_PRESENT;
}

/* A filter of system calls (seccomp) refuses so, and nothing else does. */
static bool is_forbidden(int error_number)
{
	return error_number == EPERM || error_number == ENOSYS;
}

const char *dnd_pages_forbidden_call(void)
{
	if (process_vm_readv(getpid(), NULL, 0, NULL, 0, 0) && is_forbidden(errno))
		return "process_vm_readv()";
	return syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0) && is_forbidden(errno) ? "move_pages()" : NULL;
}

/* Faults the pages in.  Returns how many, from the first on, the kernel accepts for direct I/O; -errno if it does not tell. */
static ssize_t touch(void *const *pages, size_t count)
{
	struct iovec far[BATCH_PAGES], near;
	uint8_t bytes[BATCH_PAGES];
	ssize_t moved;

	for (size_t i = 0; i < count; i++)
		far[i] = (struct iovec){ pages[i], 1 };
	near = (struct iovec){ bytes, count };
	moved = process_vm_readv(getpid(), &near, 1, far, count, 0);
	if (moved < 0)
		return is_forbidden(errno) ? -errno : 0;
	return moved;
}

/* The kind of a page that touch() reached, by its NUMA node or an error. */
static enum donard_memory_pages kind_of(int node)
{
	if (node >= 0)
		return DONARD_PAGES_HOST;
	return node == -ENOENT ? DONARD_PAGES_DEVICE : DONARD_PAGES_UNKNOWN;
}

/* The kind of a page that the kernel does not accept for direct I/O.  Pages of p2pdma are present all the same. */
static enum donard_memory_pages kind_of_untouched(int node, const void *address, uint64_t page)
{
	return node == -ENOENT && is_present(address, page) ? DONARD_PAGES_DEVICE : DONARD_PAGES_NONE;
}

static enum donard_memory_pages look_at(uint8_t *first, size_t count, uint64_t page)
{
	enum donard_memory_pages found = DONARD_PAGES_UNKNOWN, kind;
	void *pages[BATCH_PAGES];
	int nodes[BATCH_PAGES];
	ssize_t reached;
	size_t touched;

	for (size_t i = 0; i < count; i++)
		pages[i] = first + i * page;
	reached = touch(pages, count);
	if (reached < 0)
		return DONARD_PAGES_UNKNOWN;
	touched = (size_t)reached;
	count = dnd_min(count, touched + 1);
	if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0))
		return touched == count ? DONARD_PAGES_UNKNOWN : DONARD_PAGES_NONE;
	for (size_t i = 0; i < count; i++) {
		kind = i < touched ? kind_of(nodes[i]) : kind_of_untouched(nodes[i], pages[i], page);
		if (i && kind != found)
			return DONARD_PAGES_UNKNOWN;
		found = kind;
	}
	return found;
}

enum donard_memory_pages dnd_pages_behind(const void *address, uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint8_t *first = (uint8_t *)address - (uintptr_t)address % page;
	uint64_t left = dnd_round_up((uintptr_t)address % page + bytes, page) / page, count;
	enum donard_memory_pages found = DONARD_PAGES_UNKNOWN, kind;

	for (bool begun = false; left; begun = true, left -= count, first += count * page) {
		count = dnd_min(left, BATCH_PAGES);
		kind = look_at(first, count, page);
		if (begun && kind != found)
			return DONARD_PAGES_UNKNOWN;
		found = kind;
	}
	return found;
}
