// SPDX-License-Identifier: Apache-2.0
/*
 * What ntb_hw_amd.h does not say, and was chosen here:
 *
 * - A side lends memory by the XLAT and LMT registers *of the other side* (amd_ntb_mw_set_trans() writes them through
 *   AMD_PEER_OFFSET); a side cannot change its own. A limit of 0 lends nothing. These registers lie at the lender's end:
 *   it can take back what it lent while the cable is cut, and must, if it frees the memory.
 * - What a side lent ends with it: its reset or its end clears those registers. Its scratchpads and doorbells go, too.
 * - A transfer into a machine needs that machine's leave to be bus master, as any transfer that its own bridge begins.
 * - The link is up while the cable is whole and both machines have looked at their device since their last reset. While
 *   it is down nothing passes: windows read as ones, the other side's state and scratchpads as zeros. (As ones they would
 *   have AMD_SIDE_READY, which the driver takes for a link.)
 * - An event that comes while it is masked is forgotten. The driver unmasks the link's events before it has registered
 *   its device, and would stumble over an old one; it finds the state by polling.
 * - Of "link up" and "link down" only the last one is pending: amd_handle_event() knows no two at once.
 */
#include "ntb.h"
#include "ntb_regs.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REGISTER_BAR_BYTES 0x4000
#define MSIX_TABLE 0x2000
#define MSIX_PENDING 0x3000

static struct ntb_side *other(const struct ntb_side *side)
{
	struct ntb *ntb = side->bridge;

	return side == &ntb->sides[0] ? &ntb->sides[1] : &ntb->sides[0];
}

static const char *name_of(const struct ntb_side *side)
{
	return side->server.name;
}

/* --- the trace --- */

static const char *const direction_names[NTB_DIRECTIONS] = { "read", "write" };

static void end_run(struct ntb_side *side, enum ntb_direction direction)
{
	struct ntb_run *run = &side->runs[direction];

	if (run->bytes && side->bridge->trace)
		fprintf(side->bridge->trace, "ntb_%s %s %s %#" PRIx64 " %" PRIu64 "\n", direction_names[direction],
			name_of(side), run->area, run->address, run->bytes);
	run->bytes = 0;
}

void ntb_flush(struct ntb *ntb)
{
	for (int i = 0; i < NTB_SIDES; i++)
		for (int j = 0; j < NTB_DIRECTIONS; j++)
			end_run(&ntb->sides[i], j);
	if (ntb->trace)
		fflush(ntb->trace);
}

static void trace_access(struct ntb_side *side, enum ntb_direction direction, const char *area, uint64_t address,
			 uint64_t bytes)
{
	struct ntb_run *run = &side->runs[direction];

	if (run->area != area || run->address + run->bytes != address)
		end_run(side, direction);
	if (!run->bytes)
		*run = (struct ntb_run){ .area = area, .address = address };
	run->bytes += bytes;
}

/* Behind the accesses that came before it. */
static void trace_word(struct ntb_side *side, const char *word, uint32_t value)
{
	ntb_flush(side->bridge);
	if (side->bridge->trace)
		fprintf(side->bridge->trace, "ntb_%s %s %#" PRIx32 "\n", word, name_of(side), value);
}

/* --- counts --- */

/* Returns the area of a name. Names beyond the last area share it. */
static struct ntb_area *area_of(struct ntb_side *side, const char *name)
{
	struct ntb_area *area = side->areas;

	while (area < &side->areas[NTB_AREAS - 1] && area->name[0] && strcmp(area->name, name))
		area++;
	if (!area->name[0])
		memcpy(area->name, name, sizeof(area->name));
	return area;
}

static void count_access(struct ntb_side *side, enum ntb_direction direction, const struct dma_piece *piece)
{
	struct ntb_area *area = area_of(side, piece->range->memory->name);

	area->bytes[direction] += piece->len_bytes;
	trace_access(side, direction, area->name, piece->address, piece->len_bytes);
}

static const char *const drop_names[NTB_DROPS] = { "no-link", "beyond-limit", "no-master", "no-memory" };

static void side_counts(const struct ntb_side *side, FILE *out)
{
	for (const struct ntb_area *area = side->areas; area < &side->areas[NTB_AREAS] && area->name[0]; area++)
		for (int i = 0; i < NTB_DIRECTIONS; i++)
			fprintf(out, "%s %s %s %" PRIu64 "\n", name_of(side), direction_names[i], area->name, area->bytes[i]);
	for (int i = 0; i < NTB_DROPS; i++)
		fprintf(out, "%s dropped %s %" PRIu64 "\n", name_of(side), drop_names[i], side->drops[i]);
	fprintf(out, "%s doorbells %" PRIu64 "\n", name_of(side), side->doorbells);
}

