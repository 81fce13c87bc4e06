/* SPDX-License-Identifier: Apache-2.0 */
/* A connection request that may be given up. */
#ifndef DONARD_RDMA_DIAL_H
#define DONARD_RDMA_DIAL_H

#include <rdma/rdma_cma.h>

/*
 * rdma_connect() in a thread of its own, which is ended when @give_up_fn, asked
 * every 100 ms, returns nonzero.  Returns that, else 0 with @error_number what
 * rdma_connect() failed with, or 0.
 */
int dnd_dial(struct rdma_cm_id *id, struct rdma_conn_param *param,
	     int (*give_up_fn)(void *user), void *user, int *error_number);

#endif /* DONARD_RDMA_DIAL_H */
