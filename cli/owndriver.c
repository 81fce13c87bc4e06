// SPDX-License-Identifier: Apache-2.0
/* Finds the driver in depmod's list of aliases, where modprobe looks it up for udev. */
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "owndriver.h"

/* The alias of a driver for all devices of a vendor, such as virtio's: it examines the device, and may not bind to it. */
#define ANY_DEVICE	"d*sv*sd*bc*sc*i*"

bool owndriver_in(const char *aliases, const char *modalias, char driver[OWNDRIVER_BYTES])
{
	char line[512], pattern[256];
	FILE *file = fopen(aliases, "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "alias %255s %63s", pattern, driver) == 2 && !strncmp(pattern, "pci:", strlen("pci:")) &&
			!strstr(pattern, ANY_DEVICE) && !fnmatch(pattern, modalias, 0);
	if (file)
		fclose(file);
	return found;
}

bool owndriver_find(const char *bdf, char driver[OWNDRIVER_BYTES])
{
	char path[PATH_MAX], modalias[256] = "";
	struct utsname kernel;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/modalias", bdf);
	file = fopen(path, "re");
	if (file && fgets(modalias, sizeof(modalias), file))
		modalias[strcspn(modalias, "\n")] = '\0';
	if (file)
		fclose(file);
	if (!modalias[0] || uname(&kernel))
		return false;
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.alias", kernel.release);
	return owndriver_in(path, modalias, driver);
}
