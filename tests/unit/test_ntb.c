// SPDX-License-Identifier: Apache-2.0
/* The lab's non-transparent bridge, driven as drivers/ntb/hw/amd does: two machines, and what passes between them. */
#include "vfio_client.h"
#include "tests/rig/devices/ntb.h"
#include "tests/rig/devices/ntb_regs.h"
#include <errno.h>
#include <linux/vfio.h>
#include <unistd.h>

#define WINDOW_BYTES (1 << 20)
#define WINDOW 2	/* its BAR */
#define WINDOW2 4

struct scene {
	struct ntb ntb;
	/* "lab", the primary side, and "peer". */
	struct client lab, peer;
	char *trace;
	size_t trace_bytes;
	unsigned int descriptors;
};

static int set_up(void **state)
{
	static const char *const names[NTB_SIDES] = { "lab", "peer" };
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->descriptors = open_descriptors();
	ntb_init(&scene->ntb, names, WINDOW_BYTES, open_memstream(&scene->trace, &scene->trace_bytes));
	client_boot(&scene->lab, &scene->ntb.sides[0].server);
	client_boot(&scene->peer, &scene->ntb.sides[1].server);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	client_disconnect(&scene->lab);
	client_disconnect(&scene->peer);
	ntb_close(&scene->ntb);
	fclose(scene->ntb.trace);
	assert_int_equal(open_descriptors(), scene->descriptors);
	free(scene->trace);
	free(scene);
	return 0;
}

static uint32_t reg(struct client *client, uint32_t offset)
{
	return client_read(client, 0, offset, 4);
}

static void set(struct client *client, uint32_t offset, uint32_t value)
{
	client_write(client, 0, offset, value, 4);
}

static uint32_t peer_reg(struct client *client, uint32_t offset)
{
	return reg(client, AMD_PEER_OFFSET + offset);
}

/* Does what amd_init_side_info() does. */
static void load_driver(struct client *client)
{
	set(client, AMD_SIDEINFO_OFFSET, reg(client, AMD_SIDEINFO_OFFSET) | AMD_SIDE_READY);
	set(client, AMD_INTMASK_OFFSET, AMD_EVENT_INTMASK & ~(AMD_LINK_UP_EVENT | AMD_LINK_DOWN_EVENT));
}

/* Does what amd_ntb_mw_set_trans() does for the window of BAR 2 or 4: lends this client's memory to the other one. */
static void lend(struct client *client, unsigned int bar, uint64_t address, uint64_t len_bytes)
{
	client_write(client, 0, AMD_PEER_OFFSET + AMD_BAR23XLAT_OFFSET + ((bar - 2) << 2), address, 8);
	client_write(client, 0, AMD_PEER_OFFSET + AMD_BAR23LMT_OFFSET + ((bar - 2) << 2), len_bytes, 8);
	assert_int_equal(client_read(client, 0, AMD_PEER_OFFSET + AMD_BAR23XLAT_OFFSET + ((bar - 2) << 2), 8), address);
	assert_int_equal(client_read(client, 0, AMD_PEER_OFFSET + AMD_BAR23LMT_OFFSET + ((bar - 2) << 2), 8), len_bytes);
}

static int set_up_linked(void **state)
{
	struct scene *scene;

	set_up(state);
	scene = *state;
	load_driver(&scene->lab);
	load_driver(&scene->peer);
	return 0;
}

static int set_up_lent(void **state)
{
	struct scene *scene;

	set_up_linked(state);
	scene = *state;
	lend(&scene->peer, WINDOW, RAM_AT, 0x10000);
	return 0;
}

static uint64_t drops(const struct scene *scene, enum ntb_drop why)
{
	return scene->ntb.sides[0].drops[why];
}

/* --- identity and link --- */

