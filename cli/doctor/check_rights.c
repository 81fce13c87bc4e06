// SPDX-License-Identifier: Apache-2.0
/* What this process may do; nothing is known of others, nor of a captured machine. */
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks.h"
#include "lib/base/rights.h"

#define GROUP		"p2pmem"
#define REMEDY_BYTES	256
#define ENOUGH_BYTES	(64ULL << 20)

/* False if the region can be opened. */
static bool is_closed(const struct examination *x, const struct donard_region_info *region, char remedy[REMEDY_BYTES])
{
	char path[PATH_MAX];

	source_path(&x->source, path, "/dev/%s", region->name);
	if (!access(path, R_OK | W_OK))
		return false;
	dnd_node_remedy(path, remedy, REMEDY_BYTES);
	return remedy[0];
}

/* Whether one of the regions before that one is closed, with the same remedy. */
static bool said_before(const struct examination *x, size_t region, const char *remedy)
{
	char other[REMEDY_BYTES];

	for (size_t i = 0; i < region; i++)
		if (is_closed(x, donard_region_get(x->regions, i), other) && !strcmp(remedy, other))
			return true;
	return false;
}

/* Names of all regions with that remedy, "p2pmem0, p2pmem1". */
static void name_closed(const struct examination *x, const char *remedy, char *names, size_t names_bytes)
{
	const struct donard_region_info *region;
	char other[REMEDY_BYTES];
	size_t used = 0;

	for (size_t i = 0; (region = donard_region_get(x->regions, i)) && used < names_bytes; i++)
		if (is_closed(x, region, other) && !strcmp(remedy, other))
			used += (size_t)snprintf(names + used, names_bytes - used, "%s%s", used ? ", " : "", region->name);
}

/* Each region may have an owner, a group and a mode of its own: a finding for each remedy. */
static void check_nodes(struct examination *x)
{
	const struct donard_region_info *region;
	char remedy[REMEDY_BYTES], names[512];

	for (size_t i = 0; (region = donard_region_get(x->regions, i)); i++) {
		if (!is_closed(x, region, remedy) || said_before(x, i, remedy))
			continue;
		name_closed(x, remedy, names, sizeof(names));
		find_remedy(find(x, CODE_NOT_IN_GROUP, names, "user %u cannot open %s for reading and writing",
				 (unsigned int)getuid(), names), "%s.", remedy);
	}
}

static void check_group(struct examination *x)
{
	const struct group *group = getgrnam(GROUP);
	struct json_object *finding;

	if (!group) {
		finding = find(x, CODE_NOT_IN_GROUP, "", "there is no group " GROUP);
		find_remedy(finding, "Install the package p2pmem-dkms, or run 'sudo make install-module' in donard's source: both "
			    "make the group. Then: sudo adduser $USER " GROUP);
	} else if (!dnd_in_group(group->gr_gid)) {
		find(x, CODE_NOT_IN_GROUP, "", "user %u is not in the group " GROUP, (unsigned int)getuid());
	}
}

static void check_locked_memory(struct examination *x)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < ENOUGH_BYTES)
		find(x, CODE_LOCKED_MEMORY, "", "you may lock %llu KiB", (unsigned long long)limit.rlim_cur >> 10);
}

void check_rights(struct examination *x)
{
	if (!x->source.live || !geteuid())
		return;
	if (donard_region_count(x->regions))
		check_nodes(x);
	else
		check_group(x);
	check_locked_memory(x);
	find(x, CODE_NOT_ROOT, "", "this ran as user %u", (unsigned int)getuid());
}
