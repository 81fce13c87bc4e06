/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes of findings.  Each code's word is stable: programs compare it, and
 * docs/troubleshooting.md lists it.
 */
#ifndef DONARD_DOCTOR_CODES_H
#define DONARD_DOCTOR_CODES_H

#include <stdbool.h>

enum severity {
	SEVERITY_FAULT,		/* the machine usually cannot move data until this is mended */
	SEVERITY_WARNING,	/* some devices cannot, or something has to be done first */
	SEVERITY_NOTE,		/* nothing has to be done */
};

enum code {
	/* the kernel */
	CODE_KERNEL_TOO_OLD, CODE_KERNEL_TOO_NEW, CODE_KERNEL_UNTESTED, CODE_CONFIG_UNREADABLE, CODE_NO_ZONE_DEVICE,
	CODE_NO_P2PDMA, CODE_DMA_API_DEBUG, CODE_NO_IO_URING, CODE_NO_ASYNC_IO, CODE_LOCKDOWN,
	CODE_MEMORY_ENCRYPTION, CODE_NOT_X86,
	/* the module */
	CODE_MODULE_MISSING, CODE_MODULE_NOT_LOADED, CODE_MODULE_DIFFERS, CODE_SIGNATURE_NEEDED,
	CODE_FOREIGN_MODULE, CODE_REGION_BUSY_ENDING,
	/* rights */
	CODE_NOT_IN_GROUP, CODE_NODE_FORBIDDEN, CODE_NODE_MISSING, CODE_DRIVE_CLOSED, CODE_CONTAINER,
	CODE_SYSFS_HIDDEN, CODE_LOCKED_MEMORY, CODE_NOT_ROOT,
	/* the IOMMU, and swiotlb */
	CODE_IOMMU_TRANSLATES, CODE_IOMMU_UNREADABLE, CODE_SWIOTLB_FORCED,
	/* the paths */
	CODE_BRIDGE_UNASKED, CODE_UNLISTED_BRIDGE, CODE_UNLISTED_FORWARDS, CODE_ACS_REDIRECTS, CODE_ACS_DETOUR, CODE_ACS_UNREADABLE,
	CODE_OTHER_SOCKET, CODE_LINK_REDUCED, CODE_BEHIND_VMD, CODE_VIRTUAL_MACHINE,
	CODE_PREDICTION_DIFFERS,
	/* memory */
	CODE_NO_MEMORY, CODE_NO_REGION, CODE_BAR_UNASSIGNED, CODE_BELOW_4G, CODE_BAR_RESIZABLE,
	CODE_BEYOND_DIRECT_MAP, CODE_KASLR_DIRECT_MAP,
	CODE_MEMORY_UNKNOWN, CODE_MEMORY_IN_USE, CODE_UNROUTED_CLIENT,
	/* devices that use memory */
	CODE_NO_CLIENT, CODE_NO_DRIVE, CODE_DRIVE_NOT_LIVE, CODE_MULTIPATH, CODE_RAID_LEVEL, CODE_RDMA_DMA_BUF, CODE_RDMA_PINS,
	CODE_RDMA_PORT_DOWN, CODE_RDMA_SOFT, CODE_GPU_DRIVER,
	/* GPU memory that programs have allocated */
	CODE_GPU_NO_DRIVER, CODE_GPU_PROPRIETARY, CODE_GPU_STATIC_BAR1, CODE_GPU_NO_REGION,
	CODE_GPU_PARTITIONED, CODE_GPU_SMALL_BAR1, CODE_GPU_NO_CUDA,
	/* --probe */
	CODE_NOT_DELIVERED, CODE_NOT_PROBED,
	CODE_COUNT
};

struct code_entry {
	const char *word;
	enum severity severity;
	const char *meaning;
	const char *consequence;
	const char *remedy;
	bool of_adding;		/* a fault that only hinders adding regions: those that exist go on working */
};

const struct code_entry *code_entry(enum code code);
const char *severity_word(enum severity severity);

#endif /* DONARD_DOCTOR_CODES_H */
