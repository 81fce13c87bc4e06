// SPDX-License-Identifier: GPL-2.0
/* Who may change what a region is. */
#include <linux/capability.h>
#include <linux/security.h>

#include "reason.h"
#include "rights.h"

/* May the caller add, remove or change regions, by the control node or by sysfs? */
int p2pmem_may_administer(char *reason)
{
	if (!capable(CAP_SYS_RAWIO)) {
		p2pmem_reason(reason, "CAP_SYS_RAWIO is missing: run as root");
		return -EPERM;
	}
	if (security_locked_down(LOCKDOWN_PCI_ACCESS)) {
		p2pmem_reason(reason, "the kernel is locked down (PCI access): boot without lockdown, or disable secure boot");
		return -EPERM;
	}
	return 0;
}
