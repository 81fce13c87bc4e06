// SPDX-License-Identifier: Apache-2.0
/* "p2pmem0", "p2pmem0+64M", "/dev/p2pmem0" name a region; the rest a path. */
#include <stdio.h>

#include "spec.h"

static int parse_offset(struct donard_context *ctx, const char *text, const char *number,
			struct dnd_spec *spec)
{
	if (donard_parse_size(number, &spec->offset_bytes))
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: '%s' is not an offset; they look like "
				"p2pmem0+64M.", text, number);
	return 0;
}

/* True when text is a region's name, up to an optional "+offset". */
static bool split_region(const char *text, struct dnd_spec *spec, const char **offset)
{
	size_t length = strcspn(text, "+");

	if (length >= sizeof(spec->region))
		return false;
	memcpy(spec->region, text, length);
	spec->region[length] = '\0';
	*offset = text[length] ? text + length + 1 : NULL;
	return dnd_region_number(spec->region) >= 0;
}

int dnd_spec_parse(struct donard_context *ctx, const char *text, struct dnd_spec *spec)
{
	size_t root = strlen(ctx->dev_root);
	const char *name = text, *offset;

	memset(spec, 0, sizeof(*spec));
	if (!text[0])
		return dnd_fail(ctx, DND_E_BAD_NAME, "an empty name is no source or destination");
	spec->path = text;
	if (!strncmp(text, ctx->dev_root, root) && text[root] == '/')
		name = text + root + 1;
	if (!split_region(name, spec, &offset))
		return 0;
	spec->is_region = true;
	return offset ? parse_offset(ctx, text, offset, spec) : 0;
}
