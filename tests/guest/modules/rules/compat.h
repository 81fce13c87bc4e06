/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RULES_COMPAT_H
#define RULES_COMPAT_H

#include <linux/version.h>

/* Providers are objects of their own since 6.19; Debian has the rules from 7 on. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0) && defined(CONFIG_PCI_P2PDMA)
#define RULES_HAVE_P2PDMA	1
#else
#define RULES_HAVE_P2PDMA	0
#endif

#endif
