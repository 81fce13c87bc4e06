/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are aligned to nothing, or whose memory cannot be named in a request. */
#ifndef CUF_PART_H
#define CUF_PART_H

#include "cufile/target.h"

/*
 * Moves up to @bytes between @at of the file and @address, by a stage of @context
 * (NULL: the host's), and sets it to how many were tried: bytes, -errno, or minus a
 * code.  Of a write, blocks that it covers in part are read before.
 */
ssize_t cuf_part_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use, uint64_t at,
		      void *context, uint8_t *address, uint64_t *bytes);

#endif /* CUF_PART_H */