static void it_is_what_the_driver_looks_for(void **state)
{
	struct scene *scene = *state;
	const struct pci_identity *identity = &scene->ntb.identity;

	assert_int_equal(client_read(&scene->lab, VFIO_PCI_CONFIG_REGION_INDEX, 0, 4), 0x148b1022);
	assert_int_equal(identity->bars[2].len_bytes, WINDOW_BYTES);
	assert_int_equal(identity->bars[4].len_bytes, WINDOW_BYTES);
	assert_int_equal(identity->vectors, 24);
	assert_int_equal(reg(&scene->lab, AMD_SIDEINFO_OFFSET), 0);
	assert_int_equal(reg(&scene->peer, AMD_SIDEINFO_OFFSET), AMD_SIDE_MASK);
	assert_int_equal(reg(&scene->lab, AMD_DBMASK_OFFSET), 0xffff);
	assert_int_equal(reg(&scene->lab, AMD_INTMASK_OFFSET), AMD_EVENT_INTMASK);
	assert_int_equal(reg(&scene->lab, 0x3ffc), 0);
}

static void each_sees_that_the_other_is_ready(void **state)
{
	struct scene *scene = *state;

	load_driver(&scene->lab);
	assert_int_equal(peer_reg(&scene->lab, AMD_SIDEINFO_OFFSET), 0);
	assert_false(scene->ntb.linked);
	load_driver(&scene->peer);
	assert_true(scene->ntb.linked);
	assert_int_equal(peer_reg(&scene->lab, AMD_SIDEINFO_OFFSET), AMD_SIDE_MASK | AMD_SIDE_READY);
	assert_int_equal(peer_reg(&scene->peer, AMD_SIDEINFO_OFFSET), AMD_SIDE_READY);
	/* Does what amd_deinit_side_info() does, and amd_clear_side_info_reg() for the other side. */
	set(&scene->lab, AMD_SIDEINFO_OFFSET, 0);
	assert_int_equal(peer_reg(&scene->peer, AMD_SIDEINFO_OFFSET), 0);
	set(&scene->lab, AMD_PEER_OFFSET + AMD_SIDEINFO_OFFSET, AMD_SIDE_MASK);
	assert_int_equal(reg(&scene->peer, AMD_SIDEINFO_OFFSET), AMD_SIDE_MASK);
}

static void a_cut_is_noticed_on_both_sides(void **state)
{
	struct scene *scene = *state;
	int lab = client_vector(&scene->lab, AMD_EVENT_VECTOR), peer = client_vector(&scene->peer, AMD_EVENT_VECTOR);

	ntb_cut(&scene->ntb);
	ntb_cut(&scene->ntb);
	assert_int_equal(raised(lab), 1);
	assert_int_equal(raised(peer), 1);
	assert_int_equal(reg(&scene->lab, AMD_INTSTAT_OFFSET), AMD_LINK_DOWN_EVENT);
	set(&scene->lab, AMD_INTSTAT_OFFSET, AMD_LINK_DOWN_EVENT);
	assert_int_equal(reg(&scene->lab, AMD_INTSTAT_OFFSET), 0);
	assert_int_equal(peer_reg(&scene->lab, AMD_SIDEINFO_OFFSET), 0);
	ntb_mend(&scene->ntb);
	assert_int_equal(raised(lab), 1);
	assert_int_equal(reg(&scene->lab, AMD_INTSTAT_OFFSET), AMD_LINK_UP_EVENT);
	assert_int_equal(reg(&scene->peer, AMD_INTSTAT_OFFSET), AMD_LINK_UP_EVENT);
	assert_int_equal(peer_reg(&scene->lab, AMD_SIDEINFO_OFFSET), AMD_SIDE_MASK | AMD_SIDE_READY);
	close(lab);
	close(peer);
}