void ntb_counts(const struct ntb *ntb, FILE *out)
{
	fprintf(out, "link %s\n", ntb->linked ? "up" : "down");
	for (int i = 0; i < NTB_SIDES; i++)
		side_counts(&ntb->sides[i], out);
}

/* --- interrupts and the link --- */

static void raise_event(struct ntb_side *side, uint32_t event)
{
	if (side->event_mask & event)
		return;
	side->event_status = event;
	server_raise(&side->server, AMD_EVENT_VECTOR);
}

static void update_link(struct ntb *ntb)
{
	bool linked = !ntb->cut;

	for (int i = 0; i < NTB_SIDES; i++)
		linked = linked && ntb->sides[i].attached && ntb->sides[i].trained;
	if (linked == ntb->linked)
		return;
	ntb->linked = linked;
	trace_word(&ntb->sides[0], "link", linked);
	for (int i = 0; i < NTB_SIDES; i++)
		raise_event(&ntb->sides[i], linked ? AMD_LINK_UP_EVENT : AMD_LINK_DOWN_EVENT);
}

void ntb_cut(struct ntb *ntb)
{
	ntb->cut = true;
	update_link(ntb);
}

void ntb_mend(struct ntb *ntb)
{
	ntb->cut = false;
	update_link(ntb);
}

static void raise_doorbells(struct ntb_side *side, uint16_t bits)
{
	for (unsigned int i = 0; i < AMD_DB_CNT; i++)
		if (bits & 1 << i)
			server_raise(&side->server, i);
}

static void ring(struct ntb_side *side, uint16_t bits)
{
	struct ntb_side *peer = other(side);

	if (!side->bridge->linked || !bits)
		return;
	side->doorbells++;
	trace_word(side, "doorbell", bits);
	peer->doorbell_status |= bits;
	raise_doorbells(peer, bits & ~peer->doorbell_mask);
}

/* Doorbells that rang while they were masked interrupt now. */
static void mask_doorbells(struct ntb_side *side, uint16_t mask)
{
	uint16_t unmasked = side->doorbell_mask & ~mask;

	side->doorbell_mask = mask;
	raise_doorbells(side, side->doorbell_status & unmasked);
}

/* --- registers: 32 bits each --- */

/* The registers of the second window follow those of the first. NULL: it is none of them. */
static uint32_t *window_register(struct ntb_side *side, uint32_t offset)
{
	if (offset >= AMD_BAR23XLAT_OFFSET && offset < AMD_BAR23XLAT_OFFSET + sizeof(side->xlat))
		return &side->xlat[(offset - AMD_BAR23XLAT_OFFSET) / 4];
	if (offset >= AMD_BAR23LMT_OFFSET && offset < AMD_BAR23LMT_OFFSET + sizeof(side->limit))
		return &side->limit[(offset - AMD_BAR23LMT_OFFSET) / 4];
	return NULL;
}

/* Both sides see the same 16: the primary's own 8 are the first ones. NULL: the link is down. */
static uint32_t *scratchpad(struct ntb_side *side, uint32_t offset)
{
	unsigned int number = (offset - AMD_SPAD_OFFSET) / 4;
	struct ntb_side *owner = &side->bridge->sides[number / NTB_SPADS];

	return owner == side || side->bridge->linked ? &owner->spads[number % NTB_SPADS] : NULL;
}

static bool is_scratchpad(uint32_t offset)
{
	return offset >= AMD_SPAD_OFFSET && offset < AMD_SPAD_OFFSET + 4 * NTB_SIDES * NTB_SPADS;
}

static uint32_t side_info(const struct ntb_side *side)
{
	bool secondary = side == &side->bridge->sides[1];

	return (secondary ? AMD_SIDE_MASK : 0) | (side->ready ? AMD_SIDE_READY : 0);
}

static uint32_t read_own(struct ntb_side *side, uint32_t offset)
{
	const uint32_t *window = window_register(side, offset);

	if (is_scratchpad(offset)) {
		const uint32_t *pad = scratchpad(side, offset);

		return pad ? *pad : 0;
	}
	switch (offset) {
	case AMD_CNTL_OFFSET:
		return side->control;
	case AMD_SIDEINFO_OFFSET:
		return side_info(side);
	case AMD_DBMASK_OFFSET:
		return side->doorbell_mask;
	case AMD_DBSTAT_OFFSET:
		return side->doorbell_status;
	case AMD_INTMASK_OFFSET:
		return side->event_mask;
	case AMD_INTSTAT_OFFSET:
		return side->event_status;
	default:
		return window ? *window : 0;
	}
}

