/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a client lends to its device, by the addresses that its guest gives to devices. */
#ifndef LAB_DEVICES_DMA_H
#define LAB_DEVICES_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DMA_NAME_LEN 32

/* One file of memory: a guest's RAM, what is behind a BAR. It is mapped once, however many ranges of it are lent. */
struct dma_memory {
	/* The file's name without its directory; "ram" if it is a memfd. */
	char name[DMA_NAME_LEN];
	uint64_t device, inode;
	bool writable;
	uint8_t *base;
	uint64_t len_bytes;
	unsigned int users;
	struct dma_memory *next;
};

struct dma_range {
	uint64_t address, len_bytes;
	/* NULL: the client has this memory, and lends nothing that could be mapped. */
	struct dma_memory *memory;
	uint64_t offset;
	bool readable, writable;
};

struct dma {
	/* Sorted by address; none overlaps another. */
	struct dma_range *ranges;
	size_t count, capacity;
	struct dma_memory *memories;
};

/* Call this once in a process, before any access: a client may truncate a file that it lent. */
int dma_catch_truncation(void);

/*
 * dma_map() - use FD, or nothing if it is -1, as the memory of LEN_BYTES at ADDRESS. The descriptor stays the caller's.
 *
 * Returns 0, -EINVAL if the range is empty, is not whole pages or reaches past the end of the file, -EEXIST if it
 * overlaps another, -ENOSPC if there are too many, or the error of mapping the file.
 */
int dma_map(struct dma *dma, int fd, uint64_t offset, uint64_t address, uint64_t len_bytes, bool readable,
	    bool writable);

/* Gives up all ranges inside of this one; -EINVAL, and nothing happens, if it cuts one in two. */
int dma_unmap(struct dma *dma, uint64_t address, uint64_t len_bytes);
void dma_unmap_all(struct dma *dma);

/* A piece of an access, all within one range. */
struct dma_piece {
	const struct dma_range *range;
	uint64_t address;
	size_t len_bytes;
};

/*
 * dma_piece() - the first piece of LEN_BYTES at ADDRESS. False if nothing is lent there; then @len_bytes says for how
 * many bytes that is so.
 */
bool dma_piece(const struct dma *dma, uint64_t address, size_t len_bytes, struct dma_piece *piece);

/* Copies one piece; -EACCES, -ENXIO (nothing mapped), or -EFAULT: the file has become shorter. */
int dma_read(const struct dma_piece *piece, void *to);
int dma_write(const struct dma_piece *piece, const void *from);

#endif
