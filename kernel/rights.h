/* SPDX-License-Identifier: GPL-2.0 */
/* Who may change what a region is. */
#ifndef P2PMEM_RIGHTS_H
#define P2PMEM_RIGHTS_H

/* 0, or -EPERM and the cause. */
int p2pmem_may_administer(char *reason);

#endif
