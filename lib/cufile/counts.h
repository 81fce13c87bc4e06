/* SPDX-License-Identifier: Apache-2.0 */
/* Counts since the driver was opened, for donard_cufile_counts() and the log. */
#ifndef CUF_COUNTS_H
#define CUF_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* The ways by which bytes are moved. */
enum cuf_way {
	CUF_WAY_DIRECT,
	CUF_WAY_STAGED,
	CUF_WAY_COMPAT,
	CUF_WAYS,
};

void cuf_count_request(bool writes, bool failed);
void cuf_count_bytes(bool writes, enum cuf_way way, uint64_t bytes);
/* CUF_WAYS numbers: how much this thread moved by each way since it last called cuf_count_forget(). */
const uint64_t *cuf_counts_of_thread(void);
void cuf_count_forget(void);
/* Writes a line to the log, and sets all counts to 0. */
void cuf_counts_end(void);

#endif /* CUF_COUNTS_H */
