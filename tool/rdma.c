// SPDX-License-Identifier: Apache-2.0
/* Addresses of RDMA servers. */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "options.h"
#include "rdma.h"

long cli_cut_port(char *address)
{
	char *colon = strrchr(address, ':'), *end;
	size_t length = strcspn(address, "]");
	long port = 0;

	if (!address[0])
		return -1;
	if (address[0] == '[') {
		if (!address[length] || length == 1)
			return -1;
		colon = address[length + 1] ? address + length + 1 : NULL;
		if (colon && *colon != ':')
			return -1;
	} else if (colon && strchr(address, ':') != colon) {
		colon = NULL;	/* an IPv6 address without a port */
	}
	if (colon) {
		port = strtol(colon + 1, &end, 10);
		if (colon == address || colon[1] < '0' || colon[1] > '9' || *end || port < 1 || port > 65535)
			return -1;
		*colon = '\0';
	}
	if (address[0] == '[') {
		address[length] = '\0';
		memmove(address, address + 1, length);
	}
	return port;
}

int cli_server(const struct cli *cli, char *address, uint16_t *port)
{
	uint64_t number = 0;
	long cut;
	int rc = cli_number(cli, "port", &number);

	if (rc)
		return rc;
	cut = cli_cut_port(address);
	if (cut < 0)
		return cli_usage(cli, "'%s' has no address or no port; examples: 192.0.2.1, 192.0.2.1:7078, "
				 "fd00::1, [fd00::1]:7078", address);
	if (cut && number && (uint64_t)cut != number)
		return cli_usage(cli, "'%s:%ld' and --port %llu: give the port once", address, cut,
				 (unsigned long long)number);
	*port = (uint16_t)(cut ? (uint64_t)cut : number);
	return 0;
}
