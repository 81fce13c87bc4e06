// SPDX-License-Identifier: Apache-2.0
/* "p2pmem0", "p2pmem0+64M", "/dev/p2pmem0" name a region; what has a slash a path. */
#include <stdio.h>

#include "region/names.h"
#include "region/region.h"

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

/* Behind "/dev/"; else the text itself. */
static const char *node_name(const struct donard_context *ctx, const char *text)
{
	size_t root = strlen(ctx->dev_root);

	return !strncmp(text, ctx->dev_root, root) && text[root] == '/' ? text + root + 1 : text;
}

int dnd_spec_check_path(struct donard_context *ctx, const struct dnd_spec *spec)
{
	if (spec->is_region || strchr(spec->path, '/'))
		return 0;
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: there is no such region; they look like p2pmem0 or "
			"p2pmem0+64M. A path has a slash: for a file of that name write ./%s.",
			spec->path, spec->path);
}

int dnd_spec_parse(struct donard_context *ctx, const char *text, struct dnd_spec *spec)
{
	const char *offset;

	memset(spec, 0, sizeof(*spec));
	if (!text[0])
		return dnd_fail(ctx, DND_E_BAD_NAME, "an empty name is no source or destination");
	spec->path = text;
	if (!split_region(node_name(ctx, text), spec, &offset))
		return 0;
	spec->is_region = true;
	return offset ? parse_offset(ctx, text, offset, spec) : 0;
}

int dnd_region_name(struct donard_context *ctx, const char *text, char name[P2PMEM_NAME_BYTES])
{
	const char *offset = NULL;
	struct dnd_spec spec;

	if (!split_region(node_name(ctx, text), &spec, &offset))
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: not a region; they look like p2pmem0, and "
				"'donard-cli list' shows what exists.", text[0] ? text : "(empty)");
	if (offset)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: a whole region is meant here: write %s "
				"without an offset.", text, spec.region);
	snprintf(name, P2PMEM_NAME_BYTES, "%s", spec.region);
	return 0;
}
