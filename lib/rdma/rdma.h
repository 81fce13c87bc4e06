/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rdma offers to the rest of the library: connections and their small messages,
 * the heads of these, the route to a peer, listeners for peers, and registered memory.
 */
#ifndef DND_RDMA_H
#define DND_RDMA_H

#include "rdma/address.h"
#include "rdma/device.h"
#include "rdma/dial.h"
#include "rdma/head.h"
#include "rdma/link.h"
#include "rdma/listen.h"
#include "rdma/reach.h"
#include "rdma/register.h"

#endif /* DND_RDMA_H */
