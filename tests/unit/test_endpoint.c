// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unit.h"
#include "drive/blockdev.h"
#include "donard/copy.h"
#include "fake_sysfs.h"
#include "drive/drive.h"
#include "region/region.h"

static void specs(void **state)
{
	struct fake *fake = *state;
	struct dnd_spec spec;
	char path[128];

	assert_int_equal(dnd_spec_parse(fake->ctx, "p2pmem0", &spec), 0);
	assert_true(spec.is_region);
	assert_int_equal(dnd_spec_parse(fake->ctx, "p2pmem12", &spec), 0);
	assert_string_equal(spec.region, "p2pmem12");
	snprintf(path, sizeof(path), "%s/p2pmem3", fake->root);
	assert_int_equal(dnd_spec_parse(fake->ctx, path, &spec), 0);
	assert_true(spec.is_region);
	assert_int_equal(dnd_spec_parse(fake->ctx, "./p2pmem0", &spec), 0);
	assert_false(spec.is_region);
	assert_int_equal(dnd_spec_parse(fake->ctx, "./p2pmem0+64M", &spec), 0);
	assert_false(spec.is_region);
	/* They would be taken for files. */
	assert_int_equal(dnd_spec_parse(fake->ctx, "p2pmem0+", &spec), -EINVAL);
	assert_int_equal(dnd_spec_parse(fake->ctx, "p2pmem0+64M", &spec), -EINVAL);
	assert_non_null(strstr(donard_error(fake->ctx), "Name p2pmem0, and pass the offset in bytes beside it."));
	assert_string_equal(donard_error_code(fake->ctx), "bad-name");
	assert_int_equal(dnd_spec_parse(fake->ctx, "", &spec), -EINVAL);
}

static void gpus(void **state)
{
	static const char *const words[] = { "gpu:", "gpu:x", "gpu:-1", "gpu: 1", "gpu:0x1", "gpu:1,", "gpu:99999999999" };
	struct fake *fake = *state;
	struct dnd_spec spec;
	char remedy[64];

	assert_int_equal(dnd_spec_parse(fake->ctx, "gpu:0", &spec), 0);
	assert_true(spec.is_gpu && !spec.is_region);
	assert_int_equal(spec.gpu, 0);
	assert_int_equal(dnd_spec_parse(fake->ctx, "gpu:12", &spec), 0);
	assert_int_equal(dnd_spec_check_path(fake->ctx, &spec), 0);
	assert_int_equal(spec.gpu, 12);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(dnd_spec_parse(fake->ctx, words[i], &spec), -EINVAL);
		assert_string_equal(donard_error_code(fake->ctx), "bad-name");
		snprintf(remedy, sizeof(remedy), "written ./%s.", words[i]);
		assert_non_null(strstr(donard_error(fake->ctx), remedy));
	}
	assert_int_equal(dnd_spec_parse(fake->ctx, "gpu:0+64M", &spec), -EINVAL);
	assert_non_null(strstr(donard_error(fake->ctx), "Name gpu:0, and pass the offset"));
	assert_int_equal(dnd_spec_parse(fake->ctx, "./gpu:0", &spec), 0);
	assert_false(spec.is_gpu);
}

static void assert_path(struct fake *fake, const char *text)
{
	struct dnd_spec spec;

	assert_int_equal(dnd_spec_parse(fake->ctx, text, &spec), 0);
	assert_int_equal(dnd_spec_check_path(fake->ctx, &spec), 0);
	assert_false(spec.is_region);
}

static void words_that_are_nearly_regions(void **state)
{
	static const char *const words[] = { "p2pmem", "p2pmemX", "p2pmem0x", "p2pmem00",
					     "p2pmem0x+64M", "p2pmem.img", "gpu0", "GPU:0", "pmem0", "image", "class", "." };
	struct fake *fake = *state;
	struct dnd_spec spec;
	char remedy[64];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(dnd_spec_parse(fake->ctx, words[i], &spec), 0);
		assert_int_equal(dnd_spec_check_path(fake->ctx, &spec), -EINVAL);
		assert_string_equal(donard_error_code(fake->ctx), "bad-name");
		assert_non_null(strstr(donard_error(fake->ctx), "no such region or GPU; they look like p2pmem0 and gpu:0."));
		snprintf(remedy, sizeof(remedy), "write ./%s.", words[i]);
		assert_non_null(strstr(donard_error(fake->ctx), remedy));
	}
	assert_path(fake, "./p2pmemX");
	assert_path(fake, "p2pmem.d/file");
	assert_path(fake, "/dev/nvme0n1");
}

