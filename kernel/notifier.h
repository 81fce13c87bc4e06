/* SPDX-License-Identifier: GPL-2.0 */
/* Init and exit of the parts of the module that serve regions, in order. */
#ifndef P2PMEM_NOTIFIER_H
#define P2PMEM_NOTIFIER_H

int p2pmem_regions_init(void);
void p2pmem_regions_exit(void);

#endif
