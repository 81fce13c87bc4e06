/* SPDX-License-Identifier: Apache-2.0 */
/* One read or write of any alignment, to which all of cuFile's calls come down. */
#ifndef CUF_TRANSFER_H
#define CUF_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cuf_transfer {
	uint64_t handle;
	uint64_t base;		/* first address of a buffer, registered or not */
	uint64_t bytes;
	int64_t file_offset;
	int64_t offset;		/* from base */
	bool writes;
	bool in_stream;		/* a stream waits for it, so CUDA may make no copy now */
};

/* Returns how many bytes it moved, fewer at the end of the file; -errno; or minus a code. */
ssize_t cuf_transfer(const struct cuf_transfer *transfer);

#endif /* CUF_TRANSFER_H */
