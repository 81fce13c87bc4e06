/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the two halves of the plugin: that of the processor (plugin.c) and that of the drives (dma.c). */
#ifndef METER_H
#define METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../include/donard-lab/meter.h"

#define METER_PAGE_BYTES	4096

/* Of DRAM. */
struct meter_page {
	uint64_t cpu_bytes : 62;
	uint64_t payload : 1;	/* a drive's data went there, or the program named it */
	uint64_t named : 1;	/* by FRAMES, before it counts */
};

struct meter {
	uint64_t id;		/* of the plugin */
	bool armed;		/* every access has its callback */
	bool lingers;		/* so it is, though the program wants it no longer */
	uint64_t lingered;	/* accesses since then */
	uint64_t ram_bytes;	/* DRAM is [0, ram_bytes) */
	const char *trace_path;
	long trace_begin;	/* offset of the first line that counts */
	struct dnd_lab_page *page;
	struct dnd_lab_counts counts;
	struct meter_page *pages;
	size_t page_count;
};

static inline struct meter_page *meter_page(struct meter *meter, uint64_t address)
{
	return &meter->pages[address / METER_PAGE_BYTES];
}

/* dma.c: marks the pages that drives reach, adds what they move, and says whether that can be trusted. */
void dma_begin(struct meter *meter);
enum dnd_lab_state dma_end(struct meter *meter);

#endif /* METER_H */
