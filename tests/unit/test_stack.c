// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unit.h"
#include "drive/blockdev.h"
#include "drive/stack.h"
#include "fake_sysfs.h"
#include "join/join.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)

static void text_file(struct fake *fake, const char *value, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fake_file(fake, path, value);
}

/* A block device without a drive: 9:MINOR for md, 253:MINOR for device-mapper. */
static void disk(struct fake *fake, const char *name, int number, int minor_number)
{
	char path[128], target[128], device[32];

	snprintf(target, sizeof(target), "devices/virtual/block/%s", name);
	snprintf(device, sizeof(device), "%d:%d", number, minor_number);
	text_file(fake, "262144", "%s/size", target);
	text_file(fake, device, "%s/dev", target);
	text_file(fake, "512", "%s/queue/logical_block_size", target);
	text_file(fake, "512", "%s/queue/max_sectors_kb", target);
	snprintf(path, sizeof(path), "block/%s", name);
	fake_link(fake, path, target);
	snprintf(path, sizeof(path), "dev/block/%s", device);
	fake_link(fake, path, target);
}

/* Another time it changes the array that is there. */
static void array(struct fake *fake, const char *level, const char *disks, const char *chunk,
		  const char *layout)
{
	const char *md = "devices/virtual/block/md0/md";

	if (!dnd_sysfs_exists(fake->ctx, "block/md0")) {
		disk(fake, "md0", 9, 0);
		fake_nvme(fake, 0, "0000:01:00.0");
		fake_nvme(fake, 1, "0000:02:00.0");
	}
	text_file(fake, level, "%s/level", md);
	text_file(fake, disks, "%s/raid_disks", md);
	text_file(fake, chunk, "%s/chunk_size", md);
	text_file(fake, layout, "%s/layout", md);
	text_file(fake, "clean", "%s/array_state", md);
	text_file(fake, "idle", "%s/sync_action", md);
	text_file(fake, "none", "%s/reshape_position", md);
}

/* The partition of nvmeN, from 1 MiB of it on. */
static void member(struct fake *fake, int drive, const char *slot, const char *state, const char *kib)
{
	char folder[128], number[32];

	snprintf(folder, sizeof(folder), "devices/virtual/block/md0/md/dev-nvme%dn1p1", drive);
	snprintf(number, sizeof(number), "259:%d", drive * 16 + 1);
	text_file(fake, slot, "%s/slot", folder);
	text_file(fake, state, "%s/state", folder);
	text_file(fake, "2048", "%s/offset", folder);
	text_file(fake, kib, "%s/size", folder);
	text_file(fake, number, "%s/block/dev", folder);
}

static void two_members(struct fake *fake)
{
	member(fake, 0, "0", "in_sync", "64");
	member(fake, 1, "1", "in_sync", "64");
}

static int resolve(struct fake *fake, struct dnd_blockdev *blockdev)
{
	return dnd_blockdev_resolve(fake->ctx, makedev(9, 0), "/dev/md0", blockdev);
}

static void assert_refused(struct fake *fake, const char *code, const char *text)
{
	struct dnd_blockdev blockdev;

	assert_true(resolve(fake, &blockdev) < 0);
	assert_string_equal(donard_error_code(fake->ctx), code);
	if (!strstr(donard_error(fake->ctx), text))
		fail_msg("'%s' is not in: %s", text, donard_error(fake->ctx));
	assert_null(blockdev.stack);
}

static void assert_at(const struct dnd_stack *stack, uint64_t offset, size_t copy, int leg, uint64_t at)
{
	struct dnd_places places;

	dnd_stack_locate(stack, offset, &places);
	assert_true(copy < places.count);
	assert_int_equal(places.copies[copy].leg, leg);
	assert_int_equal(places.copies[copy].offset_bytes, at);
}

static void assert_run(const struct dnd_stack *stack, uint64_t offset, size_t copies, uint64_t run)
{
	struct dnd_places places;

	dnd_stack_locate(stack, offset, &places);
	assert_int_equal(places.count, copies);
	assert_int_equal(places.run_bytes, run);
}

