/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of RDMA peers, as text and as socket addresses. */
#ifndef DONARD_RDMA_ADDRESS_H
#define DONARD_RDMA_ADDRESS_H

#include <sys/socket.h>

#include "base/base.h"

#define DND_PEER_BYTES 72	/* "[ffff:...%interface]:65535" */

/* Fails for a link-local address that does not name its interface, since each interface has such ones. */
int dnd_address_resolve(struct donard_context *ctx, const char *host, uint16_t port,
			struct sockaddr_storage *address);
void dnd_address_set_port(struct sockaddr_storage *address, uint16_t port);
bool dnd_address_is_loopback(const struct sockaddr *address);
/* Returns true if an interface of this machine has this address. */
bool dnd_address_is_local(const struct sockaddr *address);
/* Writes the address without port and brackets. */
void dnd_address_host(const struct sockaddr *address, char text[DND_PEER_BYTES]);
/* Writes the address with its port, "[::1]:1234" or "127.0.0.1:1234". */
void dnd_address_text(const struct sockaddr *address, char text[DND_PEER_BYTES]);

#endif /* DONARD_RDMA_ADDRESS_H */
