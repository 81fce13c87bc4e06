// SPDX-License-Identifier: Apache-2.0
/* What this process may do. The rights of other processes, and those on a captured machine, are unknown. */
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks.h"
#include "lib/base/files.h"
#include "lib/base/rights.h"

#define GROUP		"p2pmem"
#define ENOUGH_BYTES	(64ULL << 20)

static void check_group(struct examination *x)
{
	const struct group *group = getgrnam(GROUP);
	struct finding *finding;

	if (!group) {
		finding = find(x, CODE_NOT_IN_GROUP, "", "there is no group " GROUP);
		find_remedy(finding, "Install the package p2pmem-dkms, or run 'sudo make install-module' in donard's source: both "
			    "make the group. Then: sudo adduser $USER " GROUP);
	} else if (!dnd_in_group(group->gr_gid)) {
		find(x, CODE_NOT_IN_GROUP, "", "user %u is not in the group " GROUP, (unsigned int)getuid());
	}
}

/* The limit does not apply to a process with CAP_IPC_LOCK. */
static void check_locked_memory(struct examination *x)
{
	struct rlimit limit;

	if (!dnd_has_capability(CAP_IPC_LOCK) && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < ENOUGH_BYTES)
		find(x, CODE_LOCKED_MEMORY, "", "you may lock %llu KiB", (unsigned long long)limit.rlim_cur >> 10);
}

/* Container engines leave a file of their own: podman, docker, systemd-nspawn. */
static const char *container_file(const struct examination *x)
{
	static const char *const files[] = { "/run/.containerenv", "/.dockerenv", "/run/host/container-manager" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (source_exists(&x->source, "%s", files[i]))
			return files[i];
	return NULL;
}

static void check_container(struct examination *x)
{
	const char *file = container_file(x);
	unsigned int outside;
	char who[32];

	if (!dnd_in_user_namespace(&outside))
		who[0] = '\0';
	else if (outside == UINT32_MAX)
		snprintf(who, sizeof(who), "nobody");
	else
		snprintf(who, sizeof(who), "user %u", outside);
	if (who[0])
		find(x, CODE_CONTAINER, "", "this process is in a user namespace, whose user %u is %s outside",
		     (unsigned int)geteuid(), who);
	else if (file)
		find(x, CODE_CONTAINER, "", "there is %s, which an engine leaves in its containers", file);
}

/* Reports parts of /sys that donard needs and a container's runtime has hidden. */
static void check_hidden(struct examination *x)
{
	static const char *const folders[] = { "block", "dev/block", "class/nvme" };
	char part[PATH_MAX];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (dnd_sysfs_hidden_part("/sys", folders[i], part))
			find_remedy(find(x, CODE_SYSFS_HIDDEN, part, "another file system is mounted over %s", part),
				    "Unmount that, or let this container see it: podman run --security-opt unmask=%s, or docker run "
				    "--privileged.", part);
}

static void check_root(struct examination *x)
{
	unsigned int user = (unsigned int)geteuid();

	if (user)
		find(x, CODE_NOT_ROOT, "", "this ran as user %u", user);
	else if (!dnd_has_capability(CAP_SYS_ADMIN))
		find(x, CODE_NOT_ROOT, "", "this ran as user 0 without CAP_SYS_ADMIN over the machine");
}

void check_rights(struct examination *x)
{
	if (!x->source.live)
		return;
	check_nodes(x);
	if (!donard_region_count(x->regions) && geteuid())
		check_group(x);
	check_locked_memory(x);
	check_container(x);
	check_hidden(x);
	check_root(x);
}
