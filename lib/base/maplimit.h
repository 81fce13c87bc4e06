/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which limit of the process refuses a mapping.  mmap() returns ENOMEM or EAGAIN for limits and for a lack of memory alike.
 * So this tries an empty mapping of the same size, which only a limit can refuse.
 */
#ifndef DND_MAPLIMIT_H
#define DND_MAPLIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DND_LIMIT_BYTES	192	/* room for the text */

/*
 * Does a limit of the process refuse a mapping of @bytes, as mmap() did with @error_number?  @text: the limit and the remedy,
 * as "cause. Remedy" without a full stop.  @dram: the mapping was one of private memory.
 */
bool dnd_map_limit(int error_number, uint64_t bytes, bool dram, char *text, size_t text_bytes);

#endif /* DND_MAPLIMIT_H */
