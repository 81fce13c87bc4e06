/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes in the order of a CUDA stream. */
#ifndef CUF_STREAMS_H
#define CUF_STREAMS_H

/* Called when the driver is closed: a request whose turn comes later ends with a code. */
void cuf_streams_end(void);

#endif /* CUF_STREAMS_H */
