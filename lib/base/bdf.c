// SPDX-License-Identifier: Apache-2.0
/* See bdf.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bdf.h"

int dnd_bdf_parse(const char *text, struct dnd_bdf *bdf)
{
	unsigned int domain = 0, bus, device, function;
	int used = 0;

	/* sscanf() alone would accept blanks, newlines and signs. */
	if (text[strspn(text, "0123456789abcdefABCDEF:.")])
		return -EINVAL;
	if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
	    text[used]) {
		domain = 0;
		used = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &used) != 3 ||
		    text[used])
			return -EINVAL;
	}
	if (device > 31 || function > 7)
		return -EINVAL;
	bdf->domain = domain;
	bdf->bus = (uint8_t)bus;
	bdf->devfn = (uint8_t)(device << 3 | function);
	return 0;
}

bool dnd_is_bdf(const char *text)
{
	struct dnd_bdf bdf;

	return !dnd_bdf_parse(text, &bdf);
}

void dnd_bdf_format(char text[DONARD_BDF_BYTES], struct dnd_bdf bdf)
{
	snprintf(text, DONARD_BDF_BYTES, "%04x:%02x:%02x.%u", bdf.domain, bdf.bus,
		 bdf.devfn >> 3U, bdf.devfn & 7U);
}