static void a_masked_event_is_forgotten(void **state)
{
	struct scene *scene = *state;
	int lab = client_vector(&scene->lab, AMD_EVENT_VECTOR);

	set(&scene->lab, AMD_INTSTAT_OFFSET, AMD_LINK_UP_EVENT);
	set(&scene->lab, AMD_INTMASK_OFFSET, AMD_EVENT_INTMASK);
	ntb_cut(&scene->ntb);
	set(&scene->lab, AMD_INTMASK_OFFSET, 0);
	assert_int_equal(raised(lab), 0);
	assert_int_equal(reg(&scene->lab, AMD_INTSTAT_OFFSET), 0);
	close(lab);
}

static void a_machine_that_dies_takes_the_link_along(void **state)
{
	struct scene *scene = *state;
	int lab = client_vector(&scene->lab, AMD_EVENT_VECTOR);

	client_disconnect(&scene->peer);
	assert_int_equal(raised(lab), 1);
	assert_int_equal(reg(&scene->lab, AMD_INTSTAT_OFFSET), AMD_LINK_DOWN_EVENT);
	assert_int_equal(peer_reg(&scene->lab, AMD_SIDEINFO_OFFSET), 0);
	client_boot(&scene->peer, &scene->ntb.sides[1].server);
	assert_int_equal(raised(lab), 0);
	load_driver(&scene->peer);
	assert_int_equal(raised(lab), 1);
	assert_int_equal(reg(&scene->lab, AMD_INTSTAT_OFFSET), AMD_LINK_UP_EVENT);
	close(lab);
}

/* --- scratchpads and doorbells --- */

static void scratchpads_are_shared(void **state)
{
	struct scene *scene = *state;

	for (uint32_t i = 0; i < 16; i++)
		set(i % 2 ? &scene->lab : &scene->peer, AMD_SPAD_OFFSET + 4 * i, 0x1000 + i);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(reg(i % 2 ? &scene->peer : &scene->lab, AMD_SPAD_OFFSET + 4 * i), 0x1000 + i);
	assert_int_equal(reg(&scene->lab, AMD_SPAD_OFFSET + 64), 0);
}

/* The primary's are the first eight. */
static void a_cut_leaves_each_its_own_scratchpads(void **state)
{
	struct scene *scene = *state;

	set(&scene->lab, AMD_SPAD_OFFSET, 1);
	set(&scene->lab, AMD_SPAD_OFFSET + 0x20, 2);
	ntb_cut(&scene->ntb);
	assert_int_equal(reg(&scene->lab, AMD_SPAD_OFFSET), 1);
	assert_int_equal(reg(&scene->peer, AMD_SPAD_OFFSET), 0);
	assert_int_equal(reg(&scene->peer, AMD_SPAD_OFFSET + 0x20), 2);
	assert_int_equal(reg(&scene->lab, AMD_SPAD_OFFSET + 0x20), 0);
	set(&scene->lab, AMD_SPAD_OFFSET + 0x20, 3);
	assert_int_equal(reg(&scene->peer, AMD_SPAD_OFFSET + 0x20), 2);
}

static void doorbells_ring_on_the_other_side(void **state)
{
	struct scene *scene = *state;
	int bells[2] = { client_vector(&scene->peer, 0), client_vector(&scene->peer, 15) };
	int own = client_vector(&scene->lab, 0);

	client_write(&scene->peer, 0, AMD_DBMASK_OFFSET, 0, 2);
	client_write(&scene->lab, 0, AMD_DBREQ_OFFSET, 0x8001, 2);
	assert_int_equal(raised(bells[0]), 1);
	assert_int_equal(raised(bells[1]), 1);
	assert_int_equal(raised(own), 0);
	assert_int_equal(client_read(&scene->peer, 0, AMD_DBSTAT_OFFSET, 2), 0x8001);
	assert_int_equal(client_read(&scene->lab, 0, AMD_DBSTAT_OFFSET, 2), 0);
	client_write(&scene->peer, 0, AMD_DBSTAT_OFFSET, 1, 2);
	assert_int_equal(client_read(&scene->peer, 0, AMD_DBSTAT_OFFSET, 2), 0x8000);
	assert_int_equal(scene->ntb.sides[0].doorbells, 1);
	close(bells[0]);
	close(bells[1]);
	close(own);
}

