// SPDX-License-Identifier: Apache-2.0
/*
 * "p2pmem0", "/dev/p2pmem0" and the links below /dev/p2pmem name a region, "gpu:0" and "gpu:0000:03:00.0" a GPU.  Any other
 * text is a path.  An offset is no part of a name: "p2pmem0+64M" is refused, since it would be taken for a file.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region/names.h"
#include "region/region.h"

#define GPU_PREFIX	"gpu:"
#define LINKS	"p2pmem/"	/* docs/donard-regions.conf.5 */
#define NO_GPU	((unsigned int)INT_MAX)	/* CUDA gives no GPU this number */

static int has_offset(struct donard_context *ctx, const char *text)
{
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: a name has no offset in it. Name %.*s, and pass the offset in bytes beside it.", text,
			(int)strcspn(text, "+"), text);
}

static int no_gpu_name(struct donard_context *ctx, const char *text)
{
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: no GPU is named like this; they look like gpu:0, by CUDA's "
			"numbers, or gpu:0000:03:00.0. A file of that name is written ./%s.", text, text);
}

/* A GPU is named by CUDA's number, or by its PCI address, for which only CUDA knows the number. */
static int parse_gpu(struct donard_context *ctx, const char *text, struct dnd_spec *spec)
{
	const char *name = text + strlen(GPU_PREFIX);
	size_t length = strcspn(name, "+");
	char address[DONARD_BDF_BYTES];
	struct dnd_bdf bdf;
	char *end;
	unsigned long gpu = strtoul(name, &end, 10);

	spec->is_gpu = true;
	if (isdigit((unsigned char)*name) && end == name + length && gpu < NO_GPU) {
		spec->gpu = (unsigned int)gpu;
	} else {
		snprintf(address, sizeof(address), "%.*s", (int)length, name);
		if (length >= sizeof(address) || dnd_bdf_parse(address, &bdf))
			return no_gpu_name(ctx, text);
		spec->gpu = NO_GPU;
		dnd_bdf_format(spec->gpu_bdf, bdf);
	}
	return name[length] ? has_offset(ctx, text) : 0;
}

/* Returns true if @text is the name of a region, before a "+" if it has one. */
static bool split_region(const char *text, struct dnd_spec *spec, bool *offset)
{
	size_t length = strcspn(text, "+");

	if (length >= sizeof(spec->region))
		return false;
	memcpy(spec->region, text, length);
	spec->region[length] = '\0';
	*offset = text[length];
	return dnd_region_number(spec->region) >= 0;
}

/* The part behind "/dev/", or NULL. */
static const char *below_dev(const struct donard_context *ctx, const char *text)
{
	size_t root = strlen(ctx->dev_root);

	return strncmp(text, ctx->dev_root, root) || text[root] != '/' ? NULL : text + root + 1;
}

static bool is_link(const char *name)
{
	return name && !strncmp(name, LINKS, strlen(LINKS));
}

/*
 * Returns the part behind "/dev/", or else the text itself.  For a link below /dev/p2pmem, which only root can make, returns
 * what the link leads to; a link's own name may have a "+" in it.
 */
static const char *node_name(const struct donard_context *ctx, const char *text, char leads_to[PATH_MAX])
{
	const char *name = below_dev(ctx, text), *slash;
	ssize_t length = is_link(name) ? readlink(text, leads_to, PATH_MAX - 1) : -1;

	if (length < 0)
		return name ? name : text;
	leads_to[length] = '\0';
	slash = strrchr(leads_to, '/');
	return slash ? slash + 1 : leads_to;
}

int dnd_spec_check_path(struct donard_context *ctx, const struct dnd_spec *spec)
{
	char node[PATH_MAX];
	struct stat st;

	if (spec->is_region || spec->is_gpu || strchr(spec->path, '/'))
		return 0;
	snprintf(node, sizeof(node), "%s/%s", ctx->dev_root, spec->path);
	if (!stat(node, &st) && S_ISBLK(st.st_mode))
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: there is no such region. For the device write %s.",
				spec->path, node);
	return dnd_fail(ctx, DND_E_BAD_NAME, "%s: there is no such region or GPU; they look like p2pmem0 and gpu:0. "
			"A path has a slash: for a file of that name write ./%s.",
			spec->path, spec->path);
}

int dnd_spec_parse(struct donard_context *ctx, const char *text, struct dnd_spec *spec)
{
	char leads_to[PATH_MAX];
	bool offset;

	memset(spec, 0, sizeof(*spec));
	if (!text[0])
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: this names neither memory nor a drive or file; regions look like p2pmem0, "
				"and paths have a slash.", "(empty)");
	spec->path = text;
	if (!strncmp(text, GPU_PREFIX, strlen(GPU_PREFIX)) && !strchr(text, '/'))
		return parse_gpu(ctx, text, spec);
	if (!split_region(node_name(ctx, text, leads_to), spec, &offset))
		return 0;
	spec->is_region = true;
	return offset ? has_offset(ctx, text) : 0;
}

int dnd_spec_check_link(struct donard_context *ctx, const char *text)
{
	return is_link(below_dev(ctx, text)) ? dnd_fail(ctx, DND_E_NO_SUCH_REGION, "%s: no region has this link", text) : 0;
}

int dnd_region_name(struct donard_context *ctx, const char *text, char name[P2PMEM_NAME_BYTES])
{
	struct dnd_spec spec;
	char leads_to[PATH_MAX];
	bool offset, known = split_region(node_name(ctx, text, leads_to), &spec, &offset);
	int rc = known ? 0 : dnd_spec_check_link(ctx, text);

	if (rc)
		return rc;
	if (!known)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: not a region; they look like p2pmem0, and "
				"donard_region_list() shows what exists.", text[0] ? text : "(empty)");
	if (offset)
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: a whole region is meant here: write %s "
				"without an offset.", text, spec.region);
	snprintf(name, P2PMEM_NAME_BYTES, "%s", spec.region);
	return 0;
}
