// SPDX-License-Identifier: Apache-2.0
/* A leg of a mirror that has not got what the proof wrote: the look at the array may excuse it, but not hide it. */
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"
#include "drive/stack.h"
#include "fake_sysfs.h"
#include "join/join.h"

#define BLOCK	4096U
#define BYTES	(16U * BLOCK)

/* The mirror's own file, of which leg 1 is another name, and the file of leg 0, which gets no writes. */
static int top_fd, lossy_fd;

int __wrap_dnd_drive_open_leg(const struct donard_context *ctx, const struct dnd_drive *drive, size_t leg, const char *path,
			      struct dnd_drive *leg_drive);
int __wrap_dnd_drive_open_leg(const struct donard_context *ctx, const struct dnd_drive *drive, size_t leg, const char *path,
			      struct dnd_drive *leg_drive)
{
	(void)ctx, (void)drive;
	*leg_drive = (struct dnd_drive){ .path = path, .fd = dup(leg ? top_fd : lossy_fd), .size_bytes = BYTES };
	return 0;
}

int __wrap_dnd_join_probe(struct dnd_join *join);
int __wrap_dnd_join_probe(struct dnd_join *join)
{
	(void)join;
	return 0;
}

/* The result of the check for changes. */
static enum dnd_change played_change;
static int played_rc;
static uint32_t played_left;

enum dnd_change __wrap_dnd_drive_look_again(struct donard_context *ctx, const struct dnd_drive *drive, int *rc);
enum dnd_change __wrap_dnd_drive_look_again(struct donard_context *ctx, const struct dnd_drive *drive, int *rc)
{
	*rc = played_rc ? dnd_fail_errno(ctx, -played_rc, "md0: cannot be looked at") : 0;
	drive->blockdev.stack->left = played_left;
	return played_change;
}

static int file_of(const uint8_t *bytes)
{
	char path[] = "/var/tmp/donard-legs-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, bytes, BYTES), BYTES);
	return fd;
}

/* raid1 of two legs, whose routes to read by are proven already. */
static struct dnd_stack mirror(void)
{
	return (struct dnd_stack){
		.leg_count = 2, .node_count = 3, .piece_count = 2, .top = 2, .mirrored = true,
		.legs = {
			{ .name = "nvme0n1", .under = "md0", .blockdev = { .length_bytes = BYTES } },
			{ .name = "nvme1n1", .under = "md0", .blockdev = { .length_bytes = BYTES } },
		},
		.nodes = {
			{ .layout = DND_LAYOUT_LEG, .leg = 0 }, { .layout = DND_LAYOUT_LEG, .leg = 1 },
			{ .layout = DND_LAYOUT_CHUNKS, .piece_count = 2, .chunk_bytes = UINT64_MAX, .copies = 2 },
		},
		.pieces = { { .node = 0, .length_bytes = BYTES }, { .node = 1, .length_bytes = BYTES } },
	};
}

static int prove(struct fake *fake, bool *proven)
{
	struct dnd_stack stack = mirror();
	struct dnd_region region = { .fd = -1, .name = "p2pmem0" };
	struct dnd_drive drive = {
		.path = "/dev/md0", .fd = top_fd, .size_bytes = BYTES, .blockdev = { .stack = &stack, .disk = "md0" },
	};
	struct dnd_join join = {
		.ctx = fake->ctx, .region = &region, .drive = &drive, .align = BLOCK, .legs = { .read = 3 },
		.cached = DND_CACHED_NOT,	/* these files have no direct I/O */
	};
	const struct dnd_proof proof = { .blocks = 1 };
	uint8_t *memory = aligned_alloc(BLOCK, 3 * BLOCK);
	const struct dnd_place from = { .address = memory };
	const struct dnd_place spare = { .address = memory + BLOCK };
	int rc;

	dnd_nonce(memory, BLOCK);
	*proven = true;
	rc = dnd_join_prove_write(&join, &proof, &from, &spare, proven);
	free(memory);
	return rc;
}

static void lost_on_one_leg(void **state)
{
	static const struct {
		enum dnd_change change;
		int look;
		uint32_t left;
		int rc;
		bool proven;
	} trials[] = {
		{ DND_UNCHANGED, 0, 0, -EBADMSG, false },
		{ DND_LEGS_LEFT, 0, 1, 0, true },		/* itself */
		{ DND_LEGS_LEFT, 0, 2, -EBADMSG, false },	/* the other one */
		{ DND_CHANGED, 0, 0, 0, false },
		{ DND_CHANGED, -EMFILE, 0, -EMFILE, false },	/* nobody could look */
	};
	struct fake *fake = *state;
	uint8_t bytes[BYTES];

	dnd_nonce(bytes, BYTES);
	top_fd = file_of(bytes);
	lossy_fd = file_of(bytes);
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		bool proven;

		played_change = trials[i].change;
		played_rc = trials[i].look;
		played_left = trials[i].left;
		assert_int_equal(prove(fake, &proven), trials[i].rc);
		assert_true(trials[i].rc || proven == trials[i].proven);
		if (trials[i].rc == -EBADMSG)
			assert_string_equal(donard_error_code(fake->ctx), "not-delivered");
	}
	close(top_fd);
	close(lossy_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lost_on_one_leg, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("legs", tests, NULL, NULL);
}