static void masked_doorbells_are_heard_later(void **state)
{
	struct scene *scene = *state;
	int bell = client_vector(&scene->peer, 3);

	client_write(&scene->lab, 0, AMD_DBREQ_OFFSET, 8, 2);
	assert_int_equal(raised(bell), 0);
	client_write(&scene->peer, 0, AMD_DBMASK_OFFSET, 0xfff7, 2);
	assert_int_equal(raised(bell), 1);
	client_write(&scene->peer, 0, AMD_DBMASK_OFFSET, 0xfff7, 2);
	assert_int_equal(raised(bell), 0);
	client_write(&scene->peer, 0, AMD_DBSTAT_OFFSET, 8, 2);
	client_write(&scene->peer, 0, AMD_DBMASK_OFFSET, 0xffff, 2);
	client_write(&scene->peer, 0, AMD_DBMASK_OFFSET, 0, 2);
	assert_int_equal(raised(bell), 0);
	close(bell);
}

static void a_cut_silences_doorbells(void **state)
{
	struct scene *scene = *state;

	ntb_cut(&scene->ntb);
	client_write(&scene->lab, 0, AMD_DBREQ_OFFSET, 1, 2);
	assert_int_equal(client_read(&scene->peer, 0, AMD_DBSTAT_OFFSET, 2), 0);
	assert_int_equal(scene->ntb.sides[0].doorbells, 0);
}

/* --- windows --- */

static void writes_land_in_the_memory_that_was_lent(void **state)
{
	struct scene *scene = *state;

	client_write(&scene->lab, WINDOW, 0x8000, 0x1122334455667788, 8);
	assert_int_equal(*(uint64_t *)(scene->peer.ram + 0x8000), 0x1122334455667788);
	scene->peer.ram[0] = 0x5a;
	assert_int_equal(client_read(&scene->lab, WINDOW, 0, 1), 0x5a);
	assert_int_equal(scene->ntb.sides[0].areas[0].bytes[NTB_WRITE], 8);
	assert_int_equal(scene->ntb.sides[0].areas[0].bytes[NTB_READ], 1);
	assert_int_equal(scene->ntb.sides[1].areas[0].bytes[NTB_WRITE], 0);
}

static void each_window_leads_elsewhere(void **state)
{
	struct scene *scene = *state;

	lend(&scene->peer, WINDOW2, RAM_AT + 0x20000, 0x1000);
	lend(&scene->lab, WINDOW, RAM_AT + 0x30000, 0x1000);
	client_write(&scene->lab, WINDOW, 0, 0x11, 1);
	client_write(&scene->lab, WINDOW2, 0, 0x22, 1);
	client_write(&scene->peer, WINDOW, 0, 0x33, 1);
	assert_int_equal(scene->peer.ram[0], 0x11);
	assert_int_equal(scene->peer.ram[0x20000], 0x22);
	assert_int_equal(scene->lab.ram[0x30000], 0x33);
}

static void nothing_passes_beyond_the_limit(void **state)
{
	struct scene *scene = *state;

	client_write(&scene->lab, WINDOW, 0x10000 - 4, UINT64_MAX, 8);
	client_write(&scene->lab, WINDOW, 0x10000, UINT64_MAX, 8);
	client_write(&scene->lab, WINDOW, WINDOW_BYTES - 8, UINT64_MAX, 8);
	assert_int_equal(client_read(&scene->lab, WINDOW, 0x10000, 4), 0xffffffff);
	assert_int_equal(drops(scene, NTB_BEYOND_LIMIT), 4);
	for (size_t i = 0; i < RAM_BYTES; i++)
		assert_int_equal(scene->peer.ram[i], 0);
	client_write(&scene->lab, WINDOW, 0x10000 - 8, UINT64_MAX, 8);
	assert_int_equal(scene->peer.ram[0xffff], 0xff);
}

