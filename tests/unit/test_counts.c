// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"
#include "donard/counts.h"
#include "fake_sysfs.h"

static void of_region(void **state)
{
	static const char *const names[] = {
		"maps", "faults", "pins", "routes", "read_bytes", "written_bytes", "taken_bytes", "peak_bytes",
	};
	struct donard_region_counts counts = { .size = sizeof(counts) };
	uint64_t *values = &counts.maps;
	struct fake *fake = *state;
	char path[128], value[32];

	assert_int_equal(donard_region_counts(fake->ctx, "p2pmem0", &counts), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(fake->ctx), "no-module");
	fake_region(fake, "p2pmem0", "pci-bar", "0000:03:00.0");
	/* A module of an older release has no such folder. */
	assert_int_equal(donard_region_counts(fake->ctx, "p2pmem0", &counts), -EOPNOTSUPP);
	assert_non_null(strstr(donard_error(fake->ctx), "Load the one of this release"));
	for (size_t i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "class/p2pmem/p2pmem0/statistics/%s", names[i]);
		snprintf(value, sizeof(value), "%llu", 10000000000ULL + i);
		fake_file(fake, path, value);
	}
	snprintf(path, sizeof(path), "%s/p2pmem0", fake->root);	/* as a device node is written */
	assert_int_equal(donard_region_counts(fake->ctx, path, &counts), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(values[i], 10000000000ULL + i);
	assert_int_equal(donard_region_counts(fake->ctx, "p2pmem1", &counts), -ENODEV);
	assert_string_equal(donard_error_code(fake->ctx), "no-such-region");
	/* It is being added, or removed. */
	fake_file(fake, "class/p2pmem/p2pmem1/bar", "2");
	assert_int_equal(donard_region_counts(fake->ctx, "p2pmem1", &counts), -ENODEV);
	assert_int_equal(donard_region_counts(fake->ctx, "p2pmem0+4K", &counts), -EINVAL);
	counts.size = 0;
	assert_int_equal(donard_region_counts(fake->ctx, "p2pmem0", &counts), -EINVAL);
}

/* A want of descriptors says nothing about the region or the drive. */
static void without_descriptors(void **state)
{
	struct donard_region_counts counts = { .size = sizeof(counts) };
	struct donard_drive_counts of_drive = { .size = sizeof(of_drive), .reads = 99 };
	struct fake *fake = *state;
	struct rlimit before, none;
	int rc, of_drive_rc, first = dup(0);

	close(first);
	fake_region(fake, "p2pmem0", "pci-bar", "0000:03:00.0");
	fake_file(fake, "class/p2pmem/p2pmem0/statistics/maps", "1");
	fake_nvme(fake, 0, "0000:01:00.0");
	fake_file(fake, "block/nvme0n1/stat", "11 0 300 0 50 0 7000 0 9 0 0");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = (rlim_t)first, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = donard_region_counts(fake->ctx, "p2pmem0", &counts);
	of_drive_rc = donard_drive_counts(fake->ctx, "nvme0n1", &of_drive);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(rc, -EMFILE);
	assert_int_equal(of_drive_rc, -EMFILE);
	assert_non_null(strstr(donard_error(fake->ctx), "block/nvme0n1/stat cannot be read"));
	assert_int_equal(of_drive.reads, 99);
}

