/* SPDX-License-Identifier: Apache-2.0 */
/* What was done since the driver was opened, for donard_cufile_counts() and the log. */
#ifndef CUF_COUNTS_H
#define CUF_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* By what way bytes went. */
enum cuf_way {
	CUF_WAY_DIRECT,
	CUF_WAY_STAGED,
	CUF_WAY_COMPAT,
	CUF_WAYS,
};

void cuf_count_request(bool writes, bool failed);
void cuf_count_bytes(bool writes, enum cuf_way way, uint64_t bytes);
/* What this thread moved by each way since it asked last: of one request, where that asks at its end. */
void cuf_count_take(uint64_t bytes[CUF_WAYS]);
/* A line of the log, and all are 0 again. */
void cuf_counts_end(void);

#endif /* CUF_COUNTS_H */