static void a_limit_of_nothing_lends_nothing(void **state)
{
	struct scene *scene = *state;

	client_write(&scene->lab, WINDOW2, 0, 1, 1);
	lend(&scene->peer, WINDOW, 0, 0);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(drops(scene, NTB_BEYOND_LIMIT), 2);
}

/* A limit beyond the memory, and an address from which on there is no more. */
static void what_is_no_memory_takes_nothing(void **state)
{
	struct scene *scene = *state;

	lend(&scene->peer, WINDOW, RAM_AT + RAM_BYTES - 4, UINT64_MAX);
	client_write(&scene->lab, WINDOW, 0, 0x1122334455667788, 8);
	assert_int_equal(*(uint32_t *)(scene->peer.ram + RAM_BYTES - 4), 0x55667788);
	assert_int_equal(drops(scene, NTB_NO_MEMORY), 1);
	assert_int_equal(client_read(&scene->lab, WINDOW, 0, 8), 0xffffffff55667788);
	lend(&scene->peer, WINDOW, UINT64_MAX - 3, UINT64_MAX);
	client_write(&scene->lab, WINDOW, 0, 1, 8);
	assert_int_equal(client_unmap(&scene->peer, RAM_AT, RAM_BYTES), 0);
	lend(&scene->peer, WINDOW, RAM_AT, 0x1000);
	client_write(&scene->lab, WINDOW, 0, 1, 8);
	assert_true(drops(scene, NTB_NO_MEMORY) >= 4);
}

/* The driver's end takes the leave to be bus master away. */
static void nothing_passes_without_leave(void **state)
{
	struct scene *scene = *state;

	client_be_master(&scene->peer, false);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(client_read(&scene->lab, WINDOW, 0, 1), 0xff);
	assert_int_equal(drops(scene, NTB_NO_MASTER), 2);
	client_be_master(&scene->lab, false);
	client_be_master(&scene->peer, true);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(scene->peer.ram[0], 1);
}

static void nothing_passes_a_cut(void **state)
{
	struct scene *scene = *state;

	ntb_cut(&scene->ntb);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(client_read(&scene->lab, WINDOW, 0, 1), 0xff);
	assert_int_equal(drops(scene, NTB_NO_LINK), 2);
	ntb_mend(&scene->ntb);
	client_write(&scene->lab, WINDOW, 0, 2, 1);
	assert_int_equal(scene->peer.ram[0], 2);
}

/* Else the peer would reach this memory when the cable works again, when it may have another owner. */
static void what_was_lent_can_be_taken_back_during_a_cut(void **state)
{
	struct scene *scene = *state;

	ntb_cut(&scene->ntb);
	lend(&scene->peer, WINDOW, 0, 0);
	ntb_mend(&scene->ntb);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(scene->peer.ram[0], 0);
	assert_int_equal(drops(scene, NTB_BEYOND_LIMIT), 1);
}

/* A side cannot help itself. */
static void nobody_lends_to_himself(void **state)
{
	struct scene *scene = *state;

	client_write(&scene->lab, 0, AMD_BAR23XLAT_OFFSET, 0, 8);
	client_write(&scene->lab, 0, AMD_BAR23LMT_OFFSET, UINT64_MAX, 8);
	assert_int_equal(client_read(&scene->lab, 0, AMD_BAR23XLAT_OFFSET, 8), RAM_AT);
	assert_int_equal(client_read(&scene->lab, 0, AMD_BAR23LMT_OFFSET, 8), 0x10000);
}

static void a_reset_ends_what_was_lent(void **state)
{
	struct scene *scene = *state;

	lend(&scene->lab, WINDOW, RAM_AT, 0x1000);
	assert_int_equal(client_call(&scene->peer, VFU_RESET, NULL, 0), 0);
	assert_false(scene->ntb.linked);
	client_be_master(&scene->peer, true);
	load_driver(&scene->peer);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(drops(scene, NTB_BEYOND_LIMIT), 1);
	/* Memory that was lent to it stays reachable. */
	client_write(&scene->peer, WINDOW, 0, 7, 1);
	assert_int_equal(scene->lab.ram[0], 7);
}

