// SPDX-License-Identifier: Apache-2.0
/* What a server asks before it starts: what lies in the NVRAM and in other regions, and which drive it is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cache_nvram.h"
#include "fake_sysfs.h"
#include "cache/backing.h"
#include "cache/others.h"

/* ---- what lies there ---- */

/* Not only where most things have their first bytes. */
static void other_data_at_the_end(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_super super;
	enum dnd_cache_found found;

	nvram->bytes[NVRAM_BYTES - 1] = 1;
	assert_int_equal(dnd_cache_look(nvram->ctx, &nvram->store, &super, &found), 0);
	assert_int_equal(found, DND_CACHE_FOUND_OTHER);
}

/* ---- logs of other regions ---- */

static int claims(struct nvram *nvram, const char *drive_id)
{
	int rc;

	dnd_cache_close(&nvram->log);
	nvram->writes = nvram->barriers = 0;
	rc = dnd_cache_claims_drive(nvram->ctx, &nvram->store, drive_id);
	assert_int_equal(nvram->writes + nvram->barriers, 0);
	return rc;
}

static void records_of_another_log(void **state)
{
	struct nvram *nvram = *state;
	char part[DND_CACHE_DRIVE_ID_BYTES];

	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 0);
	open_new(nvram);
	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 0);
	open_new(nvram);
	assert_int_equal(put(nvram, 20, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(claims(nvram, "eui.0025385b71b00002"), 0);
	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 1);
	/* What lies on the drive, and another drive whose name begins so. */
	snprintf(part, sizeof(part), "%s,part=1,start=2048", nvram_geometry.drive_id);
	assert_int_equal(claims(nvram, part), 1);
	snprintf(part, sizeof(part), "%s1", nvram_geometry.drive_id);
	assert_int_equal(claims(nvram, part), 0);
	/* What was too long for the identity to say. */
	snprintf(part, sizeof(part), "%s,part=1,star#00000000", nvram_geometry.drive_id);
	assert_int_equal(claims(nvram, part), 1);
}

/* It may have had any. */
static void another_log_is_damaged(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++)
		nvram->bytes[DND_CACHE_TAIL_AT(copy)] ^= 1;
	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 1);
}

/* ---- names of drives ---- */

/* A partition that was deleted and made elsewhere with the number of the former. */
static void moved_partition(void **state)
{
	struct fake *fake;
	struct donard_file_info info = { .kind = DONARD_FILE_KIND_REGULAR, .path = "file", .disk = "nvme0n1", .fd = open("/dev/null", O_RDONLY) };
	char before[DND_CACHE_DRIVE_ID_BYTES], after[DND_CACHE_DRIVE_ID_BYTES], name[64];
	struct stat st;

	(void)state;
	assert_int_equal(fake_setup((void **)&fake), 0);
	assert_int_equal(fstat(info.fd, &st), 0);
	fake_file(fake, "class/block/nvme0n1/wwid", "eui.1");
	snprintf(name, sizeof(name), "dev/block/%u:%u/partition", major(st.st_dev), minor(st.st_dev));
	fake_file(fake, name, "1");
	snprintf(name, sizeof(name), "dev/block/%u:%u/start", major(st.st_dev), minor(st.st_dev));
	fake_file(fake, name, "2048");
	assert_int_equal(dnd_backing_identity(fake->ctx, &info, before), 0);
	fake_file(fake, name, "4096");
	assert_int_equal(dnd_backing_identity(fake->ctx, &info, after), 0);
	assert_int_equal(strcspn(before, ","), 5);
	assert_memory_equal(before, "eui.1,part=1,start=2048,inode=", 30);
	assert_memory_equal(after, "eui.1,part=1,start=4096,inode=", 30);
	close(info.fd);
	assert_int_equal(fake_teardown((void **)&fake), 0);
}

static void long_names(void **state)
{
	char one[DND_CACHE_DRIVE_ID_BYTES], other[DND_CACHE_DRIVE_ID_BYTES], text[200];

	(void)state;
	dnd_backing_fit(nvram_geometry.drive_id, one, sizeof(one));
	assert_string_equal(one, nvram_geometry.drive_id);
	memset(text, 'a', sizeof(text));
	text[DND_CACHE_DRIVE_ID_BYTES - 1] = '\0';
	dnd_backing_fit(text, one, sizeof(one));
	assert_string_equal(one, text);
	text[DND_CACHE_DRIVE_ID_BYTES - 1] = 'a';
	strcpy(text + 190, "-00000001");
	dnd_backing_fit(text, one, sizeof(one));
	text[198] = '2';
	dnd_backing_fit(text, other, sizeof(other));
	assert_int_equal(strlen(one), DND_CACHE_DRIVE_ID_BYTES - 1);
	assert_int_equal(strlen(other), DND_CACHE_DRIVE_ID_BYTES - 1);
	assert_string_not_equal(one, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NVRAM_TEST(other_data_at_the_end), NVRAM_TEST(records_of_another_log), NVRAM_TEST(another_log_is_damaged),
		NVRAM_TEST(long_names), cmocka_unit_test(moved_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