static void striped_array(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	const char *name, *under;
	char text[DND_LEG_TEXT_BYTES];

	array(fake, "raid0", "2", "65536", "0");
	member(fake, 0, "0", "in_sync", "1048576");
	member(fake, 1, "1", "in_sync", "1048600");	/* as many whole chunks */
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_string_equal(blockdev.disk, "md0");
	assert_string_equal(blockdev.stack->kind, "raid0");
	assert_int_equal(dnd_blockdev_leg_count(&blockdev), 2);
	assert_int_equal(blockdev.request_bytes, 64 * KIB);	/* less than max_sectors_kb */
	assert_string_equal(dnd_blockdev_client(&blockdev, 1), "0000:02:00.0");
	assert_null(dnd_blockdev_client(&blockdev, 2));
	dnd_blockdev_leg_names(&blockdev, 1, &name, &under);
	assert_string_equal(name, "nvme1n1p1");
	assert_string_equal(under, "md0");
	assert_string_equal(dnd_blockdev_leg_text(&blockdev, 0, text), "leg nvme0n1p1 of md0");
	dnd_blockdev_release(&blockdev);
}

/* Beyond the ends of the small legs of the fake tree nothing is found. */
static void places_in_chunks(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	struct dnd_stack *stack;

	array(fake, "raid0", "2", "4096", "0");
	two_members(fake);
	assert_int_equal(resolve(fake, &blockdev), 0);
	stack = blockdev.stack;
	stack->legs[0].blockdev.length_bytes = stack->legs[1].blockdev.length_bytes = 64 * MIB;
	assert_at(stack, 0, 0, 0, MIB);
	assert_at(stack, 4096, 0, 1, MIB);
	assert_at(stack, 8192 + 5, 0, 0, MIB + 4096 + 5);
	assert_run(stack, 8192 + 5, 1, 4091);
	assert_run(stack, 1024 * MIB, 0, 4096);
	assert_int_equal(dnd_blockdev_legs_in_use(&blockdev), 3);
	dnd_blockdev_release(&blockdev);
}

static void mirrored(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	struct dnd_stack *stack;

	array(fake, "raid1", "3", "0", "0");
	two_members(fake);	/* of three: degraded */
	assert_int_equal(resolve(fake, &blockdev), 0);
	stack = blockdev.stack;
	stack->legs[0].blockdev.length_bytes = 64 * MIB;
	stack->legs[1].blockdev.length_bytes = 32 * MIB;
	assert_at(stack, 4096, 0, 0, MIB + 4096);
	assert_at(stack, 4096, 1, 1, MIB + 4096);
	assert_run(stack, 4096, 2, 31 * MIB - 4096);
	assert_false(stack->behind);
	assert_null(dnd_blockdev_bounce(&blockdev, true));
	dnd_blockdev_release(&blockdev);
}

static void near_copies(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	struct dnd_stack *stack;

	array(fake, "raid10", "3", "4096", "258");	/* near=2, far=1 */
	fake_nvme(fake, 2, "0000:03:00.0");
	two_members(fake);
	member(fake, 2, "2", "in_sync", "64");
	assert_int_equal(resolve(fake, &blockdev), 0);
	stack = blockdev.stack;
	for (int i = 0; i < 3; i++)
		stack->legs[i].blockdev.length_bytes = 64 * MIB;
	assert_at(stack, 0, 0, 0, MIB);
	assert_at(stack, 0, 1, 1, MIB);
	assert_at(stack, 4096, 0, 2, MIB);
	assert_at(stack, 4096, 1, 0, MIB + 4096);
	assert_at(stack, 8192, 0, 1, MIB + 4096);
	assert_at(stack, 8192, 1, 2, MIB + 4096);
	dnd_blockdev_release(&blockdev);
}

/* Which leg a byte is on is then not said, rather than guessed. */
static void irregular_layouts(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid10", "2", "4096", "513");	/* near=1, far=2 */
	two_members(fake);
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_run(blockdev.stack, 0, 0, UINT64_MAX);
	assert_int_equal(dnd_blockdev_legs_in_use(&blockdev), 3);
	dnd_blockdev_release(&blockdev);

	array(fake, "raid0", "2", "4096", "0");
	member(fake, 1, "1", "in_sync", "128");
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_run(blockdev.stack, 0, 0, UINT64_MAX);
	dnd_blockdev_release(&blockdev);
}

static void members_that_are_not_used(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid1", "2", "0", "0");
	member(fake, 0, "0", "in_sync", "64");
	member(fake, 1, "none", "faulty", "64");
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_int_equal(dnd_blockdev_leg_count(&blockdev), 1);
	dnd_blockdev_release(&blockdev);

	member(fake, 1, "none", "spare", "64");	/* a spare needs a route, since it may take over */
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_int_equal(dnd_blockdev_leg_count(&blockdev), 2);
	assert_int_equal(dnd_blockdev_legs_in_use(&blockdev), 1);
	dnd_blockdev_release(&blockdev);
}

