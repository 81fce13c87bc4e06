/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes that are not aligned, or whose memory a request cannot name. */
#ifndef CUF_PART_H
#define CUF_PART_H

#include "cufile/target.h"

/*
 * Moves up to *bytes between @at in the file and @address, through the stage of @context
 * (NULL: that of the host), and sets *bytes to how many it tried.  Returns how many it
 * moved, -errno, or minus a code.  A write first reads the blocks that it covers in part.
 */
ssize_t cuf_part_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use, uint64_t at,
		      void *context, uint8_t *address, uint64_t *bytes);

#endif /* CUF_PART_H */
