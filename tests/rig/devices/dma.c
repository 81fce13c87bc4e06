// SPDX-License-Identifier: Apache-2.0
#include "dma.h"
#include "protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The protocol's own limit, and its default. */
#define MAX_RANGES 65535
#define PAGE_BYTES 4096

/* --- files of memory --- */

/* "gpu.bar" of "/tmp/x/gpu.bar", and "ram" of any memfd: a machine of the lab has no other. */
static void name_memory(char *name, int fd)
{
	char link[64], path[512] = "";
	const char *start;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		strcpy(path, "unknown");
	start = strrchr(path, '/');
	start = start ? start + 1 : path;
	if (!strncmp(start, "memfd:", 6))
		start = "ram";
	snprintf(name, DMA_NAME_LEN, "%.*s", (int)strcspn(start, " \n"), start);
}

static struct dma_memory *find_memory(const struct dma *dma, const struct stat *st, bool writable)
{
	for (struct dma_memory *memory = dma->memories; memory; memory = memory->next)
		if (memory->device == st->st_dev && memory->inode == st->st_ino && memory->writable == writable &&
		    memory->len_bytes == (uint64_t)st->st_size)
			return memory;
	return NULL;
}

static int add_memory(struct dma *dma, int fd, const struct stat *st, bool writable, struct dma_memory **added)
{
	struct dma_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	memory->base = mmap(NULL, st->st_size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (memory->base == MAP_FAILED) {
		free(memory);
		return -errno;
	}
	name_memory(memory->name, fd);
	memory->device = st->st_dev;
	memory->inode = st->st_ino;
	memory->writable = writable;
	memory->len_bytes = st->st_size;
	memory->next = dma->memories;
	dma->memories = memory;
	*added = memory;
	return 0;
}

static int get_memory(struct dma *dma, int fd, uint64_t end, bool writable, struct dma_memory **memory)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || end > (uint64_t)st.st_size)
		return -EINVAL;
	*memory = find_memory(dma, &st, writable);
	rc = *memory ? 0 : add_memory(dma, fd, &st, writable, memory);
	if (!rc)
		(*memory)->users++;
	return rc;
}

static void put_memory(struct dma *dma, struct dma_memory *memory)
{
	struct dma_memory **at = &dma->memories;

	if (!memory || --memory->users)
		return;
	while (*at != memory)
		at = &(*at)->next;
	*at = memory->next;
	munmap(memory->base, memory->len_bytes);
	free(memory);
}

/* --- ranges --- */

