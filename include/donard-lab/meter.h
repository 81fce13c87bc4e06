/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/*
 * What the program under measurement and the emulator's plugin (tests/rig/meter) share: markers in the
 * instruction stream, and one page of memory that is a BAR on one side and a file on the other.
 *
 *   program                                       plugin
 *   finds the BAR by its magic
 *   areas, own, marker ARM, waits for ARMED  -->  translates everything anew, with callbacks
 *   frames, marker FRAMES, as often as needed  -> remembers them as payload until END
 *   marker BEGIN                             -->  counters to zero
 *   ... the work ...
 *   marker END                               -->  joins its counters with the trace of DMA since BEGIN,
 *                                                 writes counts, then the state
 *   reads the counts
 *   marker DISARM                            -->  removes the callbacks
 *
 * A marker takes effect before the next instruction, so nothing needs a lock.
 */
#ifndef DND_METER_LAB_H
#define DND_METER_LAB_H

#include <stdint.h>

#define DND_LAB_MAGIC		0x31524554454d4e44ULL	/* "DNMETER1" */
#define DND_LAB_AREAS_MAX	32
#define DND_LAB_OWN_MAX		8
#define DND_LAB_FRAMES_MAX	64	/* at a time */
#define DND_LAB_BAR_BYTES	65536	/* of the BAR: no other device of the lab has that size */

/* A no-operation with a displacement (Intel SDM, NOP, 0F 1F /0): harmless on every x86-64. */
#define DND_LAB_MARKER		0xd0ad0000u
#define DND_LAB_MARKER_BYTES	8
enum dnd_lab_marker {
	DND_LAB_ARM = 1,
	DND_LAB_FRAMES,
	DND_LAB_BEGIN,
	DND_LAB_END,
	DND_LAB_DISARM,
};

enum dnd_lab_state {
	DND_LAB_IDLE,
	DND_LAB_ARMED,
	DND_LAB_COUNTING,
	DND_LAB_DONE,		/* counts are valid */
	DND_LAB_NO_TRACE,	/* the emulator's trace of DMA cannot be read, or is off */
	DND_LAB_ELSEWHERE,	/* DMA went to addresses that are neither DRAM nor an area */
};

enum dnd_lab_area_kind {
	DND_LAB_REGION_BAR,	/* memory of a region */
	DND_LAB_QUEUES,		/* a BAR in which the kernel may keep queues of NVMe commands */
	DND_LAB_DOORBELLS,	/* registers that start NVMe commands: they prove that the trace is on */
};

/*
 * Guest-physical, from the program; the first area that holds an address is meant. For "own" the program's virtual
 * addresses: pages that come only while it counts are payload, too. "frames" are pages of DRAM that are there already,
 * by whatever address they are reached: a kernel that copies for a network card does so by its own.
 */
struct dnd_lab_range {
	uint64_t start;
	uint64_t bytes;
	uint64_t kind;
};

struct dnd_lab_counts {
	uint64_t dram_dma_payload_bytes;
	uint64_t dram_dma_overhead_bytes;
	uint64_t dram_cpu_payload_bytes;
	uint64_t dram_cpu_user_bytes;
	uint64_t dram_cpu_kernel_bytes;
	uint64_t bar_dma_bytes;
	uint64_t bar_cpu_bytes;
	uint64_t elsewhere_dma_bytes;
	uint64_t instructions_user;
	uint64_t instructions_kernel;
	uint64_t nvme_commands;
	uint64_t queue_bytes;	/* commands that the CPU wrote into a BAR instead of DRAM */
	uint64_t doorbells;
};

struct dnd_lab_page {
	uint64_t magic;
	uint32_t state;		/* enum dnd_lab_state; the plugin's */
	uint32_t area_count;	/* what follows up to counts: the program's */
	uint32_t own_count;
	uint32_t frame_count;
	struct dnd_lab_range areas[DND_LAB_AREAS_MAX];
	struct dnd_lab_range own[DND_LAB_OWN_MAX];
	struct dnd_lab_range frames[DND_LAB_FRAMES_MAX];
	struct dnd_lab_counts counts;
};

#endif /* DND_METER_LAB_H */