static void write_behind(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid1", "2", "0", "0");
	member(fake, 0, "0", "in_sync", "64");
	member(fake, 1, "1", "in_sync,write_mostly", "64");
	fake_file(fake, "devices/virtual/block/md0/md/bitmap/backlog", "0");
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_null(dnd_blockdev_bounce(&blockdev, true));
	dnd_blockdev_release(&blockdev);

	fake_file(fake, "devices/virtual/block/md0/md/bitmap/backlog", "256");
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_non_null(dnd_blockdev_bounce(&blockdev, true));
	assert_null(dnd_blockdev_bounce(&blockdev, false));
	dnd_blockdev_release(&blockdev);
}

static void refused_arrays(void **state)
{
	struct fake *fake = *state;

	array(fake, "raid5", "3", "65536", "2");
	two_members(fake);
	assert_refused(fake, "unsupported", "level 'raid5', for which the CPU must see all data");
	array(fake, "linear", "2", "0", "0");
	assert_refused(fake, "unsupported", "level 'linear', which is not known to pass data on");
	array(fake, "raid0", "2", "65536", "0");
	fake_file(fake, "devices/virtual/block/md0/md/array_state", "inactive");
	assert_refused(fake, "unsupported", "does not run (inactive)");
	array(fake, "raid10", "2", "65536", "258");
	/* A reshape that was interrupted. */
	fake_file(fake, "devices/virtual/block/md0/md/sync_action", "frozen");
	fake_file(fake, "devices/virtual/block/md0/md/reshape_position", "2048");
	assert_refused(fake, "unsupported", "is being reshaped");
	array(fake, "raid1", "2", "0", "0");
	disk(fake, "sda", 8, 0);
	fake_file(fake, "devices/virtual/block/md0/md/dev-nvme1n1p1/block/dev", "8:0");
	assert_refused(fake, "not-nvme", "the leg sda of md0 is a SCSI, SATA or USB disk");
}

static void partition_of_an_array(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	fake_file(fake, "devices/virtual/block/md0/md0p1/partition", "1");
	fake_file(fake, "devices/virtual/block/md0/md0p1/start", "8");
	fake_file(fake, "devices/virtual/block/md0/md0p1/size", "64");
	fake_link(fake, "dev/block/259:99", "devices/virtual/block/md0/md0p1");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 99), "x", &blockdev), 0);
	blockdev.stack->legs[0].blockdev.length_bytes = 64 * MIB;
	blockdev.stack->legs[1].blockdev.length_bytes = 64 * MIB;
	assert_at(blockdev.stack, 512, 1, 1, MIB + 4096 + 512);
	assert_run(blockdev.stack, 512, 2, 64 * 512 - 512);
	assert_int_equal(blockdev.start_bytes, 4096);
	dnd_blockdev_release(&blockdev);
}

/* ---- device-mapper ---- */

static int devices_of(const char *type, const char *parameters, struct dnd_dm_device *devices, int max,
		      uint64_t *chunk)
{
	struct dnd_dm_target target = { .parameters = parameters };

	snprintf(target.type, sizeof(target.type), "%s", type);
	return dnd_dm_devices(&target, devices, max, chunk);
}

static void tables(void **state)
{
	struct dnd_dm_device devices[3];
	uint64_t chunk;

	(void)state;
	assert_int_equal(devices_of("linear", "259:3 2048", devices, 3, &chunk), 1);
	assert_string_equal(devices[0].number, "259:3");
	assert_int_equal(devices[0].from_bytes, MIB);
	assert_int_equal(chunk, 0);
	assert_int_equal(devices_of("striped", "2 128 259:3 0 259:70 8", devices, 3, &chunk), 2);
	assert_string_equal(devices[1].number, "259:70");
	assert_int_equal(devices[1].from_bytes, 4096);
	assert_int_equal(chunk, 64 * KIB);
	assert_int_equal(devices_of("striped", "4 128 259:3 0", devices, 3, &chunk), -E2BIG);
	assert_int_equal(devices_of("striped", "2 128 259:3 0", devices, 3, &chunk), -EINVAL);
	assert_int_equal(devices_of("striped", "2 0 259:3 0 259:4 0", devices, 3, &chunk), -EINVAL);
	assert_int_equal(devices_of("striped", "0 8", devices, 3, &chunk), -EINVAL);
	assert_int_equal(devices_of("linear", "", devices, 3, &chunk), -EINVAL);
}

