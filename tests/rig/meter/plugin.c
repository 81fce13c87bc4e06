// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * meter - counts, in the emulator, what a marked piece of work does to memory: instructions, and the bytes
 * that loads and stores move to and from DRAM and BARs. dma.c adds what the drives move. The protocol with
 * the program is in include/donard-lab/meter.h.
 *
 * Unarmed it looks for markers only, when code is translated; armed it has a callback for every access.
 * It wants one processor: then nothing here runs twice at the same time.
 *
 *   -plugin meter.so,bar=FILE,trace=FILE,ram=BYTES
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "meter.h"
#include "qemu_plugin.h"

#define LINGER_ACCESSES	2000000		/* with their callbacks they take as long as to translate everything anew */
#define KERNEL_HALF	(1ULL << 63)	/* the kernel's addresses are negative */

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct instructions {
	uint64_t user;
	uint64_t kernel;
};

static struct meter meter;
static qemu_plugin_u64 instructions_user, instructions_kernel;

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* ---- loads and stores ---- */

static struct dnd_lab_range *area_of(uint64_t address)
{
	for (uint32_t i = 0; i < meter.page->area_count; i++) {
		struct dnd_lab_range *area = &meter.page->areas[i];

		if (address - area->start < area->bytes)
			return area;
	}
	return NULL;
}

static bool is_own(uint64_t vaddr)
{
	for (uint32_t i = 0; i < meter.page->own_count; i++)
		if (vaddr - meter.page->own[i].start < meter.page->own[i].bytes)
			return true;
	return false;
}

static void count_outside_dram(uint64_t address, uint64_t bytes)
{
	const struct dnd_lab_range *area = area_of(address);

	if (!area)
		return;
	switch ((enum dnd_lab_area_kind)area->kind) {
	case DND_LAB_REGION_BAR:
		meter.counts.bar_cpu_bytes += bytes;
		break;
	case DND_LAB_QUEUES:
		meter.counts.queue_bytes += bytes;
		break;
	case DND_LAB_DOORBELLS:
		meter.counts.doorbells++;
		break;
	}
}

/* A measurement that came in between keeps its callbacks. */
static void on_disarmed(qemu_plugin_id_t id)
{
	meter.armed = meter.page->state != DND_LAB_IDLE;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
}

static void linger(void)
{
	if (++meter.lingered < LINGER_ACCESSES)
		return;
	meter.lingers = false;
	qemu_plugin_reset(meter.id, on_disarmed);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user)
{
	const struct qemu_plugin_hwaddr *hwaddr;
	uint64_t bytes = 1ULL << qemu_plugin_mem_size_shift(info);
	uint64_t address;

	(void)vcpu;
	if (meter.lingers) {
		linger();
		return;
	}
	hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hwaddr)
		return;
	address = qemu_plugin_hwaddr_phys_addr(hwaddr);
	if (qemu_plugin_hwaddr_is_io(hwaddr) || address >= meter.ram_bytes) {
		count_outside_dram(address, bytes);
		return;
	}
	meter_page(&meter, address)->cpu_bytes += bytes;
	if (user)
		meter.counts.dram_cpu_user_bytes += bytes;
	else
		meter.counts.dram_cpu_kernel_bytes += bytes;
	if (meter.page->own_count && is_own(vaddr))
		meter_page(&meter, address)->payload = true;
}

/* ---- the life of a measurement ---- */

static void ready(void)
{
	meter.lingers = false;
	memset(meter.pages, 0, meter.page_count * sizeof(*meter.pages));
	meter.page->state = DND_LAB_ARMED;
}

static void on_armed(qemu_plugin_id_t id)
{
	meter.armed = true;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	ready();
}

static void arm(void)
{
	if (meter.armed)
		ready();
	else
		qemu_plugin_reset(meter.id, on_armed);
}

/*
 * Leaves the callbacks in for a while, because it takes longer to translate everything anew than many a measurement
 * takes. A measurement that soon follows another one still finds them.
 */
static void disarm(void)
{
	meter.lingers = meter.armed;
	meter.lingered = 0;
	meter.page->state = DND_LAB_IDLE;
}

/* Names frames of DRAM only: memory in a BAR is counted by areas. */
static void name_frames(void)
{
	for (uint32_t i = 0; i < meter.page->frame_count; i++) {
		const struct dnd_lab_range *range = &meter.page->frames[i];

		for (uint64_t at = range->start; at - range->start < range->bytes; at += METER_PAGE_BYTES)
			if (at < meter.ram_bytes)
				meter_page(&meter, at)->named = true;
	}
}

