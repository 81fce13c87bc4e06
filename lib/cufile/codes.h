/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures inside of this library are negative numbers: -errno, or minus a code of
 * cuFile, which are above 5000.  cuFile's calls tell them apart in the same way.
 */
#ifndef CUF_CODES_H
#define CUF_CODES_H

#include <errno.h>
#include <sys/types.h>

#include "cufile/abi.h"

static inline struct cuf_error cuf_error(int code)
{
	return (struct cuf_error){ .code = code };
}

/* A CUresult that is no success. */
static inline struct cuf_error cuf_cuda_error(int result)
{
	return (struct cuf_error){ .code = CUF_CUDA_DRIVER_ERROR, .cuda = result };
}

static inline bool cuf_is_code(ssize_t failure)
{
	return failure < -5000;
}

/* As a read and a write return it: bytes; -1 and errno; or minus a code. */
ssize_t cuf_returned(ssize_t result);
/* Does a failure say that donard cannot do this at all?  Then compatibility mode may. */
bool cuf_is_unsupported(ssize_t failure);
/* What a -errno of donard means for a file, and for a buffer, that is registered. */
int cuf_code_of_file(int failure);
int cuf_code_of_buffer(int failure);

#endif /* CUF_CODES_H */