/* The fake /dev has no mapper/control, so the table cannot be read. */
static void volume(struct fake *fake)
{
	disk(fake, "dm-3", 253, 3);
	fake_file(fake, "devices/virtual/block/dm-3/dm/name", "vg-data");
	fake_file(fake, "devices/virtual/block/dm-3/dm/suspended", "0");
	fake_nvme(fake, 0, "0000:01:00.0");
	fake_nvme(fake, 1, "0000:02:00.0");
	fake_file(fake, "devices/virtual/block/dm-3/slaves/nvme0n1p1/dev", "259:1");
	fake_file(fake, "devices/virtual/block/dm-3/slaves/nvme1n1p1/dev", "259:17");
	fake_file(fake, "module/dm_mod/refcnt", "3");
	fake_file(fake, "module/dm_mod/holders/dm_snapshot/x", "");
	fake_file(fake, "module/dm_mod/holders/dm_bufio/x", "");
	fake_file(fake, "module/dm_snapshot/refcnt", "0");
	fake_file(fake, "module/dm_bufio/refcnt", "1");
	fake_file(fake, "module/dm_bufio/holders/dm_snapshot/x", "");
}

static int resolve_volume(struct fake *fake, struct dnd_blockdev *blockdev)
{
	return dnd_blockdev_resolve(fake->ctx, makedev(253, 3), "/dev/vg/data", blockdev);
}

static void without_the_table(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	volume(fake);
	assert_int_equal(resolve_volume(fake, &blockdev), 0);
	assert_int_equal(dnd_blockdev_leg_count(&blockdev), 2);
	assert_string_equal(blockdev.stack->kind, "linear or striped");
	assert_run(blockdev.stack, 0, 0, UINT64_MAX);
	dnd_blockdev_release(&blockdev);

	fake_file(fake, "module/dm_snapshot/refcnt", "1");
	assert_int_equal(resolve_volume(fake, &blockdev), -EACCES);
	assert_non_null(strstr(donard_error(fake->ctx), "dm-3 (vg-data)"));
	assert_non_null(strstr(donard_error(fake->ctx), "/mapper/control, through which the kernel shows its table"));
	assert_null(strstr(donard_error(fake->ctx), "Run as root"));	/* which helps nobody without the node */
}

static void suspended_and_built_in(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	char path[128];

	volume(fake);
	fake_file(fake, "devices/virtual/block/dm-3/dm/suspended", "1");
	assert_int_equal(resolve_volume(fake, &blockdev), -EOPNOTSUPP);
	assert_non_null(strstr(donard_error(fake->ctx), "is suspended"));
	fake_file(fake, "devices/virtual/block/dm-3/dm/suspended", "0");
	/* Nothing is known if device-mapper is built into the kernel. */
	snprintf(path, sizeof(path), "%s/module/dm_mod/refcnt", fake->root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(resolve_volume(fake, &blockdev), -EACCES);
}

/* LVM on an array: the device is named after its own kind. */
static void array_below_a_volume(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	const char *name, *under;

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	disk(fake, "dm-3", 253, 3);
	fake_file(fake, "devices/virtual/block/dm-3/slaves/md0/dev", "9:0");
	fake_file(fake, "module/dm_mod/refcnt", "3");
	fake_folder(fake, "module/dm_mod/holders");
	assert_int_equal(resolve_volume(fake, &blockdev), 0);
	assert_string_equal(blockdev.stack->kind, "linear or striped");
	assert_true(dnd_blockdev_is_mirrored(&blockdev));
	assert_int_equal(dnd_blockdev_leg_count(&blockdev), 2);
	dnd_blockdev_leg_names(&blockdev, 0, &name, &under);
	assert_string_equal(under, "md0");
	dnd_blockdev_release(&blockdev);
}

/* However often a table names it, an array is looked at once. */
static void array_that_is_named_twice(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	disk(fake, "dm-3", 253, 3);
	fake_file(fake, "devices/virtual/block/dm-3/slaves/md0/dev", "9:0");
	fake_file(fake, "devices/virtual/block/dm-3/slaves/md0-again/dev", "9:0");
	fake_file(fake, "module/dm_mod/refcnt", "3");
	fake_folder(fake, "module/dm_mod/holders");
	assert_int_equal(resolve_volume(fake, &blockdev), 0);
	assert_int_equal(blockdev.stack->node_count, 4);	/* two legs, the array, the volume */
	assert_int_equal(blockdev.stack->piece_count, 4);
	dnd_blockdev_release(&blockdev);
}

/* LVM suspends a volume for a moment whenever it changes something. */
static void suspended_while_open(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(253, 3), .path = "/dev/vg/data" };
	int rc;

	volume(fake);
	assert_int_equal(resolve_volume(fake, &drive.blockdev), 0);
	fake_file(fake, "devices/virtual/block/dm-3/dm/suspended", "1");
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_UNCHANGED);
	fake_file(fake, "module/dm_snapshot/refcnt", "1");
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_CHANGED);
	assert_int_equal(rc, -EACCES);
	dnd_drive_close(&drive);
}