static void whole_regions(void **state)
{
	struct fake *fake = *state;
	char name[P2PMEM_NAME_BYTES], path[128];

	assert_int_equal(dnd_region_name(fake->ctx, "p2pmem7", name), 0);
	assert_string_equal(name, "p2pmem7");
	snprintf(path, sizeof(path), "%s/p2pmem/by-name/none", fake->root);
	assert_int_equal(dnd_region_name(fake->ctx, path, name), -ENODEV);
	assert_string_equal(donard_error_code(fake->ctx), "no-such-region");
	snprintf(path, sizeof(path), "%s/p2pmem12", fake->root);
	assert_int_equal(dnd_region_name(fake->ctx, path, name), 0);
	assert_string_equal(name, "p2pmem12");
	assert_int_equal(dnd_region_name(fake->ctx, "p2pmem0+64M", name), -EINVAL);
	assert_non_null(strstr(donard_error(fake->ctx), "without an offset"));
	assert_int_equal(dnd_region_name(fake->ctx, "/dev/nvme0n1", name), -EINVAL);
	assert_non_null(strstr(donard_error(fake->ctx), "not a region"));
	assert_int_equal(dnd_region_name(fake->ctx, "", name), -EINVAL);
}

static void disks_and_partitions(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	fake_nvme(fake, 1, "0000:01:00.0");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 16), "x", &blockdev), 0);
	assert_string_equal(blockdev.disk, "nvme1n1");
	assert_string_equal(blockdev.controllers[0], "0000:01:00.0");
	assert_int_equal(blockdev.block_bytes, 4096);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 17), "x", &blockdev), 0);
	assert_string_equal(blockdev.disk, "nvme1n1");
	assert_int_equal(blockdev.start_bytes, 1024 * 512);
	assert_int_equal(blockdev.length_bytes, 512 * 512);
}

/* nvme5n1, a namespace that nvme0 serves, and not nvme1. */
static void fake_head(struct fake *fake)
{
	fake_nvme(fake, 0, "0000:01:00.0");
	fake_nvme(fake, 1, "0000:02:00.0");
	fake_file(fake, "devices/virtual/nvme-subsys5/nvme5n1/size", "2048");
	fake_link(fake, "devices/virtual/nvme-subsys5/nvme0", "class/nvme/nvme0");
	fake_link(fake, "devices/virtual/nvme-subsys5/nvme1", "class/nvme/nvme1");
	fake_link(fake, "devices/virtual/nvme-subsys5/nvme5n1/device",
		  "devices/virtual/nvme-subsys5");
	fake_link(fake, "class/nvme-subsystem/nvme-subsys5", "devices/virtual/nvme-subsys5");
	fake_link(fake, "block/nvme5n1", "devices/virtual/nvme-subsys5/nvme5n1");
	fake_link(fake, "dev/block/259:80", "devices/virtual/nvme-subsys5/nvme5n1");
	fake_folder(fake, "class/nvme/nvme0/nvme5c0n1");
}

static void multipath(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(259, 80), .path = "x" };
	struct dnd_blockdev blockdev;
	int rc;

	fake_head(fake);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, drive.device, "x", &drive.blockdev), 0);
	assert_int_equal(drive.blockdev.controller_count, 1);	/* nvme1 serves other namespaces */
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_UNCHANGED);
	fake_folder(fake, "class/nvme/nvme1/nvme5c1n1");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, drive.device, "x", &blockdev), 0);
	assert_int_equal(blockdev.controller_count, 2);
	assert_string_equal(blockdev.controllers[1], "0000:02:00.0");
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_CHANGED);
	drive.blockdev = blockdev;
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_UNCHANGED);
	/* A request may go by any of them. */
	fake_file(fake, "class/nvme/nvme1/transport", "tcp");
	assert_int_equal(dnd_drive_look_again(fake->ctx, &drive, &rc), DND_CHANGED);
	assert_int_equal(rc, -EOPNOTSUPP);
	assert_non_null(strstr(donard_error(fake->ctx), "nvme5n1: its controller nvme1 is not on PCIe but "
			       "reached by tcp"));
}

