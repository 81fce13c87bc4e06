// SPDX-License-Identifier: Apache-2.0
/* A file system's answers about a file, and what they mean for a copy. The answers are those of Linux 7.3. */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"
#include "drive/file_check.h"

#define VERITY	0x00100000
#define DAX	0x00200000

static const struct dnd_file_facts plain = {
	.magic = EXT4_SUPER_MAGIC, .fs_block_bytes = 4096, .dio_known = true, .dio_memory_bytes = 4,
	.dio_offset_bytes = 512, .flags = FS_EXTENT_FL,
};

static void assert_bounces(struct dnd_file_facts facts, bool writes, const char *cause)
{
	const struct dnd_bounce *bounce = dnd_file_judge(&facts, writes);

	assert_non_null(bounce);
	if (!strstr(bounce->cause, cause))
		fail_msg("expected '%s', seen '%s'", cause, bounce->cause);
	assert_true(bounce->remedy[0] != '\0');
}

static struct dnd_file_facts no_direct_io(void)
{
	struct dnd_file_facts facts = plain;

	facts.dio_memory_bytes = 0;
	facts.dio_offset_bytes = 0;
	return facts;
}

static void goes_straight(void **state)
{
	struct dnd_file_facts facts = plain;

	(void)state;
	assert_null(dnd_file_judge(&facts, true));
	/* Flags that ext4 stores and does not heed. */
	facts.flags |= FS_JOURNAL_DATA_FL | FS_COMPR_FL;
	assert_null(dnd_file_judge(&facts, true));
	facts = plain;
	facts.magic = DND_XFS_MAGIC;
	facts.flags = 0;
	assert_null(dnd_file_judge(&facts, true));
}

static void names_the_cause(void **state)
{
	struct dnd_file_facts facts = no_direct_io();

	(void)state;
	assert_bounces(facts, false, "does no direct I/O");
	facts.flags |= FS_JOURNAL_DATA_FL;
	assert_bounces(facts, false, "+j");
	facts.mounted_journal = true;
	assert_bounces(facts, false, "data=journal");
	facts.flags |= FS_INLINE_DATA_FL;
	assert_bounces(facts, false, "inline_data");
	facts.attributes |= VERITY;
	assert_bounces(facts, false, "fs-verity");
}

/* Linux 7.3 says that it does direct I/O on them: memory 4096, offset 4096. */
static void what_is_said_is_not_all(void **state)
{
	struct dnd_file_facts facts = plain;

	(void)state;
	facts.attributes = STATX_ATTR_ENCRYPTED;
	assert_bounces(facts, false, "encrypted");
	facts = plain;
	facts.attributes = DAX;
	assert_bounces(facts, false, "DAX");
	facts = plain;
	facts.dio_known = false;
	assert_bounces(facts, false, "does not say");
	facts = plain;
	facts.stable_pages = true;
	assert_null(dnd_file_judge(&facts, true));
	facts.magic = DND_XFS_MAGIC;
	assert_bounces(facts, false, "stable pages");
}

static void holes_without_extents(void **state)
{
	struct dnd_file_facts facts = plain;

	(void)state;
	facts.flags = 0;
	assert_null(dnd_file_judge(&facts, false));
	assert_bounces(facts, true, "block by block");
}

/* The form of /proc/fs/ext4/nvme0n1/options. */
static void options_in_lines(void **state)
{
	char path[] = "/tmp/donard-unit-options-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	dprintf(fd, "rw\nbsddf\nnobarrier\nerrors=continue\ndata=journal");
	assert_int_equal(dnd_options_have(path, "nobarrier"), 1);
	assert_int_equal(dnd_options_have(path, "rw"), 1);
	assert_int_equal(dnd_options_have(path, "data=journal"), 1);
	assert_int_equal(dnd_options_have(path, "barrier"), 0);
	assert_int_equal(dnd_options_have(path, "data=journ"), 0);
	close(fd);
	unlink(path);
	assert_int_equal(dnd_options_have(path, "rw"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_straight), cmocka_unit_test(names_the_cause),
		cmocka_unit_test(what_is_said_is_not_all), cmocka_unit_test(holes_without_extents),
		cmocka_unit_test(options_in_lines),
	};

	return cmocka_run_group_tests_name("file_check", tests, NULL, NULL);
}
