/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfio-user on the wire, as far as a PCI device of the lab needs it: QEMU's docs/interop/vfio-user.rst, version 0.1.
 * All numbers are in the host's byte order. What <linux/vfio.h> defines (flags, indexes of regions and interrupts) is
 * used as it is.
 */
#ifndef LAB_DEVICES_PROTOCOL_H
#define LAB_DEVICES_PROTOCOL_H

#include <stdint.h>

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_GET_INFO = 4,
	VFU_GET_REGION_INFO = 5,
	VFU_GET_REGION_IO_FDS = 6,
	VFU_GET_IRQ_INFO = 7,
	VFU_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_RESET = 13,
};

enum vfu_flags {
	VFU_TYPE_MASK = 0xf,
	VFU_TYPE_COMMAND = 0,
	VFU_TYPE_REPLY = 1,
	VFU_NO_REPLY = 1 << 4,
	VFU_ERROR = 1 << 5,
};

/* Precedes every message; @bytes counts it, too. */
struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t bytes;
	uint32_t flags;
	uint32_t error;
};

/* Followed by JSON, which ends with a NUL. */
struct vfu_version {
	uint16_t major, minor;
};

struct vfu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, address, bytes;
};

struct vfu_dma_unmap {
	uint32_t argsz, flags;
	uint64_t address, bytes;
};

struct vfu_device_info {
	uint32_t argsz, flags, regions, irqs;
};

struct vfu_region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t bytes, offset;
};

struct vfu_irq_info {
	uint32_t argsz, flags, index, count;
};

struct vfu_irq_set {
	uint32_t argsz, flags, index, start, count;
};

/* Followed by @count bytes in a write, and in the reply to a read. */
struct vfu_region_access {
	uint64_t offset;
	uint32_t region, count;
};

#define VFU_MAJOR 0
#define VFU_MINOR 1
#define VFU_MAX_FDS 16
#define VFU_MAX_TRANSFER 65536
#define VFU_MAX_MESSAGE (sizeof(struct vfu_header) + sizeof(struct vfu_region_access) + VFU_MAX_TRANSFER)

#endif