/* A daemon may open a volume and then give up the right to read its table: that changes nothing about the volume. */
static void table_is_told_no_more(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(253, 3), .path = "/dev/vg/data" };
	struct dnd_stack *stack;
	int rc;

	volume(fake);
	assert_int_equal(resolve_volume(fake, &drive.blockdev), 0);
	stack = drive.blockdev.stack;
	stack->untold = false;
	stack->nodes[stack->top].layout = DND_LAYOUT_LINEAR;
	strcpy(stack->kind, "linear");
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_LEGS_LEFT);
	assert_run(stack, 0, 0, UINT64_MAX);
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_UNCHANGED);
	assert_int_equal(dnd_blockdev_moves(&drive.blockdev), 0);
	dnd_drive_close(&drive);
}

/* Bytes that were written before lie where nothing leads to them now, and it is unknown whether the new leg flushes. */
static void leads_to_no_drive(void **state)
{
	static const char *const disks[] = { "virtual/block/dm-3", "pci/0000:01:00.0/nvme/nvme0/nvme0n1",
					     "pci/0000:02:00.0/nvme/nvme1/nvme1n1" };
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(253, 3), .path = "/dev/vg/data" };
	struct dnd_doubt doubt;
	char path[128];
	int rc;

	volume(fake);
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		snprintf(path, sizeof(path), "devices/%s/queue/write_cache", disks[i]);
		fake_file(fake, path, "write back");
		snprintf(path, sizeof(path), "devices/%s/queue/fua", disks[i]);
		fake_file(fake, path, "1");
	}
	assert_int_equal(resolve_volume(fake, &drive.blockdev), 0);
	assert_true(dnd_drive_is_durable_now(fake->ctx, &drive, &doubt));
	disk(fake, "sda", 8, 0);
	fake_file(fake, "devices/virtual/block/dm-3/slaves/nvme1n1p1/dev", "8:0");
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_CHANGED);
	assert_int_equal(rc, -ENOTBLK);
	assert_int_equal(dnd_blockdev_moves(&drive.blockdev), 1);
	assert_false(dnd_drive_is_durable_now(fake->ctx, &drive, &doubt));
	assert_non_null(strstr(doubt.text, "cannot read all of what it is made of now"));
	dnd_drive_close(&drive);
}

/* Writes go to the replacement, too, at an unknown place. */
static void replaced_leg(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_false(dnd_blockdev_is_replacing(&blockdev));
	dnd_blockdev_release(&blockdev);
	fake_nvme(fake, 2, "0000:03:00.0");
	member(fake, 2, "1", "in_sync,replacement", "64");
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_true(dnd_blockdev_is_replacing(&blockdev));
	assert_int_equal(dnd_blockdev_legs_in_use(&blockdev), 3);
	dnd_blockdev_release(&blockdev);
}

/* A mirror that lost a leg is not gone; an array without copies is. */
static void health_without_a_leg(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(9, 0), .path = "/dev/md0" };
	size_t leg = 9;

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	assert_int_equal(resolve(fake, &drive.blockdev), 0);
	fake_file(fake, "class/nvme/nvme0/state", "dead");
	assert_int_equal(dnd_blockdev_health(fake->ctx, &drive.blockdev, &leg), DND_HEALTH_GONE);
	assert_int_equal(leg, 0);
	member(fake, 0, "none", "faulty", "64");
	assert_int_equal(dnd_drive_lost(fake->ctx, &drive), 0);
	drive.blockdev.stack->mirrored = false;
	assert_int_equal(dnd_drive_lost(fake->ctx, &drive), -ENODEV);
	assert_non_null(strstr(donard_error(fake->ctx), "leg nvme0n1p1 of md0 went away"));
	dnd_drive_close(&drive);
}

