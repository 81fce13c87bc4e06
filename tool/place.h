/* SPDX-License-Identifier: Apache-2.0 */
/* Where in memory: "p2pmem0+64M" on a command line is a name and an offset for the library. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "donard/donard.h"

/* Where udev puts links to regions, and nothing else lies. */
#define CLI_REGION_LINKS	"/dev/p2pmem/"

struct cli_place {
	const char *name;	/* the text itself, or text[] */
	uint64_t offset_bytes;
	char text[320];
};

/*
 * Splits an offset off a region ("p2pmem0+64M", "/dev/p2pmem0+64M", a link below /dev/p2pmem) or a GPU ("gpu:0+64M"), and adds @option_bytes to it, the
 * offset of an option.  Any other text is a name as it is, such as that of a file.  Returns 0, or the negative errno of a
 * failure that is @ctx's last one.
 */
int cli_place_of(struct donard_context *ctx, const char *text, uint64_t option_bytes, struct cli_place *place);

#endif /* CLI_PLACE_H */