/* The path that a request takes decides whether the CPU computes its checksums, and some file systems ask the namespace. */
static void checksums_of_a_path(void **state)
{
	static const char *const folders[] = { "block/nvme5n1", "class/nvme/nvme1/nvme5c1n1" };
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	char paths[2][2][80];

	fake_head(fake);
	for (size_t i = 0; i < 2; i++) {
		snprintf(paths[i][0], sizeof(paths[i][0]), "%s/integrity/format", folders[i]);
		fake_file(fake, paths[i][0], "T10-DIF-TYPE1-CRC");
		snprintf(paths[i][0], sizeof(paths[i][0]), "%s/integrity/read_verify", folders[i]);
		snprintf(paths[i][1], sizeof(paths[i][1]), "%s/integrity/write_generate", folders[i]);
		fake_file(fake, paths[i][0], "0");
		fake_file(fake, paths[i][1], "0");
	}
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 80), "x", &blockdev), 0);
	assert_true(blockdev.has_checksums);
	assert_null(dnd_blockdev_bounce(&blockdev, true));
	for (size_t i = 0; i < 2; i++) {
		fake_file(fake, paths[i][1], "1");
		dnd_blockdev_read_integrity(fake->ctx, &blockdev);
		assert_non_null(dnd_blockdev_bounce(&blockdev, true));
		assert_null(dnd_blockdev_bounce(&blockdev, false));
		fake_file(fake, paths[i][1], "0");
		fake_file(fake, paths[i][0], "1");
		assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 80), "x", &blockdev), 0);
		assert_non_null(dnd_blockdev_bounce(&blockdev, false));
		fake_file(fake, paths[i][0], "0");
	}
}

/* Before Linux 6.4 a head counts nothing, which its iostats show, as those of a drive do whose counting is switched off. */
static void writes_are_counted(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .device = makedev(259, 80), .path = "x" };
	uint64_t mark;

	fake_head(fake);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, drive.device, "x", &drive.blockdev), 0);
	fake_file(fake, "block/nvme5n1/stat", "0 0 0 0 0 0 0 0 0 0 0");
	mark = dnd_drive_write_mark(fake->ctx, &drive);
	assert_false(dnd_drive_was_written(fake->ctx, &drive, mark));
	fake_file(fake, "block/nvme5n1/stat", "0 0 0 0 1 0 8 0 0 0 0");
	assert_true(dnd_drive_was_written(fake->ctx, &drive, mark));
	fake_file(fake, "block/nvme5n1/queue/iostats", "0");
	assert_int_equal(dnd_drive_write_mark(fake->ctx, &drive), 0);
	fake_file(fake, "class/nvme/nvme0/nvme5c0n1/stat", "0 0 0 0 5 0 40 0 0 0 0");
	mark = dnd_drive_write_mark(fake->ctx, &drive);
	assert_false(dnd_drive_was_written(fake->ctx, &drive, mark));
	fake_file(fake, "class/nvme/nvme0/nvme5c0n1/stat", "0 0 0 0 6 0 48 0 0 0 0");
	assert_true(dnd_drive_was_written(fake->ctx, &drive, mark));
	drive.device = makedev(259, 81);
	fake_file(fake, "dev/block/259:81/partition", "1");
	assert_int_equal(dnd_drive_write_mark(fake->ctx, &drive), 0);
	drive.device = makedev(259, 80);
	fake_file(fake, "class/nvme/nvme0/nvme5c0n1/queue/iostats", "0");
	assert_int_equal(dnd_drive_write_mark(fake->ctx, &drive), 0);
}

/* Without descriptors it is unknown whether a loop device uses the file, even if there are descriptors again a moment later. */
static void held_file_without_descriptors(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .is_file = true, .path = "/mnt/file" };
	struct rlimit before, none;
	int rc;

	fake_file(fake, "block/loop7/loop/backing_file", "/mnt/other");
	assert_int_equal(dnd_drive_check_held(fake->ctx, &drive, true), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = dnd_drive_check_held(fake->ctx, &drive, true);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(rc, -EMFILE);
	assert_non_null(strstr(donard_error(fake->ctx), " cannot be read"));
}

static void other_block_devices(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;

	fake_file(fake, "devices/virtual/loop0/size", "2048");
	fake_link(fake, "dev/block/7:0", "devices/virtual/loop0");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(7, 0), "/dev/loop0", &blockdev),
			 -ENOTBLK);
	assert_non_null(strstr(donard_error(fake->ctx), "a loop device"));
	assert_string_equal(donard_error_code(fake->ctx), "not-nvme");
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(8, 0), "sda", &blockdev),
			 -ENOTBLK);
}

