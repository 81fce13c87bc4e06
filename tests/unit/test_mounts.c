// SPDX-License-Identifier: Apache-2.0
/* Lines of /proc/self/mountinfo. */
#include "unit.h"

#include "base/mounts.h"

static char text[512];

static bool parse(const char *line, struct dnd_mount *mount)
{
	snprintf(text, sizeof(text), "%s", line);
	return dnd_mount_parse(text, mount);
}

static void fields(void **state)
{
	struct dnd_mount mount;

	(void)state;
	assert_true(parse("36 25 259:1 / /mnt/fs rw,relatime shared:7 master:2 - ext4 /dev/nvme1n1 rw,data=journal", &mount));
	assert_int_equal(mount.id, 36);
	assert_int_equal(mount.major_number, 259);
	assert_int_equal(mount.minor_number, 1);
	assert_string_equal(mount.place, "/mnt/fs");
	assert_string_equal(mount.type, "ext4");
	assert_string_equal(mount.source, "/dev/nvme1n1");
	assert_true(dnd_mount_has(&mount, "data=journal"));
	assert_true(dnd_mount_has(&mount, "rw"));
	assert_false(dnd_mount_has(&mount, "data=journa"));
	assert_false(dnd_mount_has(&mount, "relatime"));	/* the mount's, and not the file system's */
}

static void values(void **state)
{
	struct dnd_mount mount;
	char value[32];

	(void)state;
	assert_true(parse("36 25 259:1 / /mnt rw - xfs /dev/x rw,xlogdev=/a,logdev=/dev/a\\040b,rtdev=/dev/c,inode64", &mount));
	assert_true(dnd_mount_value(&mount, "logdev=", value, sizeof(value)));
	assert_string_equal(value, "/dev/a b");
	assert_true(dnd_mount_value(&mount, "rtdev=", value, sizeof(value)));
	assert_string_equal(value, "/dev/c");
	assert_false(dnd_mount_value(&mount, "dev=", value, sizeof(value)));
	assert_string_equal(value, "");
	assert_true(dnd_mount_has(&mount, "inode64"));
	assert_false(dnd_mount_has(&mount, "logdev="));
}

static void names_are_decoded(void **state)
{
	struct dnd_mount mount;

	(void)state;
	assert_true(parse("37 25 259:1 /a\\040b /mnt/my\\040disk\\134\\011\\0401 rw - xfs /dev/x\\012y rw", &mount));
	assert_string_equal(mount.place, "/mnt/my disk\\\t 1");
	assert_string_equal(mount.source, "/dev/x\ny");
	assert_true(parse("37 25 0:5 / /a\\04 rw - tmpfs none\\ rw", &mount));
	assert_string_equal(mount.place, "/a\\04");
	assert_string_equal(mount.source, "none\\");
}

static void other_lines(void **state)
{
	static const char *const lines[] = {
		"", " ", "36 25 259:1 / / rw", "36 25 259:1 / / rw -", "36 25 259:1 / / rw - ext4", "x 25 259:1 / / rw - ext4 a b",
		"36 25 259 / / rw - ext4 a b",
	};
	struct dnd_mount mount;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(parse(lines[i], &mount));
}

static void swap_spaces(void **state)
{
	char heading[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority", empty[] = "";
	char partition[] = "/dev/nvme0n1p2                          partition\t8388604\t\t0\t\t-2";
	char file[] = "/mnt/my\\040disk/swap                         file\t\t4\t\t0\t\t-3";

	(void)state;
	assert_null(dnd_swap_parse(heading));
	assert_null(dnd_swap_parse(empty));
	assert_string_equal(dnd_swap_parse(partition), "/dev/nvme0n1p2");
	assert_string_equal(dnd_swap_parse(file), "/mnt/my disk/swap");
}

/* Finds the mount of /proc, which lists the mounts.  The root of a chroot may be no mount. */
static int find_proc(void *user, const struct dnd_mount *mount)
{
	(void)user;
	return !strcmp(mount->place, "/proc");
}

static void of_this_process(void **state)
{
	(void)state;
	assert_int_equal(dnd_mounts_each(find_proc, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields), cmocka_unit_test(values), cmocka_unit_test(names_are_decoded), cmocka_unit_test(other_lines),
		cmocka_unit_test(swap_spaces), cmocka_unit_test(of_this_process),
	};

	return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