/* The CPU reads the data for the checksums of one leg, unless it was told not to. */
static void protection_information(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	fake_file(fake, "block/nvme1n1/integrity/format", "T10-DIF-TYPE1-CRC");
	fake_file(fake, "block/nvme1n1/integrity/read_verify", "0");
	fake_file(fake, "block/nvme1n1/integrity/write_generate", "1");
	assert_int_equal(resolve(fake, &blockdev), 0);
	assert_null(dnd_blockdev_bounce(&blockdev, false));
	assert_non_null(strstr(dnd_blockdev_bounce(&blockdev, true)->cause, "protection information"));
	/* A file system on the array asks the array. */
	fake_file(fake, "block/nvme1n1/integrity/write_generate", "0");
	fake_file(fake, "block/md0/integrity/format", "T10-DIF-TYPE1-CRC");
	fake_file(fake, "block/md0/integrity/write_generate", "1");
	dnd_blockdev_read_integrity(fake->ctx, &blockdev);
	assert_non_null(dnd_blockdev_bounce(&blockdev, true));
	dnd_blockdev_release(&blockdev);
	/* A drive alone. */
	fake_file(fake, "block/nvme1n1/integrity/read_verify", "1");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 16), "x", &blockdev), 0);
	assert_non_null(dnd_blockdev_bounce(&blockdev, false));
	fake_file(fake, "block/nvme1n1/integrity/format", "nop");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 16), "x", &blockdev), 0);
	assert_null(dnd_blockdev_bounce(&blockdev, true));
}

/* A write to an array is a write to its legs. */
static void shared_bytes(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive on_array = { .fd = -1 }, leg = { .fd = -1 }, other = { .fd = -1 };

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	assert_int_equal(resolve(fake, &on_array.blockdev), 0);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 16), "x", &leg.blockdev), 0);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 1), "x", &other.blockdev), 0);
	for (size_t i = 0; i < 2; i++)
		on_array.blockdev.stack->legs[i].blockdev.length_bytes = 256 * MIB;
	leg.blockdev.length_bytes = 1024 * MIB;
	other.blockdev.length_bytes = 256 * MIB;
	assert_true(dnd_drive_overlap(&on_array, 0, &leg, 0, 4096));
	assert_true(dnd_drive_overlap(&other, 0, &on_array, 0, 4096));
	other.blockdev.start_bytes = 512 * MIB;
	assert_false(dnd_drive_overlap(&other, 0, &on_array, 0, 4096));
	/* Another disk of the leg's namespace. */
	snprintf(leg.blockdev.disk, sizeof(leg.blockdev.disk), "nvme2n1");
	assert_false(dnd_drive_overlap(&on_array, 0, &leg, 0, 4096));
	snprintf(leg.blockdev.medium, sizeof(leg.blockdev.medium), "1 of nqn");
	snprintf(on_array.blockdev.stack->legs[1].blockdev.medium, sizeof(leg.blockdev.medium), "1 of nqn");
	assert_true(dnd_drive_overlap(&on_array, 0, &leg, 0, 4096));
	dnd_drive_close(&on_array);
}

/* Returns a drive that is 64 MiB of the array of two legs, from @start_bytes on. */
static struct dnd_drive slice_of(struct fake *fake, uint64_t start_bytes)
{
	struct dnd_drive drive = { .fd = -1 };
	struct dnd_stack *stack;

	assert_int_equal(resolve(fake, &drive.blockdev), 0);
	stack = drive.blockdev.stack;
	for (size_t i = 0; i < 2; i++)
		stack->legs[i].blockdev.length_bytes = 1024 * MIB;
	stack->nodes[stack->node_count] = (struct dnd_node){
		.layout = DND_LAYOUT_LINEAR, .first_piece = (uint16_t)stack->piece_count, .piece_count = 1,
	};
	stack->pieces[stack->piece_count++] = (struct dnd_piece){
		.node = stack->top, .from_bytes = start_bytes, .length_bytes = 64 * MIB,
	};
	stack->top = (uint16_t)stack->node_count++;
	snprintf(drive.blockdev.disk, sizeof(drive.blockdev.disk), "dm-%llu",
		 (unsigned long long)(start_bytes / MIB));
	return drive;
}

