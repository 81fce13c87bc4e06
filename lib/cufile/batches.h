/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of requests, which threads of our own work on. */
#ifndef CUF_BATCHES_H
#define CUF_BATCHES_H

/* When the driver is closed: what has not begun is canceled, and the rest waited for. */
void cuf_batches_end(void);

#endif /* CUF_BATCHES_H */
