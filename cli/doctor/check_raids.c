// SPDX-License-Identifier: Apache-2.0
/* Software RAIDs (md) on drives.  lib/drive/md.c knows the levels that hand a payload to their drives as it is. */
#include <stdio.h>
#include <string.h>

#include "checks.h"

struct raid {
	struct examination *x;
	char legs[256];
};

static int see_leg(void *user, const char *entry)
{
	struct raid *raid = user;
	size_t used = strlen(raid->legs);

	if (!strncmp(entry, "nvme", 4))
		snprintf(raid->legs + used, sizeof(raid->legs) - used, "%s%s", used ? ", " : "", entry);
	return 0;
}

static bool passes_on(const char *level)
{
	return !strcmp(level, "raid0") || !strcmp(level, "raid1") || !strcmp(level, "raid10");
}

static int see_disk(void *user, const char *entry)
{
	struct raid raid = { .x = user };
	char level[32], folder[128];

	if (source_text(&raid.x->source, level, sizeof(level), "/sys/block/%s/md/level", entry) || !level[0] || passes_on(level))
		return 0;
	snprintf(folder, sizeof(folder), "/sys/block/%s/slaves", entry);
	source_each(&raid.x->source, folder, see_leg, &raid);
	if (raid.legs[0])
		find(raid.x, CODE_RAID_LEVEL, entry, "%s is a software RAID of the level '%s', made of %s", entry, level,
		     raid.legs);
	return 0;
}

void check_raids(struct examination *x)
{
	source_each(&x->source, "/sys/block", see_disk, x);
}
