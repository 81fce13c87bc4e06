/* SPDX-License-Identifier: Apache-2.0 */
/* The denylist of cufile.json: files that must not be read or written by this library. */
#ifndef CUF_DENIED_H
#define CUF_DENIED_H

#include "cufile/files.h"

/* Returns 0, or a code, and the log says why: the file is on the denylist, and by which entry, or that cannot be told. */
int cuf_denied(const struct cuf_file *file, int fd);

#endif /* CUF_DENIED_H */
