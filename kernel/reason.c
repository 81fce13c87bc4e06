// SPDX-License-Identifier: GPL-2.0
/* Why a call failed, and what to do about it, in words that the caller gets. */
#include <linux/kernel.h>
#include <linux/pci.h>

#include "p2pmem.h"
#include "reason.h"

void p2pmem_reason(char *reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, P2PMEM_REASON_BYTES, fmt, args);
	va_end(args);
}

/* A rescan finds no virtual functions, because their physical function makes them. */
const char *p2pmem_made_anew(struct pci_dev *pdev)
{
	return pdev->is_virtfn ?
	       "write 0, then the number of virtual functions, to sriov_numvfs of its physical function" :
	       "remove the function and rescan its bus";
}