/* It went away; or the folder that names it is hidden. */
static void no_controller(void **state)
{
	struct fake *fake = *state;
	struct dnd_blockdev blockdev;
	char from[PATH_MAX + 32], to[PATH_MAX + 32];

	fake_nvme(fake, 0, "0000:01:00.0");
	snprintf(from, sizeof(from), "%s/class/nvme/nvme0", fake->root);
	assert_int_equal(unlink(from), 0);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 0), "x", &blockdev), -ENOTBLK);
	assert_string_equal(donard_error(fake->ctx), "x: nvme0n1 has no controller now. Bring one back (echo 1 | sudo tee "
			    "/sys/bus/pci/rescan, or dmesg tells why it went). Name an NVMe block device, or a file on ext4 "
			    "or xfs on one.");
	snprintf(from, sizeof(from), "%s/class/nvme", fake->root);
	snprintf(to, sizeof(to), "%s/hidden", fake->root);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 0), "x", &blockdev), -EOPNOTSUPP);
	assert_non_null(strstr(donard_error(fake->ctx), "/sys/class/nvme is not there"));
}

static void folders_and_pipes(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive;

	assert_true(dnd_drive_open_source(fake->ctx, fake->root, &drive) < 0);
	assert_non_null(strstr(donard_error(fake->ctx), "directory"));
	assert_true(dnd_drive_open_source(fake->ctx, "/dev/null", &drive) < 0);
	assert_non_null(strstr(donard_error(fake->ctx), "character device"));
	assert_int_equal(dnd_drive_open_source(fake->ctx, "/no/such/file", &drive), -ENOENT);
}

/* A region is an end of a copy alone, and by its name. */
static void regions_are_no_files(void **state)
{
	struct fake *fake = *state;
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_file *file;

	assert_int_equal(donard_file_open(fake->ctx, "/dev/null", 0, &file), -ENOTBLK);
	assert_string_equal(donard_error(fake->ctx), "/dev/null: it is a character device. Name an NVMe block device, or a "
			    "file on ext4 or xfs on one.");
	assert_int_equal(donard_copy(fake->ctx, "/dev/null", "/nowhere/b", NULL, &result), -ENOTBLK);
	assert_string_equal(donard_error(fake->ctx), "/dev/null: it is a character device. Name an NVMe block device, or a "
			    "file on ext4 or xfs on one. A copy also takes regions and GPUs, by their names (p2pmem0, gpu:0).");
	fake_folder(fake, "class/p2pmem/p2pmem0");
	fake_link(fake, "dev/char/1:3", "class/p2pmem/p2pmem0");
	assert_int_equal(donard_file_open(fake->ctx, "/dev/null", 0, &file), -ENOTBLK);
	assert_string_equal(donard_error(fake->ctx), "/dev/null: it is the region p2pmem0, which is memory and no file. Name an "
			    "NVMe block device, or a file on ext4 or xfs on one.");
}

static void overlaps(void **state)
{
	struct dnd_drive disk = { .blockdev = { .disk = "nvme0n1" } };
	struct dnd_drive part = { .blockdev = { .disk = "nvme0n1", .start_bytes = 1 << 20 } };
	struct dnd_drive other = { .blockdev = { .disk = "nvme1n1" } };

	(void)state;
	assert_true(dnd_drive_overlap(&disk, 1 << 20, &part, 0, 4096));
	assert_false(dnd_drive_overlap(&disk, 0, &part, 0, 1 << 20));
	assert_true(dnd_drive_overlap(&disk, 0, &part, 0, (1 << 20) + 1));
	assert_false(dnd_drive_overlap(&disk, 0, &other, 0, 1 << 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(specs, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(gpus, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(words_that_are_nearly_regions, fake_setup,
						fake_teardown),
		cmocka_unit_test_setup_teardown(whole_regions, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(disks_and_partitions, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(multipath, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(checksums_of_a_path, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(writes_are_counted, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(held_file_without_descriptors, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(other_block_devices, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(no_controller, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(folders_and_pipes, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(regions_are_no_files, fake_setup, fake_teardown),
		cmocka_unit_test(overlaps),
	};

	return cmocka_run_group_tests_name("endpoint", tests, NULL, NULL);
}
