/* SPDX-License-Identifier: GPL-2.0 */
/* The right to change regions. */
#ifndef P2PMEM_RIGHTS_H
#define P2PMEM_RIGHTS_H

/* Returns 0, or -EPERM with the cause in @reason. */
int p2pmem_may_administer(char *reason);

#endif
