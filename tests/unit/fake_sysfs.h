/* SPDX-License-Identifier: Apache-2.0 */
/* A throw-away sysfs tree and a context that looks there. */
#ifndef FAKE_SYSFS_H
#define FAKE_SYSFS_H

#include <limits.h>

#include "base/base.h"
#include "uapi/p2pmem.h"

struct fake {
	char root[64];
	char files[80];		/* a folder beside it, since no file is made below /dev, which @root stands for, too */
	struct donard_context *ctx;
};

int fake_setup(void **state);
int fake_teardown(void **state);
/* Skips the test if @path is neither on ext4 nor on XFS.  Asks the kernel, and not the code under test. */
void needs_supported_file_system(const char *path);
/*
 * The programs of FLUSHED_TESTS (mk/unit.mk) believe that fsync() on the file system of this machine reaches the drive: where
 * packages are built, there may be no /sys and no /proc/fs to tell it.
 */

/* Paths are below the root; missing folders are made. */
void fake_folder(struct fake *fake, const char *path);
void fake_file(struct fake *fake, const char *path, const char *value);
void fake_link(struct fake *fake, const char *path, const char *target);
/* A region with ordinary values, and an NVMe drive with one namespace. */
void fake_region(struct fake *fake, const char *name, const char *kind, const char *bdf);
void fake_nvme(struct fake *fake, int number, const char *bdf);

/* Sets the name that INFO gives for an open region to the name of its node. */
void fake_info_name(int fd, struct p2pmem_info *info);

/* Lines of the file "resource": a BAR each. */
#define FAKE_NO_BAR "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
#define FAKE_64M "0x0000000800000000 0x0000000803ffffff 0x000000000014220c\n"
#define FAKE_16K "0x00000000fe800000 0x00000000fe803fff 0x0000000000140204\n"
void fake_bytes(struct fake *fake, const char *path, const void *data, size_t count);
/* A PCI function at @place below /sys/devices. */
void fake_pci(struct fake *fake, const char *bdf, const char *place, const char *class,
	      const char *resource);
void fake_driver(struct fake *fake, const char *bdf, const char *name);
/* The Device Serial Number 00-11-22-33-44-55-66-77. */
void fake_pci_serial(struct fake *fake, const char *bdf);
/* A drive with a CMB of 32 MiB in BAR 2, as its driver tells, and other memory in BAR 4. */
void fake_cmb_drive(struct fake *fake, const char *bdf, const char *place, const char *serial);

#endif /* FAKE_SYSFS_H */
