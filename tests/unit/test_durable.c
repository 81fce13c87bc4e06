// SPDX-License-Identifier: Apache-2.0
/* When a flush that succeeds makes nothing durable: what each block device of a drive says of its cache. */
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "drive/stack.h"
#include "fake_sysfs.h"
#include "says.h"
#include "unit.h"

static const struct dnd_drive plain = {
	.blockdev = { .disk = "nvme0n1", .controller_count = 1, .controller_names = { "nvme0" } },
};

/* write_cache and fua of the device whose folder is @folder. */
static void says_of_itself(struct fake *fake, const char *folder, const char *cache, const char *fua)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/queue/write_cache", folder);
	fake_file(fake, path, cache);
	snprintf(path, sizeof(path), "%s/queue/fua", folder);
	fake_file(fake, path, fua);
}

static void not_durable(struct fake *fake, const struct dnd_drive *drive, const char *why)
{
	struct dnd_doubt doubt;

	assert_false(dnd_drive_is_durable(fake->ctx, drive, &doubt));
	assert_says(doubt.text, why);
}

static void is_durable(struct fake *fake, const struct dnd_drive *drive)
{
	struct dnd_doubt doubt;

	assert_true(dnd_drive_is_durable(fake->ctx, drive, &doubt));
	assert_string_equal(doubt.text, "");
}

static void drive_and_kernel_agree(void **state)
{
	struct fake *fake = *state;

	says_of_itself(fake, "block/nvme0n1", "write back", "1");
	is_durable(fake, &plain);
	says_of_itself(fake, "block/nvme0n1", "write through", "0");	/* it has no cache that a power cut empties */
	is_durable(fake, &plain);
}

static void kernel_was_told_otherwise(void **state)
{
	struct fake *fake = *state;

	says_of_itself(fake, "block/nvme0n1", "write through", "1");
	not_durable(fake, &plain, "nvme0n1 has a volatile write cache, and is not flushed: "
		    "/sys/block/nvme0n1/queue/write_cache says 'write through'");
}

static void nobody_says(void **state)
{
	not_durable(*state, &plain, "whether nvme0n1 is flushed is not known: /sys/block/nvme0n1/queue");
}

/* Each path of a drive has a queue of its own, below the drive's. */
static void each_path_is_asked(void **state)
{
	struct dnd_drive drive = plain;
	struct fake *fake = *state;

	drive.blockdev.multipath = true;
	drive.blockdev.controller_count = 2;
	strcpy(drive.blockdev.controller_names[1], "nvme3");
	says_of_itself(fake, "block/nvme0n1", "write back", "1");
	says_of_itself(fake, "class/nvme/nvme0/nvme0c0n1", "write back", "1");
	says_of_itself(fake, "class/nvme/nvme3/nvme0c3n1", "write back", "1");
	is_durable(fake, &drive);
	says_of_itself(fake, "class/nvme/nvme3/nvme0c3n1", "write through", "1");
	not_durable(fake, &drive, "nvme0c3n1 has a volatile write cache");
}

/* A volume on an array on drives. */
static void each_level_is_asked(void **state)
{
	static struct dnd_stack stack;
	struct dnd_drive drive = { .blockdev = { .disk = "dm-0", .stack = &stack } };
	struct fake *fake = *state;

	stack.node_count = 2;
	stack.nodes[0].device = makedev(9, 0);
	stack.nodes[1].device = 0;
	stack.leg_count = 1;
	stack.legs[0].blockdev = plain.blockdev;
	fake_folder(fake, "devices/virtual/block/md0");
	fake_link(fake, "dev/block/9:0", "devices/virtual/block/md0");
	says_of_itself(fake, "block/dm-0", "write back", "1");
	says_of_itself(fake, "block/md0", "write back", "1");
	says_of_itself(fake, "block/nvme0n1", "write back", "1");
	is_durable(fake, &drive);
	says_of_itself(fake, "block/md0", "write through", "1");
	not_durable(fake, &drive, "md0 has a volatile write cache");
	says_of_itself(fake, "block/md0", "write back", "1");
	says_of_itself(fake, "block/nvme0n1", "write through", "1");
	not_durable(fake, &drive, "nvme0n1 has a volatile write cache");
	says_of_itself(fake, "block/dm-0", "write through", "1");
	not_durable(fake, &drive, "dm-0 has a volatile write cache");
	says_of_itself(fake, "block/dm-0", "write back", "1");
	says_of_itself(fake, "block/nvme0n1", "write back", "1");
	is_durable(fake, &drive);
	stack.nodes[1].device = makedev(9, 1);
	not_durable(fake, &drive, "9:1 is flushed is not known");
}

/* A volume that was activated while its leg said 'write through', before Linux 6.11. */
static void passes_no_flush_on(void **state)
{
	static struct dnd_stack stack;
	struct dnd_drive drive = { .blockdev = { .disk = "dm-0", .stack = &stack } };
	struct fake *fake = *state;

	stack.top = 2;
	stack.node_count = 3;
	stack.nodes[0] = (struct dnd_node){ .layout = DND_LAYOUT_LEG, .leg = 0 };
	stack.nodes[1] = (struct dnd_node){ .layout = DND_LAYOUT_LEG, .leg = 1 };
	stack.nodes[2] = (struct dnd_node){ .layout = DND_LAYOUT_LINEAR, .piece_count = 3 };
	stack.piece_count = 3;
	stack.pieces[0].node = DND_NO_NODE;
	stack.pieces[1].node = 0;
	stack.pieces[2].node = 1;
	stack.leg_count = 2;
	stack.legs[0].blockdev = plain.blockdev;
	stack.legs[1].blockdev = plain.blockdev;
	strcpy(stack.legs[1].blockdev.disk, "nvme1n1");
	says_of_itself(fake, "block/dm-0", "write through", "0");
	says_of_itself(fake, "block/nvme0n1", "write through", "0");
	says_of_itself(fake, "block/nvme1n1", "write back", "1");
	not_durable(fake, &drive, "dm-0 passes no flush on to nvme1n1, which has a volatile write cache: "
		    "/sys/block/dm-0/queue/write_cache says 'write through'");
	says_of_itself(fake, "block/nvme1n1", "write through", "0");
	is_durable(fake, &drive);
	says_of_itself(fake, "block/nvme1n1", "write back", "1");
	says_of_itself(fake, "block/dm-0", "write back", "1");
	is_durable(fake, &drive);
}

/* For a file, its file system is examined first; a file without a listed mount counts as unknown. */
static void file_system_is_asked(void **state)
{
	struct dnd_drive drive = plain;
	struct fake *fake = *state;
	int pipes[2];

	says_of_itself(fake, "block/nvme0n1", "write back", "1");
	assert_int_equal(pipe(pipes), 0);
	drive.is_file = true;
	drive.fd = pipes[0];
	not_durable(fake, &drive, "whether its file system is mounted with nobarrier is not known");
	drive.fd = -1;
	not_durable(fake, &drive, "is not known");
	close(pipes[0]);
	close(pipes[1]);
}

#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FAKE(drive_and_kernel_agree), WITH_FAKE(kernel_was_told_otherwise), WITH_FAKE(nobody_says),
		WITH_FAKE(each_path_is_asked), WITH_FAKE(each_level_is_asked), WITH_FAKE(passes_no_flush_on),
		WITH_FAKE(file_system_is_asked),
	};

	return cmocka_run_group_tests_name("durable", tests, NULL, NULL);
}