static void assert_slices(struct fake *fake, uint64_t a_bytes, uint64_t b_bytes, enum dnd_sharing expected,
			  bool known)
{
	struct dnd_drive a = slice_of(fake, a_bytes), b = slice_of(fake, b_bytes);

	if (!known)
		a.blockdev.stack->nodes[a.blockdev.stack->pieces[a.blockdev.stack->piece_count - 1].node].layout =
			DND_LAYOUT_UNKNOWN;
	assert_int_equal(dnd_drive_overlap(&a, 0, &b, 0, 4096), expected);
	assert_int_equal(dnd_drive_overlap(&b, 0, &a, 0, 4096), expected);
	dnd_drive_close(&a);
	dnd_drive_close(&b);
}

static void volumes_of_one_array(void **state)
{
	struct fake *fake = *state;

	array(fake, "raid1", "2", "0", "0");
	member(fake, 0, "0", "in_sync", "524288");
	member(fake, 1, "1", "in_sync", "524288");
	assert_slices(fake, 0, 64 * MIB, DND_APART, true);
	assert_slices(fake, 0, 63 * MIB, DND_SHARE, true);
	assert_slices(fake, 0, 64 * MIB, DND_MAY_SHARE, false);
	array(fake, "raid0", "2", "65536", "0");
	assert_slices(fake, MIB, 65 * MIB, DND_APART, true);
	assert_slices(fake, MIB, 64 * MIB, DND_SHARE, true);
	array(fake, "raid10", "2", "65536", "258");
	assert_slices(fake, 0, 64 * MIB, DND_APART, true);
	assert_slices(fake, 64 * MIB, MIB, DND_SHARE, true);
}

static void holders(void **state)
{
	struct fake *fake = *state;
	struct dnd_use use;

	fake_nvme(fake, 0, "0000:01:00.0");
	dnd_use_holder(fake->ctx, makedev(259, 0), false, &use);
	assert_string_equal(use.by, "");
	fake_file(fake, "devices/pci/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/holders/md0/x", "");
	dnd_use_holder(fake->ctx, makedev(259, 1), false, &use);
	assert_string_equal(use.by, "md0");
	assert_string_equal(use.as, "");
	dnd_use_holder(fake->ctx, makedev(259, 0), false, &use);
	assert_string_equal(use.by, "md0");
	assert_string_equal(use.as, "");
}

static void assert_change(struct fake *fake, const struct dnd_drive *drive, enum dnd_change expected)
{
	int rc;

	assert_int_equal(dnd_drive_look_again(fake->ctx, drive, &rc), expected);
}

static void changes(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(9, 0), .path = "/dev/md0" };

	array(fake, "raid1", "2", "0", "0");
	two_members(fake);
	assert_int_equal(resolve(fake, &drive.blockdev), 0);
	assert_change(fake, &drive, DND_UNCHANGED);
	member(fake, 0, "none", "faulty", "64");
	assert_change(fake, &drive, DND_LEGS_LEFT);
	assert_change(fake, &drive, DND_UNCHANGED);
	/* The map is that of now, and the second leg is the second still. */
	assert_int_equal(dnd_blockdev_legs_left(&drive.blockdev), 1);
	assert_int_equal(dnd_blockdev_legs_in_use(&drive.blockdev), 2);
	drive.blockdev.stack->legs[1].blockdev.length_bytes = 64 * MIB;
	assert_run(drive.blockdev.stack, 0, 1, 63 * MIB);
	assert_at(drive.blockdev.stack, 0, 0, 1, MIB);
	two_members(fake);
	assert_change(fake, &drive, DND_LEGS_LEFT);
	assert_change(fake, &drive, DND_UNCHANGED);
	assert_int_equal(dnd_blockdev_legs_left(&drive.blockdev), 0);
	fake_nvme(fake, 2, "0000:03:00.0");
	member(fake, 2, "none", "spare", "64");
	assert_change(fake, &drive, DND_CHANGED);
	member(fake, 2, "none", "faulty", "64");
	assert_change(fake, &drive, DND_UNCHANGED);
	array(fake, "raid5", "2", "65536", "2");
	assert_change(fake, &drive, DND_CHANGED);
	/* md keeps the bytes, whatever it does with its members. */
	assert_int_equal(dnd_blockdev_moves(&drive.blockdev), 0);
	dnd_drive_close(&drive);
}

