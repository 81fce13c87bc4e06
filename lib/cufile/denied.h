/* SPDX-License-Identifier: Apache-2.0 */
/* The denylist of cufile.json: files that are not to be read or written this way. */
#ifndef CUF_DENIED_H
#define CUF_DENIED_H

#include "cufile/files.h"

/* Says in the log which entry it is. */
bool cuf_denied(const struct cuf_file *file, int fd);

#endif /* CUF_DENIED_H */
