/* SPDX-License-Identifier: Apache-2.0 */
/* Compatibility mode: the kernel's read() and write(), and copies by the CPU or by CUDA. */
#ifndef CUF_COMPAT_H
#define CUF_COMPAT_H

#include "cufile/target.h"

/* Moves the bytes of the transfer from byte @done on.  Returns how many, -errno, or minus a code. */
ssize_t cuf_compat(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_file *file,
		   const struct cuf_target *target, uint64_t done);

#endif /* CUF_COMPAT_H */
