/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of requests, which our own threads execute. */
#ifndef CUF_BATCHES_H
#define CUF_BATCHES_H

/* Called when the driver is closed: cancels requests that have not begun, and waits for the others. */
void cuf_batches_end(void);

#endif /* CUF_BATCHES_H */
