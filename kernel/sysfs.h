/* SPDX-License-Identifier: GPL-2.0 */
/* /sys/class/p2pmem/p2pmemN/ */
#ifndef P2PMEM_SYSFS_H
#define P2PMEM_SYSFS_H

#include <linux/sysfs.h>

extern const struct attribute_group *p2pmem_region_groups[];

#endif