/* The first range that ends behind ADDRESS, or @count. */
static size_t first_behind(const struct dma *dma, uint64_t address)
{
	size_t low = 0, high = dma->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct dma_range *range = &dma->ranges[middle];

		if (range->address + (range->len_bytes - 1) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_range(uint64_t address, uint64_t len_bytes)
{
	return len_bytes && address + (len_bytes - 1) >= address;
}

static int make_room(struct dma *dma)
{
	size_t capacity = dma->capacity ? 2 * dma->capacity : 64;
	struct dma_range *ranges;

	if (dma->count == MAX_RANGES)
		return -ENOSPC;
	if (dma->count < dma->capacity)
		return 0;
	ranges = reallocarray(dma->ranges, capacity, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	dma->ranges = ranges;
	dma->capacity = capacity;
	return 0;
}

int dma_map(struct dma *dma, int fd, uint64_t offset, uint64_t address, uint64_t len_bytes, bool readable,
	    bool writable)
{
	struct dma_range range = { .address = address, .len_bytes = len_bytes, .offset = offset,
				   .readable = readable, .writable = writable };
	size_t at;
	int rc;

	if (!is_range(address, len_bytes) || !is_range(offset, len_bytes) || offset + len_bytes < offset ||
	    (address | offset | len_bytes) % PAGE_BYTES || !(readable || writable))
		return -EINVAL;
	at = first_behind(dma, address);
	if (at < dma->count && dma->ranges[at].address <= address + (len_bytes - 1))
		return -EEXIST;
	rc = make_room(dma);
	if (!rc && fd >= 0)
		rc = get_memory(dma, fd, offset + len_bytes, writable, &range.memory);
	if (rc)
		return rc;
	memmove(&dma->ranges[at + 1], &dma->ranges[at], (dma->count - at) * sizeof(range));
	dma->ranges[at] = range;
	dma->count++;
	return 0;
}

static bool reaches_out(const struct dma_range *range, uint64_t address, uint64_t last)
{
	return range->address < address || range->address + (range->len_bytes - 1) > last;
}

int dma_unmap(struct dma *dma, uint64_t address, uint64_t len_bytes)
{
	uint64_t last = address + (len_bytes - 1);
	size_t first, end;

	if (!is_range(address, len_bytes))
		return -EINVAL;
	first = end = first_behind(dma, address);
	while (end < dma->count && dma->ranges[end].address <= last)
		end++;
	if (first == end)
		return 0;
	if (reaches_out(&dma->ranges[first], address, last) || reaches_out(&dma->ranges[end - 1], address, last))
		return -EINVAL;
	for (size_t i = first; i < end; i++)
		put_memory(dma, dma->ranges[i].memory);
	memmove(&dma->ranges[first], &dma->ranges[end], (dma->count - end) * sizeof(*dma->ranges));
	dma->count -= end - first;
	return 0;
}

void dma_unmap_all(struct dma *dma)
{
	for (size_t i = 0; i < dma->count; i++)
		put_memory(dma, dma->ranges[i].memory);
	free(dma->ranges);
	*dma = (struct dma){ .memories = NULL };
}

bool dma_piece(const struct dma *dma, uint64_t address, size_t len_bytes, struct dma_piece *piece)
{
	size_t at = first_behind(dma, address);
	const struct dma_range *range;
	uint64_t most;

	*piece = (struct dma_piece){ .address = address, .len_bytes = len_bytes };
	if (at == dma->count)
		return false;
	range = &dma->ranges[at];
	if (range->address <= address)
		piece->range = range;
	most = piece->range ? range->len_bytes - (address - range->address) : range->address - address;
	if (most < len_bytes)
		piece->len_bytes = most;
	return piece->range;
}

/* --- access --- */

static sigjmp_buf truncated;
static volatile sig_atomic_t copying;

static void on_sigbus(int signal)
{
	sigset_t mask;

	if (!copying) {
		/* The fault is not one of ours: its repetition ends the process. */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		return;
	}
	/* The jump leaves the mask as it is here; to save it before each copy would cost a call. */
	sigemptyset(&mask);
	sigaddset(&mask, signal);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	siglongjmp(truncated, 1);
}

int dma_catch_truncation(void)
{
	struct sigaction action = { .sa_handler = on_sigbus };

	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

/* A flag or index of a ring is read and written as a whole, as a bus would: a guest may be looking. */
static void copy_whole(void *to, const void *from, size_t len_bytes)
{
	uintptr_t both = (uintptr_t)to | (uintptr_t)from;

	if (len_bytes == 8 && both % 8 == 0)
		*(volatile uint64_t *)to = *(const volatile uint64_t *)from;
	else if (len_bytes == 4 && both % 4 == 0)
		*(volatile uint32_t *)to = *(const volatile uint32_t *)from;
	else if (len_bytes == 2 && both % 2 == 0)
		*(volatile uint16_t *)to = *(const volatile uint16_t *)from;
	else
		memcpy(to, from, len_bytes);
}

static int copy(void *to, const void *from, size_t len_bytes)
{
	int rc = 0;

	if (sigsetjmp(truncated, 0)) {
		rc = -EFAULT;
	} else {
		copying = 1;
		copy_whole(to, from, len_bytes);
	}
	copying = 0;
	return rc;
}

static uint8_t *address_of(const struct dma_piece *piece)
{
	return piece->range->memory->base + piece->range->offset + (piece->address - piece->range->address);
}

int dma_read(const struct dma_piece *piece, void *to)
{
	if (!piece->range->readable)
		return -EACCES;
	if (!piece->range->memory)
		return -ENXIO;
	return copy(to, address_of(piece), piece->len_bytes);
}

int dma_write(const struct dma_piece *piece, const void *from)
{
	if (!piece->range->writable)
		return -EACCES;
	if (!piece->range->memory)
		return -ENXIO;
	return copy(address_of(piece), from, piece->len_bytes);
}