static uint32_t legs_of(const struct dnd_drive *drive, uint64_t offset, uint64_t length, bool expected)
{
	bool all = true;
	uint32_t legs = dnd_join_legs_of(drive, offset, length, &all);

	assert_int_equal(all, expected);
	return legs;
}

static void legs_of_a_range(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1 };

	array(fake, "raid0", "3", "4096", "0");
	fake_nvme(fake, 2, "0000:03:00.0");
	two_members(fake);
	member(fake, 2, "2", "in_sync", "64");
	assert_int_equal(resolve(fake, &drive.blockdev), 0);
	for (int i = 0; i < 3; i++)
		drive.blockdev.stack->legs[i].blockdev.length_bytes = 64 * MIB;
	assert_int_equal(legs_of(&drive, 0, 4096, true), 1);
	assert_int_equal(legs_of(&drive, 0, 4097, true), 3);
	assert_int_equal(legs_of(&drive, 4095, 2, true), 3);
	assert_int_equal(legs_of(&drive, 8192, 4096, true), 4);
	/* Twice the first leg, and the one behind the range is not its. */
	assert_int_equal(legs_of(&drive, 8192, 8192, true), 5);
	assert_int_equal(legs_of(&drive, 3 * 4096, 8192, true), 3);
	assert_int_equal(legs_of(&drive, 100, 64 * 4096, true), 7);
	drive.blockdev.stack->nodes[drive.blockdev.stack->top].layout = DND_LAYOUT_UNKNOWN;
	assert_int_equal(legs_of(&drive, 0, 8192, false), 0);
	dnd_drive_close(&drive);
}

/* Bytes that are skipped, since their leg is known, are a part of the range, too. */
static void legs_of_a_line(void **state)
{
	static const uint16_t nodes[] = { 0, 0, 1, 2 };
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1 };
	struct dnd_stack *stack;

	array(fake, "raid0", "3", "4096", "0");
	fake_nvme(fake, 2, "0000:03:00.0");
	two_members(fake);
	member(fake, 2, "2", "in_sync", "64");
	assert_int_equal(resolve(fake, &drive.blockdev), 0);
	stack = drive.blockdev.stack;
	for (int i = 0; i < 3; i++)
		stack->legs[i].blockdev.length_bytes = 64 * MIB;
	stack->nodes[stack->top] = (struct dnd_node){
		.layout = DND_LAYOUT_LINEAR, .first_piece = (uint16_t)stack->piece_count, .piece_count = 4,
	};
	for (uint16_t i = 0; i < 4; i++)
		stack->pieces[stack->piece_count++] = (struct dnd_piece){
			.node = nodes[i], .at_bytes = i * MIB, .length_bytes = MIB,
		};
	assert_int_equal(legs_of(&drive, 0, 2 * MIB, true), 1);
	assert_int_equal(legs_of(&drive, 0, 3 * MIB, true), 3);
	assert_int_equal(legs_of(&drive, 0, 3 * MIB + 1, true), 7);
	/* A gap may be anywhere, and the bytes behind it are known again. */
	stack->pieces[stack->piece_count - 3].node = DND_NO_NODE;
	assert_int_equal(legs_of(&drive, 0, MIB, true), 1);
	assert_int_equal(legs_of(&drive, 0, 3 * MIB, false), 3);
	assert_int_equal(legs_of(&drive, MIB, MIB, false), 0);
	dnd_drive_close(&drive);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(striped_array), TEST(places_in_chunks), TEST(mirrored), TEST(near_copies), TEST(irregular_layouts),
		TEST(members_that_are_not_used), TEST(write_behind), TEST(refused_arrays), TEST(partition_of_an_array),
		TEST(without_the_table), TEST(suspended_and_built_in), TEST(shared_bytes), TEST(holders), TEST(changes),
		TEST(legs_of_a_range), TEST(legs_of_a_line), TEST(array_that_is_named_twice), TEST(volumes_of_one_array),
		TEST(array_below_a_volume), TEST(suspended_while_open), TEST(table_is_told_no_more), TEST(leads_to_no_drive),
		TEST(replaced_leg), TEST(health_without_a_leg), TEST(protection_information), cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
