/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A non-transparent bridge between two machines, as Linux's ntb_hw_amd drives one: AMD's device 1022:148b with two
 * memory windows, 16 scratchpads, 16 doorbells. What it answers to is drivers/ntb/hw/amd/ntb_hw_amd.h (the registers
 * in ntb_regs.h have its names); where the header leaves a choice, ntb.c says what was chosen.
 *
 *   machine 0 (primary)                                        machine 1 (secondary)
 *     BAR 0      registers: its own, and a few of the other's    BAR 0
 *     BAR 2, 4   windows: what the other side lends it           BAR 2, 4
 */
#ifndef LAB_DEVICES_NTB_H
#define LAB_DEVICES_NTB_H

#include "server.h"
#include <stdio.h>

#define NTB_SIDES 2
#define NTB_WINDOWS 2
#define NTB_SPADS 8
#define NTB_AREAS 16

/* Why an access through a window went nowhere. */
enum ntb_drop { NTB_NO_LINK, NTB_BEYOND_LIMIT, NTB_NO_MASTER, NTB_NO_MEMORY, NTB_DROPS };

enum ntb_direction { NTB_READ, NTB_WRITE, NTB_DIRECTIONS };

/* The traffic through the windows of one side into one file of the other side's memory. */
struct ntb_area {
	char name[DMA_NAME_LEN];
	uint64_t bytes[NTB_DIRECTIONS];
};

/* Accesses that follow each other address by address: one line of the trace. */
struct ntb_run {
	const char *area;
	uint64_t address, bytes;
};

struct ntb_side {
	struct server server;
	struct ntb *bridge;
	/* The machine is there, and has looked at the device since its last reset. */
	bool attached, trained;
	/* Registers. @limit and @xlat are what the other side lends to this one's windows: low half, high half. */
	uint32_t control, event_mask, event_status;
	bool ready;
	uint16_t doorbell_mask, doorbell_status;
	uint32_t limit[2 * NTB_WINDOWS], xlat[2 * NTB_WINDOWS];
	uint32_t spads[NTB_SPADS];
	/* Counts. */
	struct ntb_area areas[NTB_AREAS];
	uint64_t drops[NTB_DROPS], doorbells;
	struct ntb_run runs[NTB_DIRECTIONS];
};

struct ntb {
	struct ntb_side sides[NTB_SIDES];
	struct pci_identity identity;
	bool cut, linked;
	FILE *trace;
};

/* @names are those of the machines; @trace may be NULL. The caller gives the servers sockets. */
void ntb_init(struct ntb *ntb, const char *const names[NTB_SIDES], uint64_t window_bytes, FILE *trace);
void ntb_close(struct ntb *ntb);

/* The cable between the sides. Both machines notice. */
void ntb_cut(struct ntb *ntb);
void ntb_mend(struct ntb *ntb);

/* One count a line: "NAME write AREA BYTES", "NAME dropped WHY ACCESSES", "NAME doorbells N", "link up". */
void ntb_counts(const struct ntb *ntb, FILE *out);
/* Writes the accesses that the trace does not have yet. */
void ntb_flush(struct ntb *ntb);

#endif
