// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "base/rights.h"

bool dnd_in_group(gid_t group)
{
	int count = getgroups(0, NULL);
	gid_t *groups = calloc((size_t)count + 1, sizeof(*groups));
	bool found = getegid() == group;

	count = groups ? getgroups(count, groups) : 0;
	for (int i = 0; i < count; i++)
		found |= groups[i] == group;
	free(groups);
	return found;
}

/* The initial user namespace maps all users to themselves, in one line (user_namespaces(7)). */
bool dnd_in_user_namespace(unsigned int *outside)
{
	unsigned int inside, first, count, user = (unsigned int)geteuid(), found = UINT32_MAX;
	FILE *map = fopen("/proc/self/uid_map", "re");
	bool own = map;

	while (map && fscanf(map, "%u %u %u", &inside, &first, &count) == 3) {
		own &= inside || first || count != UINT32_MAX;
		if (user >= inside && user - inside < count)
			found = first + (user - inside);
	}
	if (map)
		fclose(map);
	if (outside)
		*outside = found;
	return own;
}

bool dnd_has_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &header, data) && !dnd_in_user_namespace(NULL) &&
	       data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

bool dnd_is_filtered(void)
{
	char text[8192];
	const char *at;

	if (dnd_bytes_at("/proc/self/status", memset(text, 0, sizeof(text)), sizeof(text) - 1) <= 0)
		return true;
	at = strstr(text, "\nSeccomp:\t");
	return !at || at[strlen("\nSeccomp:\t")] == '2';
}

const char *dnd_namespace_remedy(void)
{
	return dnd_in_user_namespace(NULL) ?
	       "This process is in a user namespace, whose root has only the rights of whoever made it: join the group of "
	       "the node outside, and keep it inside (podman run --group-add keep-groups)" : NULL;
}

const char *dnd_root_remedy(void)
{
	return geteuid() ? NULL :
	       "Its owner, group and mode do not keep root out: this process lacks CAP_DAC_OVERRIDE, or a security module "
	       "(SELinux, AppArmor) forbids it. Give it the capability, or change the module's policy";
}

/* Modes, owners and mounts refuse a node with EACCES; only the device cgroup refuses it with EPERM. */
const char *dnd_node_obstacle(const char *path, bool writes)
{
	struct statvfs fs;

	if (!statvfs(path, &fs) && fs.f_flag & ST_NODEV)
		return "Its node is on a file system that is mounted with nodev: use a node on another one";
	if (faccessat(AT_FDCWD, path, writes ? R_OK | W_OK : R_OK, AT_EACCESS) && errno == EPERM)
		return "The device cgroup of this container or service does not allow it: let it have the device "
		       "(docker run --device, DeviceAllow= of systemd)";
	return NULL;
}

/* Does not use getgrgid(), which returns memory that all threads share. */
static bool group_name(gid_t gid, char *name, size_t name_bytes)
{
	struct group group, *found = NULL;
	char members[16384];	/* a group with more is treated as one without a name */

	if (getgrgid_r(gid, &group, members, sizeof(members), &found) || !found)
		return false;
	snprintf(name, name_bytes, "%s", group.gr_name);
	return true;
}

/* Advises the user to join the node's group if that may open it, or else to have root change the node's rights. */
void dnd_node_remedy(const char *path, char *text, size_t text_bytes)
{
	const char *known = dnd_node_obstacle(path, true);
	struct stat st;
	char group[128];

	text[0] = '\0';
	if (stat(path, &st))
		return;
	if (!known)
		known = dnd_namespace_remedy();
	if (!known)
		known = dnd_root_remedy();
	if (known) {
		snprintf(text, text_bytes, "%s", known);
		return;
	}
	if (st.st_gid && (st.st_mode & 060) == 060 && !dnd_in_group(st.st_gid) && group_name(st.st_gid, group, sizeof(group)))
		snprintf(text, text_bytes, "Join its group (sudo adduser $USER %s) and log in again, or run as root",
			 group);
	else
		snprintf(text, text_bytes, "Run as root, or have root set user, group or mode of the region "
			 "(donard-regions.conf(5)): its node is of user %u and group %u, with mode %04o",
			 (unsigned int)st.st_uid, (unsigned int)st.st_gid, (unsigned int)st.st_mode & 07777);
}
