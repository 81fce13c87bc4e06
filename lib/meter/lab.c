// SPDX-License-Identifier: Apache-2.0
/* The exact meter of the donard lab: the emulator counts between the markers that we set.  See donard-lab/meter.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "meter/kind.h"
#include "meter/pagemap.h"
#include "meter/sysfs.h"
#include "donard-lab/meter.h"

#define IVSHMEM_VENDOR	0x1af4	/* QEMU's docs/specs/ivshmem-spec */
#define IVSHMEM_DEVICE	0x1110
#define METER_BAR	2
#define DOORBELLS_AT	0x1000	/* NVMe over PCIe Transport Specification 1.0, 3.1.2 */
#define DOORBELLS_BYTES	4096
#define ARM_TIMEOUT_MS	60000	/* long, since the emulator drops all its translated code */

struct lab {
	int fd;			/* of the BAR; its lock excludes a second measurement */
	volatile struct dnd_lab_page *page;
	struct dnd_events start;
};

#if defined(__x86_64__)
#define MARK(marker) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0" \
			 : : "i"(DND_LAB_MARKER + (marker)) : "memory")
#else
#define MARK(marker)	((void)(marker))
#endif

/* ---- finding it ---- */

struct bar {
	uint64_t start, bytes;
};

/* Line @index of the function's "resource". */
static int read_bar(const struct donard_context *ctx, const char *bdf, unsigned int index,
		    struct bar *bar)
{
	char text[1024], *line = text;
	uint64_t end;

	if (dnd_meter_text(ctx, text, sizeof(text), "bus/pci/devices/%s/resource", bdf))
		return -ENODEV;
	while (index-- && line)
		if ((line = strchr(line, '\n')))
			line++;
	if (!line || sscanf(line, "%" SCNx64 " %" SCNx64, &bar->start, &end) != 2 || !bar->start)
		return -ENODEV;
	bar->bytes = end - bar->start + 1;
	return 0;
}

static bool is_meter(const struct donard_context *ctx, const char *bdf)
{
	uint64_t vendor, device;
	struct bar bar;

	return !dnd_meter_number(ctx, &vendor, "bus/pci/devices/%s/vendor", bdf) &&
	       !dnd_meter_number(ctx, &device, "bus/pci/devices/%s/device", bdf) &&
	       vendor == IVSHMEM_VENDOR && device == IVSHMEM_DEVICE &&
	       !read_bar(ctx, bdf, METER_BAR, &bar) && bar.bytes == DND_LAB_BAR_BYTES;
}

static bool find_meter(const struct donard_context *ctx, char bdf[DONARD_BDF_BYTES])
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	dnd_meter_path(ctx, path, "bus/pci/devices");
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		found = strlen(entry->d_name) < DONARD_BDF_BYTES && is_meter(ctx, entry->d_name);
		if (found)
			strcpy(bdf, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int map_page(struct donard_context *ctx, struct lab *lab, const char *bdf)
{
	char path[PATH_MAX];
	void *page;

	dnd_meter_path(ctx, path, "bus/pci/devices/%s/resource%d", bdf, METER_BAR);
	lab->fd = open(path, O_RDWR | O_CLOEXEC);
	if (lab->fd < 0)
		return dnd_meter_fail_access(ctx, errno, "Only root may use the lab's meter",
				       "cannot open the lab's meter %s", bdf);
	page = mmap(NULL, DND_LAB_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lab->fd, 0);
	if (page == MAP_FAILED)
		return dnd_meter_fail_errno(ctx, errno, "cannot map the lab's meter %s", bdf);
	lab->page = page;
	if (lab->page->magic != DND_LAB_MAGIC)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "the shared memory %s is not the lab's meter.",
				bdf);
	return 0;
}

/* Behind a translating IOMMU the trace has the addresses that the drives use, which do not identify DRAM. */
static bool translates(const struct donard_context *ctx)
{
	struct dirent *entry;
	char path[PATH_MAX], type[32];
	bool found = false;
	DIR *dir;

	dnd_meter_path(ctx, path, "class/nvme");
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = !dnd_meter_text(ctx, type, sizeof(type),
					"class/nvme/%s/device/iommu_group/type", entry->d_name) &&
			strncmp(type, "identity", 8) != 0;
	if (dir)
		closedir(dir);
	return found;
}

/* The emulator changes its state some time after the marker, and ignores other markers until then. */
static bool reaches(const struct lab *lab, enum dnd_lab_state state)
{
	double deadline = dnd_now_seconds() + ARM_TIMEOUT_MS / 1000.0;

	while (lab->page->state != state && dnd_now_seconds() < deadline)
		sched_yield();
	return lab->page->state == state;
}

