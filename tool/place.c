// SPDX-License-Identifier: Apache-2.0
/* See place.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

/* Is the text before the "+" a region or a GPU?  What has a slash is a file, but for a region's node. */
static bool is_memory(const char *text, size_t length)
{
	const char *name = strncmp(text, "/dev/", strlen("/dev/")) ? text : text + strlen("/dev/");
	size_t prefix = strlen("p2pmem");

	if (!strncmp(text, "gpu:", strlen("gpu:")))
		return !strchr(text, '/');
	if (!strncmp(text, CLI_REGION_LINKS, strlen(CLI_REGION_LINKS)))
		return true;
	return !strncmp(name, "p2pmem", prefix) && name + prefix < text + length &&
	       name + prefix + strspn(name + prefix, "0123456789") == text + length;
}

/* How long the name is.  A link to a region that begins within its memory has a "+" in its own. */
static size_t name_length(const char *text)
{
	const char *plus = strrchr(text, '+');

	if (strncmp(text, CLI_REGION_LINKS, strlen(CLI_REGION_LINKS)))
		return strcspn(text, "+");
	return plus && access(text, F_OK) ? (size_t)(plus - text) : strlen(text);
}

static int no_offset(struct donard_context *ctx, int rc, const char *text, const char *number)
{
	char said[512];

	if (rc == -ERANGE)
		snprintf(said, sizeof(said), "%s: '%s' is too large; the largest offset is %lld.", text, number, (long long)INT64_MAX);
	else
		snprintf(said, sizeof(said), "%s: '%s' is not an offset; they look like %s+64M.", text, number,
			 strncmp(text, "gpu:", strlen("gpu:")) ? "p2pmem0" : "gpu:0");
	return donard_fail(ctx, -EINVAL, "bad-name", said);
}

int cli_place_of(struct donard_context *ctx, const char *text, uint64_t option_bytes, struct cli_place *place)
{
	size_t length = name_length(text);
	int rc;

	*place = (struct cli_place){ .name = text, .offset_bytes = option_bytes };
	if (!text[length] || length >= sizeof(place->text) || !is_memory(text, length))
		return 0;
	snprintf(place->text, sizeof(place->text), "%.*s", (int)length, text);
	place->name = place->text;
	rc = donard_parse_size(text + length + 1, &place->offset_bytes);
	if (rc)
		return no_offset(ctx, rc, text, text + length + 1);
	place->offset_bytes += option_bytes;	/* a size is less than 2^63 */
	return 0;
}