static void the_memory_of_the_dead_is_not_reached(void **state)
{
	struct scene *scene = *state;

	client_disconnect(&scene->peer);
	client_boot(&scene->peer, &scene->ntb.sides[1].server);
	load_driver(&scene->peer);
	client_write(&scene->lab, WINDOW, 0, 1, 1);
	assert_int_equal(drops(scene, NTB_BEYOND_LIMIT), 1);
	assert_int_equal(scene->peer.ram[0], 0);
}

static void accesses_of_any_length_pass(void **state)
{
	struct scene *scene = *state;
	uint8_t block[4096];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = i * 7;
	assert_int_equal(client_try_write(&scene->lab, WINDOW, 0x100, block, sizeof(block)), 0);
	assert_memory_equal(scene->peer.ram + 0x100, block, sizeof(block));
	assert_int_equal(client_read(&scene->lab, WINDOW, 0x101, 4), 0x1c150e07);
	assert_int_equal(reg(&scene->lab, AMD_SIDEINFO_OFFSET + 2), 0);
	assert_int_equal(client_read(&scene->lab, 0, AMD_BAR23XLAT_OFFSET + 2, 4), RAM_AT >> 16);
}

/* --- a malicious peer --- */

#define LENT_AT 0x10000
#define LENT_BYTES 0x1000

static void random_access(struct client *client)
{
	static const uint32_t bars[] = { 0, 0, WINDOW, WINDOW2 };
	uint32_t bar = bars[random() % 4], len_bytes = 1 << random() % 4;
	uint64_t bytes = bar ? 2 * LENT_BYTES : 0x900, value = random() % 2 ? (uint64_t)random() << 31 ^ random() : 0;

	if (random() % 2)
		client_write(client, bar, random() % bytes, value, len_bytes);
	else
		client_read(client, bar, random() % bytes, len_bytes);
}

static bool outside_is_untouched(const uint8_t *ram)
{
	for (size_t i = 0; i < RAM_BYTES; i++)
		if (ram[i] && (i < LENT_AT || i >= LENT_AT + LENT_BYTES))
			return false;
	return true;
}

/* Whatever the peer writes to its registers and windows, it reaches only memory that the other side lent. */
static void only_what_was_lent_is_reached(void **state)
{
	struct scene *scene = *state;

	srandom(14);
	lend(&scene->peer, WINDOW, RAM_AT + LENT_AT, LENT_BYTES);
	for (int i = 0; i < 20000; i++)
		random_access(&scene->lab);
	assert_true(scene->ntb.sides[0].areas[0].bytes[NTB_WRITE] > LENT_BYTES);
	assert_true(scene->ntb.sides[0].areas[0].bytes[NTB_READ] > LENT_BYTES);
	assert_true(drops(scene, NTB_BEYOND_LIMIT) > 1000);
	assert_true(outside_is_untouched(scene->peer.ram));
	assert_int_equal(client_read(&scene->peer, 0, AMD_PEER_OFFSET + AMD_BAR23XLAT_OFFSET, 8), RAM_AT + LENT_AT);
}

/* --- counts and trace --- */

static char *counts_of(const struct ntb *ntb)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	assert_non_null(file);
	ntb_counts(ntb, file);
	fclose(file);
	return text;
}

