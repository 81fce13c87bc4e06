/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LAB_COMPAT_H
#define LAB_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_NS_DMA_BUF DMA_BUF
#else
#define COMPAT_NS_DMA_BUF "DMA_BUF"
#endif

#endif
