// SPDX-License-Identifier: Apache-2.0
/* The server's checks before it starts: what the NVRAM and other regions hold, and which drive it is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cache_nvram.h"
#include "fake_sysfs.h"
#include "play_ioctl.h"
#include "says.h"
#include "cache/backing.h"
#include "cache/others.h"

/* ---- what lies there ---- */

/* The whole NVRAM is searched, and not only its beginning, where most formats have their first bytes. */
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
	/* A partition of the drive, and another drive whose name begins alike. */
	snprintf(part, sizeof(part), "%s,part=1,start=2048", nvram_geometry.drive_id);
	assert_int_equal(claims(nvram, part), 1);
	snprintf(part, sizeof(part), "%s1", nvram_geometry.drive_id);
	assert_int_equal(claims(nvram, part), 0);
	/* A description that was too long for the identity. */
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

/* A superblock whose drive name does not end counts as damaged, even if its checksum is right. */
static void drive_that_does_not_end(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_super super;
	enum dnd_cache_found found;

	open_new(nvram);
	super = nvram->log.super;
	memset(super.drive_id, 'a', sizeof(super.drive_id));
	super.checksum = dnd_cache_super_checksum(&super);
	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++)
		memcpy(nvram->bytes + DND_CACHE_SUPER_AT(copy), &super, sizeof(super));
	assert_int_equal(dnd_cache_look(nvram->ctx, &nvram->store, &super, &found), 0);
	assert_int_equal(found, DND_CACHE_FOUND_DAMAGED);
}

/* ---- other regions ---- */

/* The errno of each step with the region p2pmem1, or 0. */
static struct {
	int open, info, read;
	uint32_t flags, page_type;
	uint64_t bytes;
	uint64_t read_from;	/* where the step "read" begins to fail */
	int reads;		/* how many reads fail, or 0 for all */
} played;

static bool fails(int error)
{
	errno = error;
	return error;
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	const char *name = strrchr(path, '/');

	return name && !strcmp(name, "/p2pmem1") && fails(played.open) ? -1 : __real_open(path, flags, mode);
}

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	struct p2pmem_info *info = argument;

	if (request != P2PMEM_IOC_INFO)
		return ASK_THE_KERNEL;
	if (fails(played.info))
		return -1;
	fake_info_name(fd, info);
	info->flags = played.flags;
	info->page_type = played.page_type;
	info->region_bytes = played.bytes;
	return 0;
}

ssize_t __real_pread(int fd, void *bytes, size_t count, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t count, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t count, off_t at)
{
	int error = (uint64_t)at >= played.read_from ? played.read : 0;

	if (error && played.reads && !--played.reads)
		played.read = 0;
	if (fails(error))
		return -1;
	return (uint64_t)at < played.bytes ? __real_pread(fd, bytes, count, at) : 0;
}

static void play_region(void)
{
	memset(&played, 0, sizeof(played));
	played.flags = P2PMEM_REGION_PERSISTENT;
	played.page_type = P2PMEM_PAGES_GENERIC;
	played.bytes = NVRAM_BYTES;
}

/* Each is ordinary where there are several regions; afterwards p2pmem1 is as before. */
static void passed_over(struct fake *fake)
{
	if (dnd_cache_check_others(fake->ctx, "p2pmem0", nvram_geometry.drive_id))
		fail_msg("%.900s", donard_error(fake->ctx));
	play_region();
}

static void refused(struct fake *fake, int rc, const char *code, const char *text)
{
	assert_int_equal(dnd_cache_check_others(fake->ctx, "p2pmem0", nvram_geometry.drive_id), rc);
	assert_string_equal(donard_error_code(fake->ctx), code);
	assert_says(donard_error(fake->ctx), text);
	play_region();
}

/* A log in it would be served again once it can be read, and its records written over newer bytes. */
static void regions_that_cannot_be_looked_into(void **state)
{
	struct nvram *nvram = *state;
	struct fake *fake;

	assert_int_equal(fake_setup((void **)&fake), 0);
	fake_region(fake, "p2pmem0", "nvme-pmr", "0000:03:00.0");
	fake_region(fake, "p2pmem1", "nvme-pmr", "0000:04:00.0");
	play_region();
	passed_over(fake);			/* no node */
	fake_bytes(fake, "p2pmem1", nvram->bytes, NVRAM_BYTES);
	played.bytes = DND_CACHE_PAGE_BYTES;	/* no second superblock */
	passed_over(fake);
	open_new(nvram);
	fake_bytes(fake, "p2pmem1", nvram->bytes, NVRAM_BYTES);
	passed_over(fake);			/* no records */
	assert_int_equal(put(nvram, 20, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	fake_bytes(fake, "p2pmem1", nvram->bytes, NVRAM_BYTES);
	refused(fake, -EBUSY, "has-data", "p2pmem1: it holds a log with records");
	played.bytes = DND_CACHE_PAGE_BYTES;	/* it was larger, and may be again */
	refused(fake, -EBUSY, "has-data", "or one that cannot be read");

	played.open = EACCES;
	passed_over(fake);
	played.open = EPERM;			/* of a container that may not have it */
	passed_over(fake);
	played.info = ENODEV;			/* it is being taken away */
	passed_over(fake);
	played.read = ENODEV;
	passed_over(fake);
	played.read = EBUSY;			/* a living server's, of another drive */
	passed_over(fake);
	played.read = EIO;
	played.flags = 0;
	passed_over(fake);
	played.read = EOPNOTSUPP;
	played.page_type = P2PMEM_PAGES_PMEM;
	passed_over(fake);

	played.info = ENOTTY;			/* a container's /dev/null in its place */
	passed_over(fake);
	fake_bytes(fake, "p2pmem1", nvram->bytes, NVRAM_BYTES);
	played.read = EBUSY;			/* another server only looks at it */
	played.reads = 1;
	refused(fake, -EBUSY, "has-data", "p2pmem1: it holds a log with records");
	played.read = EIO;			/* a reset, which the kernel reports once */
	played.reads = 1;
	refused(fake, -EBUSY, "has-data", "p2pmem1: it holds a log with records");
	played.read = ENODEV;			/* being taken away, as it was read */
	played.read_from = DND_CACHE_TAIL_AT(0);
	passed_over(fake);
	played.read = EIO;
	played.read_from = DND_CACHE_TAIL_AT(0);
	refused(fake, -EIO, "device", "p2pmem1: the device was reset");

	played.read = EIO;
	refused(fake, -EIO, "device", "p2pmem1: the device was reset");
	assert_says(donard_error(fake->ctx), "it may hold a log for the same drive");
	played.info = EIO;
	refused(fake, -EIO, "system", "p2pmem1: cannot be queried");
	played.open = EMFILE;
	refused(fake, -EMFILE, "system", "p2pmem1: cannot be opened");
	assert_int_equal(fake_teardown((void **)&fake), 0);
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
		NVRAM_TEST(drive_that_does_not_end), NVRAM_TEST(regions_that_cannot_be_looked_into), NVRAM_TEST(long_names), cmocka_unit_test(moved_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