static void every_byte_is_counted(void **state)
{
	struct scene *scene = *state;
	int bar = memory_file(0x10000);
	char *counts;

	/* Another file of the peer's, such as a BAR; the limit lies behind it. */
	assert_int_equal(client_map(&scene->peer, bar, 0, 0x40000000, 0x10000), 0);
	strcpy(scene->ntb.sides[1].server.dma.memories->name, "gpu.bar");
	lend(&scene->peer, WINDOW2, 0x40000000, 0x10000);
	for (int i = 0; i < 100; i++)
		client_write(&scene->lab, WINDOW2, 8 * i, i, 8);
	client_write(&scene->lab, WINDOW, 0, 1, 4);
	client_read(&scene->lab, WINDOW2, 0, 2);
	client_write(&scene->lab, WINDOW, WINDOW_BYTES - 4, 1, 4);
	client_write(&scene->lab, 0, AMD_DBREQ_OFFSET, 1, 2);
	counts = counts_of(&scene->ntb);
	assert_string_equal(counts, "link up\n"
		"lab read gpu.bar 2\nlab write gpu.bar 800\nlab read ram 0\nlab write ram 4\n"
		"lab dropped no-link 0\nlab dropped beyond-limit 1\nlab dropped no-master 0\nlab dropped no-memory 0\n"
		"lab doorbells 1\n"
		"peer dropped no-link 0\npeer dropped beyond-limit 0\npeer dropped no-master 0\npeer dropped no-memory 0\n"
		"peer doorbells 0\n");
	free(counts);
	close(bar);
}

static void the_trace_has_one_line_for_a_run(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 100; i++)
		client_write(&scene->lab, WINDOW, 8 * i, i, 8);
	client_write(&scene->lab, WINDOW, 0x1000, 1, 4);
	client_write(&scene->lab, 0, AMD_DBREQ_OFFSET, 6, 2);
	client_read(&scene->lab, WINDOW, 0, 2);
	ntb_cut(&scene->ntb);
	fflush(scene->ntb.trace);
	assert_string_equal(scene->trace, "ntb_link lab 0x1\n"
		"ntb_write lab ram 0x100000 800\nntb_write lab ram 0x101000 4\nntb_doorbell lab 0x6\n"
		"ntb_read lab ram 0x100000 2\nntb_link lab 0\n");
}

static void areas_are_many(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < NTB_AREAS + 4; i++) {
		snprintf(scene->ntb.sides[1].server.dma.memories->name, DMA_NAME_LEN, "file%d", i);
		client_write(&scene->lab, WINDOW, 0, 1, 4);
	}
	assert_string_equal(scene->ntb.sides[0].areas[NTB_AREAS - 1].name, "file15");
	assert_int_equal(scene->ntb.sides[0].areas[NTB_AREAS - 1].bytes[NTB_WRITE], 5 * 4);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define LINKED(name)	cmocka_unit_test_setup_teardown(name, set_up_linked, tear_down)
#define LENT(name)	cmocka_unit_test_setup_teardown(name, set_up_lent, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_what_the_driver_looks_for), TEST(each_sees_that_the_other_is_ready),
		LINKED(a_cut_is_noticed_on_both_sides), LINKED(a_masked_event_is_forgotten),
		LINKED(a_machine_that_dies_takes_the_link_along), LINKED(scratchpads_are_shared),
		LINKED(a_cut_leaves_each_its_own_scratchpads), LINKED(doorbells_ring_on_the_other_side),
		LINKED(masked_doorbells_are_heard_later), LINKED(a_cut_silences_doorbells),
		LENT(writes_land_in_the_memory_that_was_lent), LENT(each_window_leads_elsewhere),
		LENT(nothing_passes_beyond_the_limit), LENT(a_limit_of_nothing_lends_nothing),
		LENT(what_is_no_memory_takes_nothing), LENT(nothing_passes_without_leave), LENT(nothing_passes_a_cut),
		LENT(what_was_lent_can_be_taken_back_during_a_cut), LENT(nobody_lends_to_himself), LENT(a_reset_ends_what_was_lent), LENT(the_memory_of_the_dead_is_not_reached),
		LENT(accesses_of_any_length_pass), LINKED(only_what_was_lent_is_reached), LENT(every_byte_is_counted), LENT(the_trace_has_one_line_for_a_run),
		LENT(areas_are_many),
	};

	return cmocka_run_group_tests_name("ntb", tests, NULL, NULL);
}
