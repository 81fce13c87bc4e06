/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room rdma offers: connections and their small messages, the heads of
 * these, the way to a peer, what listens for peers, and memory registered for them.
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
