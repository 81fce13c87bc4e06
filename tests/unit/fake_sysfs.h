/* SPDX-License-Identifier: Apache-2.0 */
/* A throw-away sysfs tree and a context that looks there. */
#ifndef FAKE_SYSFS_H
#define FAKE_SYSFS_H

#include <limits.h>

#include "base/base.h"
#include "uapi/p2pmem.h"

struct fake {
	char root[64];
	struct donard_context *ctx;
};

int fake_setup(void **state);
int fake_teardown(void **state);
/* Paths are below the root; missing folders are made. */
void fake_folder(struct fake *fake, const char *path);
void fake_file(struct fake *fake, const char *path, const char *value);
void fake_link(struct fake *fake, const char *path, const char *target);
/* A region with ordinary values, and an NVMe drive with one namespace. */
void fake_region(struct fake *fake, const char *name, const char *kind, const char *bdf);
void fake_nvme(struct fake *fake, int number, const char *bdf);

#endif /* FAKE_SYSFS_H */