static void write_own(struct ntb_side *side, uint32_t offset, uint32_t value)
{
	if (is_scratchpad(offset)) {
		uint32_t *pad = scratchpad(side, offset);

		if (pad)
			*pad = value;
		return;
	}
	switch (offset) {
	case AMD_CNTL_OFFSET:
		side->control = value;
		break;
	case AMD_SIDEINFO_OFFSET:
		side->ready = value & AMD_SIDE_READY;
		break;
	case AMD_DBREQ_OFFSET:
		ring(side, value);
		break;
	case AMD_DBMASK_OFFSET:
		mask_doorbells(side, value);
		break;
	case AMD_DBSTAT_OFFSET:
		side->doorbell_status &= ~value;
		break;
	case AMD_INTMASK_OFFSET:
		side->event_mask = value & AMD_EVENT_INTMASK;
		break;
	case AMD_INTSTAT_OFFSET:
		side->event_status &= ~value;
		break;
	}
}

static uint32_t read_peer(struct ntb_side *peer, uint32_t offset)
{
	const uint32_t *window = window_register(peer, offset);

	if (window)
		return *window;
	return offset == AMD_SIDEINFO_OFFSET && peer->bridge->linked ? side_info(peer) : 0;
}

static void write_peer(struct ntb_side *peer, uint32_t offset, uint32_t value)
{
	uint32_t *window = window_register(peer, offset);

	if (window)
		*window = value;
	else if (offset == AMD_SIDEINFO_OFFSET && peer->bridge->linked)
		peer->ready = value & AMD_SIDE_READY;
}

static uint32_t read_register(struct ntb_side *side, uint32_t offset)
{
	if (offset < AMD_PEER_START)
		return read_own(side, offset);
	return read_peer(other(side), offset - AMD_PEER_OFFSET);
}

static void write_register(struct ntb_side *side, uint32_t offset, uint32_t value)
{
	if (offset < AMD_PEER_START)
		write_own(side, offset, value);
	else
		write_peer(other(side), offset - AMD_PEER_OFFSET, value);
}

/* How much of an access concerns the register that it is at. */
static uint32_t register_part(uint64_t offset, uint32_t len_bytes)
{
	uint32_t part = 4 - offset % 4;

	return part < len_bytes ? part : len_bytes;
}

static void read_registers(struct ntb_side *side, uint64_t offset, uint8_t *to, uint32_t len_bytes)
{
	while (len_bytes) {
		uint32_t part = register_part(offset, len_bytes), value = read_register(side, offset & ~3ull);

		memcpy(to, (uint8_t *)&value + offset % 4, part);
		to += part;
		offset += part;
		len_bytes -= part;
	}
}

/* A shorter one than the register sets the rest to 0: the driver writes doorbells, of 16 bits, so. */
static void write_registers(struct ntb_side *side, uint64_t offset, const uint8_t *from, uint32_t len_bytes)
{
	while (len_bytes) {
		uint32_t part = register_part(offset, len_bytes), value = 0;

		memcpy((uint8_t *)&value + offset % 4, from, part);
		write_register(side, offset & ~3ull, value);
		from += part;
		offset += part;
		len_bytes -= part;
	}
}

/* --- windows --- */

static uint64_t both_halves(const uint32_t *registers, unsigned int window)
{
	return registers[2 * window] | (uint64_t)registers[2 * window + 1] << 32;
}

struct transfer {
	struct ntb_side *side;
	enum ntb_direction direction;
	uint64_t address;
	uint8_t *data;
	uint32_t len_bytes;
};

static bool drop(struct ntb_side *side, enum ntb_drop why)
{
	side->drops[why]++;
	return false;
}

static bool may_pass(struct ntb_side *side, unsigned int window, uint64_t offset, uint32_t len_bytes)
{
	uint64_t limit = both_halves(side->limit, window);

	if (!side->bridge->linked)
		return drop(side, NTB_NO_LINK);
	if (len_bytes > limit || offset > limit - len_bytes)
		return drop(side, NTB_BEYOND_LIMIT);
	if (!pci_is_master(&other(side)->server.config))
		return drop(side, NTB_NO_MASTER);
	return true;
}

static void transfer_piece(struct transfer *transfer, const struct dma_piece *piece)
{
	int rc = transfer->direction == NTB_READ ? dma_read(piece, transfer->data) : dma_write(piece, transfer->data);

	if (rc)
		drop(transfer->side, NTB_NO_MEMORY);
	else
		count_access(transfer->side, transfer->direction, piece);
}