static void begin(unsigned int vcpu)
{
	for (size_t i = 0; i < meter.page_count; i++)
		meter.pages[i] = (struct meter_page){ .payload = meter.pages[i].named };
	memset(&meter.counts, 0, sizeof(meter.counts));
	meter.page->state = DND_LAB_COUNTING;
	dma_begin(&meter);
	qemu_plugin_u64_set(instructions_user, vcpu, 0);
	qemu_plugin_u64_set(instructions_kernel, vcpu, 0);
}

static void end(unsigned int vcpu)
{
	enum dnd_lab_state state;

	meter.counts.instructions_user = qemu_plugin_u64_get(instructions_user, vcpu);
	meter.counts.instructions_kernel = qemu_plugin_u64_get(instructions_kernel, vcpu);
	state = dma_end(&meter);
	for (size_t i = 0; i < meter.page_count; i++)
		if (meter.pages[i].payload)
			meter.counts.dram_cpu_payload_bytes += meter.pages[i].cpu_bytes;
	meter.page->counts = meter.counts;
	meter.page->state = state;
}

static void on_marker(unsigned int vcpu, void *user)
{
	switch ((enum dnd_lab_marker)(uintptr_t)user) {
	case DND_LAB_ARM:
		arm();
		break;
	case DND_LAB_FRAMES:
		if (meter.page->state == DND_LAB_ARMED)
			name_frames();
		break;
	case DND_LAB_BEGIN:
		if (meter.armed)
			begin(vcpu);
		break;
	case DND_LAB_END:
		if (meter.page->state == DND_LAB_COUNTING)
			end(vcpu);
		break;
	case DND_LAB_DISARM:
		disarm();
		break;
	}
}

/* ---- translation ---- */

/* 0 if it is none. */
static uint32_t marker_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t opcode[] = { 0x0f, 0x1f, 0x84, 0x00 };
	uint8_t bytes[DND_LAB_MARKER_BYTES];
	uint32_t displacement;

	if (qemu_plugin_insn_size(insn) != sizeof(bytes) ||
	    qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) != sizeof(bytes) ||
	    memcmp(bytes, opcode, sizeof(opcode)))
		return 0;
	memcpy(&displacement, bytes + sizeof(opcode), sizeof(displacement));
	return displacement > DND_LAB_MARKER && displacement <= DND_LAB_MARKER + DND_LAB_DISARM ?
	       displacement - DND_LAB_MARKER : 0;
}

static void count_instruction(struct qemu_plugin_insn *insn)
{
	bool user = !(qemu_plugin_insn_vaddr(insn) & KERNEL_HALF);

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							    user ? instructions_user : instructions_kernel, 1);
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 (void *)(uintptr_t)user);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t marker = marker_of(insn);

		if (marker)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)marker);
		else if (meter.armed)
			count_instruction(insn);
	}
}

/* ---- installation ---- */

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "meter: %s: %s\n", what, why);
	return -1;
}

static int map_bar(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return refuse(path, "cannot open the file behind the meter's BAR");
	meter.page = mmap(NULL, DND_LAB_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (meter.page == MAP_FAILED)
		return refuse(path, "cannot map it");
	memset(meter.page, 0, sizeof(*meter.page));
	meter.page->magic = DND_LAB_MAGIC;
	return 0;
}

static int take_argument(const char *argument)
{
	const char *value = strchr(argument, '=');

	if (!value++)
		return refuse(argument, "not NAME=VALUE");
	if (!strncmp(argument, "bar=", 4))
		return map_bar(value);
	if (!strncmp(argument, "trace=", 6))
		meter.trace_path = value;
	else if (!strncmp(argument, "ram=", 4))
		meter.ram_bytes = strtoull(value, NULL, 0);
	else
		return refuse(argument, "no such argument");
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	struct qemu_plugin_scoreboard *score;

	meter.id = id;
	for (int i = 0; i < argc; i++)
		if (take_argument(argv[i]))
			return -1;
	if (!meter.page || !meter.trace_path || !meter.ram_bytes)
		return refuse("arguments", "bar=, trace= and ram= are needed");
	if (info->system.max_vcpus != 1)
		return refuse("processors", "the meter counts for one, no more (-smp 1)");
	meter.page_count = meter.ram_bytes / METER_PAGE_BYTES;
	meter.pages = calloc(meter.page_count, sizeof(*meter.pages));
	if (!meter.pages)
		return refuse("pages", "out of memory");
	score = qemu_plugin_scoreboard_new(sizeof(struct instructions));
	instructions_user = (qemu_plugin_u64){ score, offsetof(struct instructions, user) };
	instructions_kernel = (qemu_plugin_u64){ score, offsetof(struct instructions, kernel) };
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