static void disarm(struct lab *lab)
{
	MARK(DND_LAB_DISARM);
	reaches(lab, DND_LAB_IDLE);
	flock(lab->fd, LOCK_UN);
}

static void close_lab(struct donard_meter *meter)
{
	struct lab *lab = meter->state;

	if (lab->page && meter->counting)
		disarm(lab);
	if (lab->page)
		munmap((void *)lab->page, DND_LAB_BAR_BYTES);
	if (lab->fd >= 0)
		close(lab->fd);
	free(lab);
}

static int open_lab(struct donard_context *ctx, struct donard_meter *meter)
{
	char bdf[DONARD_BDF_BYTES];
	struct lab *lab;
	int rc;

	if (!find_meter(ctx, bdf))
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "this machine is not the donard lab, booted with its "
				"meter.");
	if (translates(ctx))
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "a drive is behind a translating IOMMU, and the "
				"emulator's trace has addresses before translation. Boot with iommu=pt, "
				"or in another topology.");
	lab = calloc(1, sizeof(*lab));
	if (!lab)
		return dnd_meter_fail_memory(ctx);
	lab->fd = -1;
	meter->state = lab;
	rc = map_page(ctx, lab, bdf);
	if (rc)
		close_lab(meter);
	return rc;
}

/* ---- areas ---- */

static void add_area(struct lab *lab, enum dnd_lab_area_kind kind, uint64_t start, uint64_t bytes)
{
	uint32_t count = lab->page->area_count;

	if (count == DND_LAB_AREAS_MAX)
		return;
	lab->page->areas[count].start = start;
	lab->page->areas[count].bytes = bytes;
	lab->page->areas[count].kind = kind;
	lab->page->area_count = count + 1;
}

/*
 * Regions come before the BARs that they lie in, the rest of which may hold a drive's queues.  On x86, bus addresses
 * are the processor's addresses.
 */
static int add_regions(struct donard_context *ctx, struct lab *lab)
{
	struct donard_region_list *list;
	int count = donard_region_list_parts(ctx, DONARD_REGION_NODE, &list);
	struct bar bar;

	if (count < 0)
		return count == -EOPNOTSUPP ? 0 : count;
	for (int i = 0; i < count; i++) {
		const struct donard_region_info *info = donard_region_get(list, (size_t)i);

		add_area(lab, DND_LAB_REGION_BAR, info->bus_address, info->size_bytes);
	}
	for (int i = 0; i < count; i++) {
		const struct donard_region_info *info = donard_region_get(list, (size_t)i);

		if (!read_bar(ctx, info->bdf, info->bar, &bar))
			add_area(lab, DND_LAB_QUEUES, bar.start, bar.bytes);
	}
	donard_region_list_free(list);
	return 0;
}

static void add_doorbells(struct donard_context *ctx, struct lab *lab)
{
	struct donard_client_list *list;
	int count = donard_client_list(ctx, &list);
	struct bar bar;

	for (int i = 0; i < count; i++) {
		const struct donard_client_info *info = donard_client_get(list, (size_t)i);

		if (info->type == DONARD_CLIENT_NVME && !read_bar(ctx, info->bdf, 0, &bar))
			add_area(lab, DND_LAB_DOORBELLS, bar.start + DOORBELLS_AT, DOORBELLS_BYTES);
	}
	if (count >= 0)
		donard_client_list_free(list);
}

/* ---- payload ---- */

/* Virtual ranges are those of this process; the memory of others is identified by its page frames only. */
static void add_own(struct lab *lab, const struct dnd_meter_own *own)
{
	volatile struct dnd_lab_range *range = &lab->page->own[lab->page->own_count++];

	range->start = (uintptr_t)own->memory;
	range->bytes = own->bytes;
}

static void name_frames(struct lab *lab)
{
	if (lab->page->frame_count)
		MARK(DND_LAB_FRAMES);
	lab->page->frame_count = 0;
}

static void add_frame(void *user, uint64_t address, uint64_t bytes)
{
	struct lab *lab = user;
	volatile struct dnd_lab_range *range = &lab->page->frames[lab->page->frame_count++];

	range->start = address;
	range->bytes = bytes;
	if (lab->page->frame_count == DND_LAB_FRAMES_MAX)
		name_frames(lab);
}

/* The meter must be armed. */
static int add_frames(struct donard_context *ctx, const struct donard_meter *meter, struct lab *lab)
{
	int rc = 0;

	lab->page->frame_count = 0;
	for (size_t i = 0; i < meter->own_count && !rc; i++)
		rc = dnd_pagemap_walk(ctx, meter->own[i].pid, meter->own[i].memory, meter->own[i].bytes,
				      add_frame, lab);
	name_frames(lab);
	return rc;
}

/* ---- measuring ---- */