static void move(struct transfer *transfer)
{
	const struct dma *dma = &other(transfer->side)->server.dma;

	while (transfer->len_bytes) {
		struct dma_piece piece;

		if (dma_piece(dma, transfer->address, transfer->len_bytes, &piece))
			transfer_piece(transfer, &piece);
		else
			drop(transfer->side, NTB_NO_MEMORY);
		transfer->address += piece.len_bytes;
		transfer->data += piece.len_bytes;
		transfer->len_bytes -= piece.len_bytes;
	}
}

static void access_window(struct ntb_side *side, unsigned int window, enum ntb_direction direction, uint64_t offset,
			  void *data, uint32_t len_bytes)
{
	struct transfer transfer = { side, direction, both_halves(side->xlat, window) + offset, data, len_bytes };

	if (may_pass(side, window, offset, len_bytes))
		move(&transfer);
}

/* --- what the servers call --- */

static void train(struct ntb_side *side)
{
	if (side->trained)
		return;
	side->trained = true;
	update_link(side->bridge);
}

static void ntb_read(void *device, unsigned int bar, uint64_t offset, void *data, uint32_t len_bytes)
{
	struct ntb_side *side = device;

	/* An address to which nothing answers reads as ones. */
	memset(data, 0xff, len_bytes);
	if (bar) {
		access_window(side, bar / 2 - 1, NTB_READ, offset, data, len_bytes);
		return;
	}
	train(side);
	read_registers(side, offset, data, len_bytes);
}

static void ntb_write(void *device, unsigned int bar, uint64_t offset, const void *data, uint32_t len_bytes)
{
	struct ntb_side *side = device;

	if (bar) {
		/* The data is only read: the direction says so. */
		access_window(side, bar / 2 - 1, NTB_WRITE, offset, (void *)data, len_bytes);
		return;
	}
	train(side);
	write_registers(side, offset, data, len_bytes);
}

static void ntb_reset(void *device)
{
	struct ntb_side *side = device, *peer = other(side);

	side->trained = false;
	side->control = side->event_status = 0;
	side->event_mask = AMD_EVENT_INTMASK;
	side->ready = false;
	side->doorbell_mask = 0xffff;
	side->doorbell_status = 0;
	memset(side->spads, 0, sizeof(side->spads));
	memset(peer->limit, 0, sizeof(peer->limit));
	memset(peer->xlat, 0, sizeof(peer->xlat));
	update_link(side->bridge);
}

static void ntb_attached(void *device)
{
	struct ntb_side *side = device;

	side->attached = true;
}

static void ntb_detached(void *device)
{
	struct ntb_side *side = device;

	side->attached = false;
	ntb_reset(side);
	ntb_flush(side->bridge);
}

static const struct device_ops ntb_ops = {
	.read = ntb_read,
	.write = ntb_write,
	.reset = ntb_reset,
	.attached = ntb_attached,
	.detached = ntb_detached,
};

void ntb_init(struct ntb *ntb, const char *const names[NTB_SIDES], uint64_t window_bytes, FILE *trace)
{
	const struct pci_bar window = { .len_bytes = window_bytes, .is_64bit = true, .prefetchable = true };

	*ntb = (struct ntb){ .trace = trace };
	ntb->identity = (struct pci_identity){
		.vendor = 0x1022,
		.device = AMD_DEVICE_ID,
		.class = 0x068000,
		/* The windows of device 148b are BARs 2 and 4 (ndev_mw_to_bar(), dev_data[1]). */
		.bars = { [0] = { .len_bytes = REGISTER_BAR_BYTES }, [2] = window, [4] = window },
		.vectors = AMD_MSIX_VECTOR_CNT,
		.table_offset = MSIX_TABLE,
		.pending_offset = MSIX_PENDING,
		/* 16 GT/s, 16 lanes. */
		.link_speed = 4,
		.link_width = 16,
	};
	for (int i = 0; i < NTB_SIDES; i++) {
		ntb->sides[i].bridge = ntb;
		server_init(&ntb->sides[i].server, names[i], &ntb->identity, &ntb_ops, &ntb->sides[i]);
	}
	for (int i = 0; i < NTB_SIDES; i++)
		ntb_reset(&ntb->sides[i]);
}

void ntb_close(struct ntb *ntb)
{
	for (int i = 0; i < NTB_SIDES; i++)
		server_close(&ntb->sides[i].server);
}
