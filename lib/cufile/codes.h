/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures inside this library are negative numbers: -errno, or minus a code of cuFile,
 * which is above 5000.  cuFile's own calls tell the two apart in the same way.
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

/* @result: a CUresult other than success. */
static inline struct cuf_error cuf_cuda_error(int result)
{
	return (struct cuf_error){ .code = CUF_CUDA_DRIVER_ERROR, .cuda = result };
}

static inline bool cuf_is_code(ssize_t failure)
{
	return failure < -5000;
}

/* Converts a result into what cuFileRead() and cuFileWrite() return: bytes; -1 and errno; or minus a code. */
ssize_t cuf_returned(ssize_t result);
/* Does the code, or the errno of donard, say that donard cannot do this at all, so that compatibility mode might help? */
bool cuf_is_unsupported(ssize_t failure);
/* Is the failure transient: was there no descriptor or memory left, or did a signal come? */
bool cuf_is_passing(int failure);
/* The code for a -errno of donard in the registration of a file, and of a buffer. */
int cuf_code_of_file(int failure);
int cuf_code_of_buffer(int failure);

#endif /* CUF_CODES_H */
