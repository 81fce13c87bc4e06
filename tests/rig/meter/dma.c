// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The drives' half of the meter: reads what the emulator traced between two markers.
 *
 * The emulator handles one NVMe command at a time: pci_nvme_map_addr lines after pci_nvme_read or _write are
 * that command's data; after any other command they are its parameters. pci_nvme_map_addr_cmb repeats the line
 * before it. What a command costs besides: 64 bytes of command, 16 of completion (NVMe Base Specification 2.0,
 * 4.1 and 4.2), and 8 for each further page when PRP entry 2 points at a list (4.1.1, hw/nvme's map_prp).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meter.h"

#define COMMAND_BYTES		64
#define COMPLETION_BYTES	16
#define PRP_BYTES		8

struct trace {
	struct meter *meter;
	bool data;		/* of the command whose mappings follow */
};

static long size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) ? -1 : (long)status.st_size;
}

void dma_begin(struct meter *meter)
{
	meter->trace_begin = size_of(meter->trace_path);
}

static uint64_t in_areas(const struct meter *meter, uint64_t start, uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < meter->page->area_count; i++) {
		const struct dnd_lab_range *area = &meter->page->areas[i];
		uint64_t from = start > area->start ? start : area->start;
		uint64_t to = start + bytes < area->start + area->bytes ? start + bytes :
									 area->start + area->bytes;

		if (area->kind == DND_LAB_REGION_BAR && from < to)
			sum += to - from;
	}
	return sum;
}

static void mapped(struct trace *trace, uint64_t address, uint64_t bytes)
{
	struct meter *meter = trace->meter;
	uint64_t bar;

	if (address < meter->ram_bytes && bytes <= meter->ram_bytes - address) {
		if (!trace->data) {
			meter->counts.dram_dma_overhead_bytes += bytes;
			return;
		}
		meter->counts.dram_dma_payload_bytes += bytes;
		for (uint64_t at = address - address % METER_PAGE_BYTES; at < address + bytes;
		     at += METER_PAGE_BYTES)
			meter_page(meter, at)->payload = true;
		return;
	}
	bar = in_areas(meter, address, bytes);
	meter->counts.bar_dma_bytes += bar;
	meter->counts.elsewhere_dma_bytes += bytes - bar;
}

static bool is_event(const char *line, const char *event)
{
	size_t length = strlen(event);

	return !strncmp(line, event, length) && line[length] == ' ';
}

static void command(struct trace *trace)
{
	trace->data = false;
	trace->meter->counts.nvme_commands++;
	trace->meter->counts.dram_dma_overhead_bytes += COMMAND_BYTES + COMPLETION_BYTES;
}

static void take_line(struct trace *trace, const char *line)
{
	const char *prps;
	uint64_t address, bytes, pages;

	if (is_event(line, "pci_nvme_map_addr")) {
		if (sscanf(line, "%*s addr %" SCNx64 " len %" SCNu64, &address, &bytes) == 2)
			mapped(trace, address, bytes);
	} else if (is_event(line, "pci_nvme_map_prp")) {
		/* One page has no second entry, two have it in the command. */
		prps = strstr(line, "num_prps ");
		pages = prps ? strtoull(prps + strlen("num_prps "), NULL, 10) : 0;
		if (pages > 2)
			trace->meter->counts.dram_dma_overhead_bytes += (pages - 1) * PRP_BYTES;
	} else if (is_event(line, "pci_nvme_read") || is_event(line, "pci_nvme_write")) {
		trace->data = true;
	} else if (is_event(line, "pci_nvme_io_cmd") || is_event(line, "pci_nvme_admin_cmd")) {
		command(trace);
	}
}

enum dnd_lab_state dma_end(struct meter *meter)
{
	struct trace trace = { .meter = meter };
	FILE *file = fopen(meter->trace_path, "re");
	char line[512];

	if (!file || meter->trace_begin < 0 || fseek(file, meter->trace_begin, SEEK_SET)) {
		if (file)
			fclose(file);
		return DND_LAB_NO_TRACE;
	}
	while (fgets(line, sizeof(line), file))
		take_line(&trace, line);
	fclose(file);
	/* Commands were given, and none was traced. */
	if (meter->counts.doorbells && !meter->counts.nvme_commands)
		return DND_LAB_NO_TRACE;
	/* Drives fetch these from where the CPU put them. */
	meter->counts.dram_dma_overhead_bytes -= meter->counts.queue_bytes;
	return meter->counts.elsewhere_dma_bytes ? DND_LAB_ELSEWHERE : DND_LAB_DONE;
}
