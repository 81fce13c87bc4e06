/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers of the bridge that the driver touches, by the names and numbers of drivers/ntb/hw/amd/ntb_hw_amd.h. Those
 * that it never touches read as zeros.
 */
#ifndef LAB_DEVICES_NTB_REGS_H
#define LAB_DEVICES_NTB_REGS_H

enum {
	AMD_DEVICE_ID = 0x148b,
	AMD_DB_CNT = 16,
	AMD_MSIX_VECTOR_CNT = 24,
	/* The first that is no doorbell's; the driver takes any of them for an event. */
	AMD_EVENT_VECTOR = 16,

	AMD_CNTL_OFFSET = 0x200,
	AMD_SPAD_OFFSET = 0x210,
	AMD_SIDEINFO_OFFSET = 0x408,
	AMD_BAR23LMT_OFFSET = 0x418,
	AMD_BAR23XLAT_OFFSET = 0x438,
	AMD_DBREQ_OFFSET = 0x454,
	AMD_DBMASK_OFFSET = 0x45c,
	AMD_DBSTAT_OFFSET = 0x460,
	AMD_INTMASK_OFFSET = 0x470,
	AMD_INTSTAT_OFFSET = 0x474,

	/* Behind the last of one's own, the same registers of the other side. */
	AMD_PEER_OFFSET = 0x400,
	AMD_PEER_START = AMD_PEER_OFFSET + AMD_CNTL_OFFSET,

	/* AMD_SIDEINFO_OFFSET */
	AMD_SIDE_MASK = 1 << 0,
	AMD_SIDE_READY = 1 << 1,

	/* AMD_INTMASK_OFFSET, AMD_INTSTAT_OFFSET */
	AMD_LINK_UP_EVENT = 1 << 5,
	AMD_LINK_DOWN_EVENT = 1 << 6,
	AMD_EVENT_INTMASK = 0x7f,
};

#endif
