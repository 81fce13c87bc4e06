/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/p2pmem_control */
#ifndef P2PMEM_CONTROL_H
#define P2PMEM_CONTROL_H

int p2pmem_control_init(void);
void p2pmem_control_exit(void);

#endif