static void of_drive(void **state)
{
	struct donard_drive_counts counts = { .size = sizeof(counts) };
	struct fake *fake = *state;
	char path[128];

	/* Documentation/block/stat.rst: fifteen to seventeen fields since 4.18. */
	fake_nvme(fake, 0, "0000:01:00.0");
	fake_file(fake, "block/nvme0n1/stat", "      11        2      300       40       50        6    7000       80"
		  "        9      100      110      120      130      140      150     160     170");
	assert_int_equal(donard_drive_counts(fake->ctx, "nvme0n1", &counts), 0);
	assert_int_equal(counts.reads, 11);
	assert_int_equal(counts.read_bytes, 300 * 512);
	assert_int_equal(counts.writes, 50);
	assert_int_equal(counts.written_bytes, 7000 * 512);
	assert_int_equal(counts.in_flight, 9);
	assert_int_equal(donard_drive_counts(fake->ctx, "nvme1n1", &counts), -ENODEV);
	assert_string_equal(donard_error_code(fake->ctx), "no-such-device");
	assert_int_equal(donard_drive_counts(fake->ctx, "../nvme0n1", &counts), -EINVAL);
	/* The drive is named by its node, and by a link to it. */
	fake_file(fake, "dev/nvme0n1", "");
	fake_link(fake, "dev/by-id/nvme-Model_X", "dev/nvme0n1");
	snprintf(path, sizeof(path), "%s/dev/by-id/nvme-Model_X", fake->root);
	counts.reads = 0;
	assert_int_equal(donard_drive_counts(fake->ctx, path, &counts), 0);
	assert_int_equal(counts.reads, 11);
	assert_int_equal(donard_drive_counts(fake->ctx, "/no/such", &counts), -ENOENT);
	assert_non_null(strstr(donard_error(fake->ctx), "/no/such"));
	assert_int_equal(donard_drive_counts(fake->ctx, "/", &counts), -EINVAL);
	assert_int_equal(donard_drive_counts(fake->ctx, "", &counts), -EINVAL);
	/* The head has two paths; a third path is another namespace's. */
	fake_file(fake, "block/nvme0n1/stat", "0 0 0 0 0 0 0 0 0 0 0");
	fake_file(fake, "block/nvme0n1/queue/iostats", "0");
	fake_file(fake, "block/nvme0c0n1/stat", "1 0 10 0 2 0 20 0 3 0 0");
	fake_file(fake, "block/nvme0c1n1/stat", "4 0 40 0 5 0 50 0 6 0 0");
	fake_file(fake, "block/nvme0c1n2/stat", "7 0 70 0 8 0 80 0 9 0 0");
	assert_int_equal(donard_drive_counts(fake->ctx, "nvme0n1", &counts), 0);
	assert_int_equal(counts.reads, 5);
	assert_int_equal(counts.read_bytes, 50 * 512);
	assert_int_equal(counts.writes, 7);
	assert_int_equal(counts.written_bytes, 70 * 512);
	assert_int_equal(counts.in_flight, 9);
	fake_file(fake, "block/nvme0n1/stat", "11 2");
	assert_int_equal(donard_drive_counts(fake->ctx, "nvme0n1", &counts), -ENODEV);
}

/* Linux 6.4 and later: its commands are counted in its paths as well. */
static void of_head_that_counts(void **state)
{
	struct donard_drive_counts counts = { .size = sizeof(counts) };
	struct fake *fake = *state;

	fake_nvme(fake, 0, "0000:01:00.0");
	fake_file(fake, "block/nvme0c0n1/stat", "60 0 600 0 0 0 0 0 0 0 0");
	fake_file(fake, "block/nvme0c1n1/stat", "40 0 400 0 0 0 0 0 0 0 0");
	fake_file(fake, "block/nvme0n1/stat", "100 0 1000 0 0 0 0 0 0 0 0");
	for (int on = 1; on >= 0; on--) {
		fake_file(fake, "block/nvme0n1/queue/iostats", on ? "1" : "0");
		assert_int_equal(donard_drive_counts(fake->ctx, "nvme0n1", &counts), 0);
		assert_int_equal(counts.reads, 100);
		assert_int_equal(counts.read_bytes, 1000 * 512);
	}
	fake_file(fake, "block/nvme0n1/stat", "0 0 0 0 100 0 1000 0 0 0 0");
	assert_int_equal(donard_drive_counts(fake->ctx, "nvme0n1", &counts), 0);
	assert_int_equal(counts.reads, 0);
	assert_int_equal(counts.writes, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_region, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(without_descriptors, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(of_drive, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(of_head_that_counts, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
