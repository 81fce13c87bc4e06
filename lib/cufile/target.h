/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the bytes of a transfer in memory. */
#ifndef CUF_TARGET_H
#define CUF_TARGET_H

#include "cufile/engine.h"
#include "cufile/transfer.h"

struct cuf_target {
	enum cuf_kind kind;
	void *context;		/* for CUF_KIND_DEVICE */
	uint8_t *address;	/* the first of these bytes */
	struct donard_memory *memory;	/* the memory that requests name, or NULL */
	uint64_t place;		/* the offset of the first byte in it */
};

/* @place: the registered buffer with that base, or NULL.  Returns 0 or minus a code. */
int cuf_target_find(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_place *place,
		    struct cuf_target *target);

#endif /* CUF_TARGET_H */
