/* SPDX-License-Identifier: Apache-2.0 */
/* A connection request that can be given up. */
#ifndef DONARD_RDMA_DIAL_H
#define DONARD_RDMA_DIAL_H

#include <rdma/rdma_cma.h>

/*
 * Calls rdma_connect() in a thread of its own, and @give_up_fn every 100 ms.  If that
 * returns nonzero, ends the thread and returns the same value.  Else returns 0, and
 * *error_number is the errno of rdma_connect(), or 0.
 */
int dnd_dial(struct rdma_cm_id *id, struct rdma_conn_param *param,
	     int (*give_up_fn)(void *user), void *user, int *error_number);

#endif /* DONARD_RDMA_DIAL_H */
