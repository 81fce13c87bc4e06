/* SPDX-License-Identifier: Apache-2.0 */
/* The denylist of cufile.json: files that must not be read or written by this library. */
#ifndef CUF_DENIED_H
#define CUF_DENIED_H

#include "cufile/files.h"

/* Is the file on the denylist?  If so, the log says which entry it is. */
bool cuf_denied(const struct cuf_file *file, int fd);

#endif /* CUF_DENIED_H */