static int describe(struct donard_context *ctx, const struct donard_meter *meter, struct lab *lab)
{
	int rc;

	lab->page->area_count = 0;
	rc = add_regions(ctx, lab);
	if (rc)
		return rc;
	add_doorbells(ctx, lab);
	if (lab->page->area_count == DND_LAB_AREAS_MAX)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "this machine has too many regions and drives for "
				"the lab's meter.");
	lab->page->own_count = 0;
	for (size_t i = 0; i < meter->own_count; i++)
		if (!meter->own[i].pid)
			add_own(lab, &meter->own[i]);
	return 0;
}

static int arm(struct donard_context *ctx, const struct donard_meter *meter, struct lab *lab)
{
	int rc = 0;

	/* Data that the kernel still has to write must not count for this measurement. */
	sync();
	MARK(DND_LAB_ARM);
	if (!reaches(lab, DND_LAB_ARMED))
		rc = dnd_meter_fail(ctx, DND_E_DEVICE, "the lab's meter does not answer.");
	if (!rc)
		rc = add_frames(ctx, meter, lab);
	if (rc)
		MARK(DND_LAB_DISARM);
	return rc;
}

static int begin_lab(struct donard_context *ctx, struct donard_meter *meter)
{
	struct lab *lab = meter->state;
	int rc;

	if (flock(lab->fd, LOCK_EX | LOCK_NB))
		return dnd_meter_fail(ctx, DND_E_BUSY, "another process measures. Wait for it to end.");
	rc = describe(ctx, meter, lab);
	if (!rc)
		rc = arm(ctx, meter, lab);
	if (rc) {
		flock(lab->fd, LOCK_UN);
		return rc;
	}
	lab->start = dnd_events_read();
	MARK(DND_LAB_BEGIN);
	return 0;
}

static void take_counts(struct donard_measurement *result, const struct dnd_lab_counts *counts)
{
	uint64_t cpu = counts->dram_cpu_user_bytes + counts->dram_cpu_kernel_bytes;

	dnd_measured(result, DONARD_DRAM_DMA_PAYLOAD, counts->dram_dma_payload_bytes);
	dnd_measured(result, DONARD_DRAM_DMA_OVERHEAD, counts->dram_dma_overhead_bytes);
	dnd_measured(result, DONARD_DRAM_CPU_PAYLOAD, counts->dram_cpu_payload_bytes);
	dnd_measured(result, DONARD_DRAM_CPU_OVERHEAD, cpu - counts->dram_cpu_payload_bytes);
	dnd_measured(result, DONARD_DRAM_CPU_USER, counts->dram_cpu_user_bytes);
	dnd_measured(result, DONARD_DRAM_CPU_KERNEL, counts->dram_cpu_kernel_bytes);
	dnd_measured(result, DONARD_BAR_DMA, counts->bar_dma_bytes);
	dnd_measured(result, DONARD_BAR_CPU, counts->bar_cpu_bytes);
	dnd_measured(result, DONARD_INSTRUCTIONS_USER, counts->instructions_user);
	dnd_measured(result, DONARD_INSTRUCTIONS_KERNEL, counts->instructions_kernel);
}

static int refuse_counts(struct donard_context *ctx, uint32_t state,
			 const struct dnd_lab_counts *counts)
{
	if (state == DND_LAB_ELSEWHERE)
		return dnd_meter_fail(ctx, DND_E_DEVICE, "the drives moved %llu bytes to or from addresses that "
				"are neither DRAM nor the BAR of a region: they cannot be attributed.",
				(unsigned long long)counts->elsewhere_dma_bytes);
	return dnd_meter_fail(ctx, DND_E_DEVICE, "the emulator's trace of DMA is off, or the lab's meter did not "
			"end (state %u).", state);
}

static int end_lab(struct donard_context *ctx, struct donard_meter *meter,
		   struct donard_measurement *result)
{
	struct lab *lab = meter->state;
	struct dnd_lab_counts counts;
	struct dnd_events now;
	uint32_t state;

	MARK(DND_LAB_END);
	now = dnd_events_read();
	state = lab->page->state;
	memcpy(&counts, (const void *)&lab->page->counts, sizeof(counts));
	disarm(lab);
	if (state != DND_LAB_DONE) {
		int rc = refuse_counts(ctx, state, &counts);

		dnd_missing(result, "%s", donard_error(ctx));
		return rc;
	}
	take_counts(result, &counts);
	dnd_events_measured(&lab->start, &now, result);
	dnd_missing(result, "the lab's meter knows what was payload and what was not; it has no counters "
		    "of a memory controller.");
	return 0;
}

const struct dnd_meter_kind dnd_meter_lab = {
	.name = "lab", .exact = true, .counts_instructions = true,
	.open = open_lab, .begin = begin_lab, .end = end_lab, .close = close_lab,
};
