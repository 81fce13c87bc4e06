/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes that are not aligned, or whose memory a request cannot name. */
#ifndef CUF_PART_H
#define CUF_PART_H

#include "cufile/target.h"

/*
 * Reads straight, as cuf_engine_move() does.  Behind the end that the file is known to have, this waits for writes that make it
 * longer: these write whole blocks, and then truncate the file to the bytes that were asked for.
 */
int64_t cuf_part_read(struct cuf_engine *engine, const struct cuf_use *use, uint64_t at, struct donard_memory *memory,
		      uint64_t offset, uint64_t bytes);

/*
 * Moves up to *bytes between @at in the file and @address, through the stage of @context
 * (NULL: that of the host), and sets *bytes to how many it tried.  Returns how many it
 * moved, -errno, or minus a code.  A write first reads the blocks that it covers in part.
 */
ssize_t cuf_part_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use, uint64_t at,
		      void *context, uint8_t *address, uint64_t *bytes);

#endif /* CUF_PART_H */
