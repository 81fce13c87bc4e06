// SPDX-License-Identifier: Apache-2.0
/* See rdma_address.h. */
#include <netdb.h>
#include <stdio.h>

#include "rdma_address.h"

int dnd_address_resolve(struct donard_context *ctx, const char *host, uint16_t port,
			struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: not an address: %s. Name the IP address of "
				"an RDMA interface.", host, gai_strerror(rc));
	memset(address, 0, sizeof(*address));
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

void dnd_address_text(const struct sockaddr *address, char text[DND_PEER_BYTES])
{
	char host[56], service[8];
	socklen_t bytes = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
			  sizeof(struct sockaddr_in);

	if (getnameinfo(address, bytes, host, sizeof(host), service, sizeof(service),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, DND_PEER_BYTES, "unknown");
	else if (address->sa_family == AF_INET6)
		snprintf(text, DND_PEER_BYTES, "[%s]:%s", host, service);
	else
		snprintf(text, DND_PEER_BYTES, "%s:%s", host, service);
}
