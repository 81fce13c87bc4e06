// SPDX-License-Identifier: Apache-2.0
/* See address.h. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>

#include "rdma/address.h"

static bool lacks_zone(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	return address->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && !v6->sin6_scope_id;
}

/* A name may have several addresses: the first that can be used as it is, or else the first. */
static void take_best(const struct addrinfo *found, struct sockaddr_storage *address)
{
	for (const struct addrinfo *next = found; next; next = next->ai_next) {
		memset(address, 0, sizeof(*address));
		memcpy(address, next->ai_addr, next->ai_addrlen);
		if (!lacks_zone(address))
			return;
	}
	memset(address, 0, sizeof(*address));
	memcpy(address, found->ai_addr, found->ai_addrlen);
}

/* @error is of getaddrinfo().  A name that cannot be looked up now may be a good one. */
static int not_found(struct donard_context *ctx, const char *host, int error)
{
	switch (error) {
	case EAI_MEMORY:
		return dnd_fail_memory(ctx);
	case EAI_SYSTEM:
		return dnd_fail_errno(ctx, errno, "the address of '%s' cannot be looked up", host);
	case EAI_AGAIN:
		return dnd_fail(ctx, DND_E_PEER_SILENT, "'%s' cannot be looked up: no name server answers. Try again, or name "
				"the IP address of an RDMA interface.", host);
	}
	return dnd_fail(ctx, DND_E_BAD_NAME, "'%s' is not an address: %s. Name the IP address of "
			"an RDMA interface.", host, gai_strerror(error));
}

int dnd_address_resolve(struct donard_context *ctx, const char *host, uint16_t port,
			struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char service[8], numeric[DND_PEER_BYTES];
	int rc;

	/* getaddrinfo() would take an empty name for this machine, or for any address. */
	if (!host || !host[0])
		return dnd_fail(ctx, DND_E_BAD_NAME, "the address is empty. Name the IP address of an "
				"RDMA interface.");
	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc)
		return not_found(ctx, host, rc);
	take_best(found, address);
	freeaddrinfo(found);
	if (!lacks_zone(address))
		return 0;
	dnd_address_host((const struct sockaddr *)address, numeric);
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: it is a link-local address, which each interface has for itself. Name the "
			"interface, too: %s%%eth0.", host, numeric);
}

void dnd_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

bool dnd_address_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

static bool same_host(const struct sockaddr *left, const struct sockaddr *right)
{
	if (left->sa_family != right->sa_family)
		return false;
	if (left->sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)left)->sin6_addr,
					  &((const struct sockaddr_in6 *)right)->sin6_addr);
	return left->sa_family == AF_INET &&
	       ((const struct sockaddr_in *)left)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)right)->sin_addr.s_addr;
}

bool dnd_address_is_local(const struct sockaddr *address)
{
	struct ifaddrs *all = NULL;
	bool found = dnd_address_is_loopback(address);

	if (found || getifaddrs(&all))
		return found;
	for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next)
		found = one->ifa_addr && same_host(one->ifa_addr, address);
	freeifaddrs(all);
	return found;
}

static socklen_t bytes_of(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
	       sizeof(struct sockaddr_in);
}

void dnd_address_host(const struct sockaddr *address, char text[DND_PEER_BYTES])
{
	if (getnameinfo(address, bytes_of(address), text, DND_PEER_BYTES, NULL, 0, NI_NUMERICHOST))
		snprintf(text, DND_PEER_BYTES, "unknown");
}

void dnd_address_text(const struct sockaddr *address, char text[DND_PEER_BYTES])
{
	char host[56], service[8];

	if (getnameinfo(address, bytes_of(address), host, sizeof(host), service, sizeof(service),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, DND_PEER_BYTES, "unknown");
	else if (address->sa_family == AF_INET6)
		snprintf(text, DND_PEER_BYTES, "[%s]:%s", host, service);
	else
		snprintf(text, DND_PEER_BYTES, "%s:%s", host, service);
}
