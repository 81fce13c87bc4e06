/* SPDX-License-Identifier: GPL-2.0 */
/* Why a call failed: the text that goes back to its caller. */
#ifndef P2PMEM_REASON_H
#define P2PMEM_REASON_H

#include <linux/compiler_attributes.h>

/* @reason has P2PMEM_REASON_BYTES. */
__printf(2, 3)
void p2pmem_reason(char *reason, const char *fmt, ...);

#endif
