// SPDX-License-Identifier: Apache-2.0
/*
 * The object behind a name: a namespace with several block devices, nodes that lead elsewhere, a file that is replaced while it
 * is opened; and users of a destination that the kernel does not protect.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mounts.h"
#include "base/nodes.h"
#include "copy_scene.h"
#include "drive/blockdev.h"
#include "says.h"

#define NQN	"nqn.2014-08.org.nvmexpress:uuid:1"

/* The file that the next open() with these flags opens instead of the named one. */
static const char *swapped_in;
static int swapped_flags;
static const char in_memory[] = "in memory";	/* swapped in: a file of no disk's file system */

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	if (swapped_in && (flags & swapped_flags) == swapped_flags) {
		path = swapped_in;
		swapped_in = NULL;
		if (path == in_memory)
			return memfd_create(path, MFD_CLOEXEC);
		flags &= ~O_DIRECT;	/* not all can do that */
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* open() becomes this call with _FORTIFY_SOURCE, as in Debian's packages. */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

/* fstat() reports each open file as this block device. */
static dev_t played_block;

int fstat(int fd, struct stat *st)
{
	int rc = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (!rc && played_block) {
		st->st_mode = S_IFBLK | 0600;
		st->st_rdev = played_block;
	}
	return rc;
}

/* The only line of the table of mounts, or NULL: the table as it is. */
static const char *played_mount;

int __real_dnd_mounts_each(int (*each)(void *user, const struct dnd_mount *mount), void *user);
int __wrap_dnd_mounts_each(int (*each)(void *user, const struct dnd_mount *mount), void *user);

int __wrap_dnd_mounts_each(int (*each)(void *user, const struct dnd_mount *mount), void *user)
{
	struct dnd_mount mount;
	char line[128];

	if (!played_mount)
		return __real_dnd_mounts_each(each, user);
	snprintf(line, sizeof(line), "%s", played_mount);
	assert_true(dnd_mount_parse(line, &mount));
	return each(user, &mount);
}

/* A namespace on controller @number, with a partition from 512 KiB to 768 KiB, as fake_nvme() makes it. */
static void path_of(struct fake *fake, int number, const char *nqn)
{
	char bdf[16], path[96], device[16];

	snprintf(bdf, sizeof(bdf), "0000:%02x:00.0", number);
	fake_nvme(fake, number, bdf);
	snprintf(path, sizeof(path), "class/nvme/nvme%d/subsysnqn", number);
	fake_file(fake, path, nqn);
	snprintf(path, sizeof(path), "block/nvme%dn1/dev", number);
	snprintf(device, sizeof(device), "259:%d", number * 16);
	fake_file(fake, path, device);
	snprintf(path, sizeof(path), "block/nvme%dn1/nvme%dn1p1/dev", number, number);
	snprintf(device, sizeof(device), "259:%d", number * 16 + 1);
	fake_file(fake, path, device);
}

/* Another partition of controller 9's, right behind the first. */
static void second_partition(struct fake *fake)
{
	fake_file(fake, "block/nvme9n1/nvme9n1p2/partition", "2");
	fake_file(fake, "block/nvme9n1/nvme9n1p2/start", "1536");
	fake_file(fake, "block/nvme9n1/nvme9n1p2/size", "512");
	fake_file(fake, "block/nvme9n1/nvme9n1p2/dev", "259:146");
	fake_link(fake, "dev/block/259:146", "block/nvme9n1/nvme9n1p2");
}

#define DISK(number)	makedev(259, (number) * 16)
#define PART(number)	makedev(259, (number) * 16 + 1)
#define SECOND_PART	makedev(259, 146)

static bool conflict(struct fake *fake, dev_t a, dev_t b)
{
	bool conflicts = dnd_blockdev_conflicts(fake->ctx, a, b);

	assert_int_equal(dnd_blockdev_conflicts(fake->ctx, b, a), conflicts);
	return conflicts;
}

static void disks_of_one_namespace(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;

	path_of(fake, 8, NQN);
	path_of(fake, 9, NQN);
	second_partition(fake);
	assert_true(conflict(fake, DISK(8), DISK(9)));
	assert_true(conflict(fake, DISK(8), SECOND_PART));
	assert_true(conflict(fake, PART(8), PART(9)));
	assert_false(conflict(fake, PART(8), SECOND_PART));
	assert_false(conflict(fake, PART(9), SECOND_PART));
	/* Another subsystem's, an unknown subsystem's, and another namespace of the same one. */
	path_of(fake, 10, NQN "0");
	assert_false(conflict(fake, DISK(8), DISK(10)));
	fake_nvme(fake, 11, "0000:0b:00.0");
	fake_nvme(fake, 12, "0000:0c:00.0");
	assert_false(conflict(fake, DISK(11), DISK(12)));
	fake_link(fake, "block/nvme8n2", "block/nvme8n1");
	fake_file(fake, "devices/n/nvme9n2/size", "2048");
	fake_link(fake, "devices/n/nvme9n2/device", "class/nvme/nvme9");
	fake_link(fake, "block/nvme9n2", "devices/n/nvme9n2");
	fake_link(fake, "dev/block/259:99", "devices/n/nvme9n2");
	assert_false(conflict(fake, DISK(8), makedev(259, 99)));
	assert_false(conflict(fake, DISK(9), makedev(259, 99)));
}

static struct dnd_drive drive_of(struct fake *fake, dev_t device, const char *path)
{
	struct dnd_drive drive = { .fd = -1, .path = path, .device = device };

	assert_int_equal(dnd_blockdev_resolve(fake->ctx, device, path, &drive.blockdev), 0);
	return drive;
}

/* For a destination file on the source drive, VERIFY says that the copy wrote to its own source. */
static void file_on_the_drive(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	struct dnd_drive disk, part, other, file;

	path_of(fake, 8, NQN);
	path_of(fake, 9, NQN);
	second_partition(fake);
	disk = drive_of(fake, DISK(9), "/dev/nvme9n1");
	part = drive_of(fake, PART(8), "/dev/nvme8n1p1");
	other = drive_of(fake, SECOND_PART, "/dev/nvme9n1p2");
	file = drive_of(fake, PART(9), "/mnt/file");
	file.is_file = true;
	assert_true(dnd_drive_may_hold(fake->ctx, &disk, &file));
	assert_true(dnd_drive_may_hold(fake->ctx, &part, &file));
	assert_false(dnd_drive_may_hold(fake->ctx, &other, &file));
	assert_false(dnd_drive_may_hold(fake->ctx, &disk, &part));
	assert_false(dnd_drive_may_hold(fake->ctx, &file, &file));
}

static void bytes_of_one_namespace(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	struct dnd_drive a, b, part;

	path_of(fake, 8, NQN);
	path_of(fake, 9, NQN);
	a = drive_of(fake, DISK(8), "/dev/nvme8n1");
	b = drive_of(fake, DISK(9), "/dev/nvme9n1");
	part = drive_of(fake, PART(9), "/dev/nvme9n1p1");
	assert_int_equal(dnd_drive_overlap(&a, 0, &b, 0, 4096), DND_SHARE);
	assert_int_equal(dnd_drive_overlap(&a, 0, &b, 4096, 4096), DND_APART);
	assert_int_equal(dnd_drive_overlap(&a, 512 << 10, &part, 0, 4096), DND_SHARE);
	assert_int_equal(dnd_drive_overlap(&a, 0, &part, 0, 4096), DND_APART);
}

/* In the played sysfs the file system of /tmp lies on the drive. */
static void becomes(struct fake *fake, const char *folder)
{
	char link[64], path[160];
	struct stat st;

	assert_int_equal(stat(fake->root, &st), 0);
	snprintf(link, sizeof(link), "dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	snprintf(path, sizeof(path), "%s/%s", fake->root, link);
	unlink(path);
	fake_link(fake, link, folder);
}

/* Is the device found as mounted?  Only if the table of mounts has /tmp by its device number. */
static bool is_mounted(struct fake *fake, dev_t device)
{
	struct dnd_drive drive = drive_of(fake, device, "");

	return dnd_drive_check_unused(fake->ctx, &drive);
}

static int claim(struct fake *fake, dev_t device)
{
	struct dnd_drive drive = drive_of(fake, device, "/dev/nvme9n1");
	int rc = dnd_drive_claim_twins(fake->ctx, &drive), adopted;

	adopted = dnd_drive_check_unused(fake->ctx, &drive);
	dnd_drive_close(&drive);
	assert_int_equal(rc, adopted);
	return rc;
}

static void used_by_another_name(void **state)
{
	struct scene *scene = *state;
	struct fake *fake = scene->fake;

	path_of(fake, 8, NQN);
	path_of(fake, 9, NQN);
	second_partition(fake);
	becomes(fake, "block/nvme8n1");
	if (!is_mounted(fake, DISK(8)))
		skip();
	assert_int_equal(claim(fake, DISK(9)), -EBUSY);
	assert_says(donard_error(fake->ctx), "/dev/nvme9n1: it is mounted at /");
	assert_says(donard_error(fake->ctx), "/nvme8n1); writing to it would destroy the file system.");
	assert_int_equal(claim(fake, SECOND_PART), -EBUSY);
	becomes(fake, "block/nvme8n1/nvme8n1p1");
	assert_int_equal(claim(fake, PART(9)), -EBUSY);
	assert_says(donard_error(fake->ctx), "/nvme8n1p1); writing to it");
	assert_int_equal(claim(fake, SECOND_PART), 0);
	becomes(fake, "block/nvme7n1");
	assert_int_equal(claim(fake, DISK(9)), 0);
	fake_folder(fake, "block/nvme8n1/nvme8n1p1/holders/md4");
	assert_int_equal(claim(fake, DISK(9)), -EBUSY);
	assert_says(donard_error(fake->ctx), "/dev/nvme9n1: md4 is made of it (as ");
	assert_says(donard_error(fake->ctx), "/nvme8n1p1). Name that device");
	assert_int_equal(claim(fake, SECOND_PART), 0);
}

/* The kernel gives a partition to nobody while its disk is part of something else. */
static void disk_of_the_partition_is_used(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	struct dnd_drive drive;

	path_of(fake, 9, NQN);
	drive = drive_of(fake, PART(9), "/dev/nvme9n1p1");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &drive), 0);
	fake_folder(fake, "block/nvme9n1/holders/md4");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &drive), -EBUSY);
	assert_says(donard_error(fake->ctx), "/dev/nvme9n1p1: md4 is made of it (as ");
	assert_says(donard_error(fake->ctx), "/nvme9n1). Name that device");
}

/* A btrfs is mounted under a number of its own, by the name of one of its devices. */
static void used_by_a_btrfs(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	struct dnd_drive whole, part, other;
	char line[128];

	path_of(fake, 8, NQN "8");
	path_of(fake, 9, NQN "9");
	path_of(fake, 10, NQN "10");
	fake_link(fake, "class/block/nvme9n1", "block/nvme9n1");
	fake_link(fake, "fs/btrfs/0-1-2/devices/nvme9n1", "block/nvme9n1");
	fake_link(fake, "fs/btrfs/0-1-2/devices/nvme10n1", "block/nvme10n1");
	whole = drive_of(fake, DISK(9), "/dev/nvme9n1");
	part = drive_of(fake, PART(9), "/dev/nvme9n1p1");
	other = drive_of(fake, DISK(10), "/dev/nvme10n1");
	snprintf(line, sizeof(line), "36 35 0:45 / /mnt/b rw - btrfs %s/nvme9n1 rw", fake->root);
	played_mount = line;
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &whole), -EBUSY);
	assert_says(donard_error(fake->ctx), "/dev/nvme9n1: it is mounted at /mnt/b; writing to it would destroy the file system.");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &part), -EBUSY);
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &other), -EBUSY);
	assert_says(donard_error(fake->ctx), "/dev/nvme10n1: it is mounted at /mnt/b; writing to it");
	other = drive_of(fake, DISK(8), "/dev/nvme8n1");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &other), 0);
	/* bcachefs names all. */
	fake_link(fake, "class/block/nvme8n1", "block/nvme8n1");
	snprintf(line, sizeof(line), "36 35 0:45 / /mnt/b rw - bcachefs %s/nvme8n1:%s/nvme7n1 rw", fake->root, fake->root);
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &other), -EBUSY);
	played_mount = NULL;
}

/* Their file system is mounted under the number of another drive. */
static void used_by_an_xfs_elsewhere(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	struct dnd_drive drive;
	char line[128];

	path_of(fake, 8, NQN "8");
	path_of(fake, 9, NQN "9");
	fake_link(fake, "class/block/nvme9n1", "block/nvme9n1");
	drive = drive_of(fake, DISK(9), "/dev/nvme9n1");
	played_mount = line;
	snprintf(line, sizeof(line), "36 35 0:45 / /mnt/x rw - xfs /dev/nvme8n1 rw,logdev=/nowhere/nvme9n1");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &drive), 0);
	snprintf(line, sizeof(line), "36 35 259:128 / /mnt/x rw - xfs /dev/nvme8n1 rw,logdev=/nowhere/nvme9n1");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &drive), -EBUSY);
	assert_says(donard_error(fake->ctx), "/dev/nvme9n1: it is mounted at /mnt/x; writing to it");
	snprintf(line, sizeof(line), "36 35 259:128 / /mnt/x rw - xfs /dev/nvme8n1 rw,rtdev=/nowhere/nvme9n1,inode64");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &drive), -EBUSY);
	snprintf(line, sizeof(line), "36 35 259:128 / /mnt/x rw - xfs /dev/nvme8n1 rw,inode64");
	assert_int_equal(dnd_drive_check_unused(fake->ctx, &drive), 0);
	played_mount = NULL;
}

/* A device that is no drive of ours is not resolved; but that it is mounted is said first, since others would write there, too. */
static void adopts_no_mounted_device(void **state)
{
	struct scene *scene = *state;
	struct donard_context *ctx = scene->fake->ctx;
	struct dnd_drive drive;
	int fd;

	write_file(scene->out, scene->data, 65536);
	fd = open(scene->out, O_RDWR);
	played_mount = "36 35 7:99 / /mnt/loop rw - ext4 /dev/loop99 rw";
	played_block = makedev(7, 99);
	assert_int_equal(dnd_drive_adopt(ctx, fd, "/dev/loop99", &drive), -EBUSY);
	assert_says(donard_error(ctx), "/dev/loop99: it is mounted at /mnt/loop, and its adopted descriptor would write");
	played_block = makedev(7, 98);
	assert_int_not_equal(dnd_drive_adopt(ctx, fd, "/dev/loop98", &drive), -EBUSY);
	close(fd);
	fd = open(scene->out, O_RDONLY);
	played_block = makedev(7, 99);
	assert_int_not_equal(dnd_drive_adopt(ctx, fd, "/dev/loop99", &drive), -EBUSY);
	played_block = 0;
	played_mount = NULL;
	close(fd);
}

static bool stale(struct fake *fake, const char *node, dev_t device, char says[1024])
{
	char path[256];

	fake_file(fake, node, "");
	snprintf(path, sizeof(path), "%s/%s", fake->root, node);
	says[0] = '\0';
	return dnd_node_is_stale(fake->root, fake->root, path, device, says, 1024);
}

static void volume(struct fake *fake, int number, const char *name)
{
	char path[64], target[64], device[16];

	snprintf(target, sizeof(target), "block/dm-%d", number);
	snprintf(device, sizeof(device), "240:%d", number);
	snprintf(path, sizeof(path), "%s/dev", target);
	fake_file(fake, path, device);
	snprintf(path, sizeof(path), "%s/dm/name", target);
	fake_file(fake, path, name);
	snprintf(path, sizeof(path), "dev/block/%s", device);
	fake_link(fake, path, target);
}

static void stale_volumes(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	char says[1024];

	volume(fake, 0, "vg-data");
	volume(fake, 1, "vg-precious");
	volume(fake, 2, "my--vg-my--lv");
	volume(fake, 3, "a\\x20blank");
	volume(fake, 4, "vg--other-data");
	assert_true(stale(fake, "mapper/vg-data", makedev(240, 1), says));
	assert_says(says, "/mapper/vg-data: its node leads to dm-1 (vg-precious), and not to vg-data.");
	assert_true(stale(fake, "mapper/vg-gone", makedev(240, 1), says));
	assert_true(stale(fake, "mapper/vg-data", makedev(259, 3), says));
	assert_false(stale(fake, "mapper/vg-data", makedev(240, 0), says));
	assert_false(stale(fake, "mapper/a blank", makedev(240, 3), says));
	assert_false(stale(fake, "mapper/a\\x20blank", makedev(240, 3), says));
	assert_true(stale(fake, "vg/data", makedev(240, 1), says));
	assert_says(says, "and not to vg/data.");
	assert_true(stale(fake, "vg/gone", makedev(240, 1), says));
	assert_true(stale(fake, "vg/data", makedev(240, 4), says));
	assert_false(stale(fake, "vg/data", makedev(240, 0), says));
	assert_false(stale(fake, "my-vg/my-lv", makedev(240, 2), says));
	/* Names that a user made, and that the kernel does not know. */
	assert_false(stale(fake, "vg/gone", makedev(240, 4), says));
	assert_false(stale(fake, "mine/disk", makedev(240, 1), says));
	assert_false(stale(fake, "disk/by-id/data", makedev(240, 1), says));
	assert_false(stale(fake, "mapper/mine", makedev(259, 3), says));
}

static void stale_arrays(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	char says[1024];

	fake_file(fake, "class/block/md_home/dev", "9:127");
	assert_true(stale(fake, "md/home", makedev(9, 126), says));
	assert_says(says, "and not to md/home.");
	assert_false(stale(fake, "md/home", makedev(9, 127), says));
	assert_false(stale(fake, "md/0", makedev(9, 127), says));
}

/* If another file is opened than the one that was examined, nothing of it is read or written. */
static void replaced_while_opened(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	char other[160];

	snprintf(other, sizeof(other), "%s-other", scene->out);
	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, scene->data, 65536);
	write_file(other, scene->data + 65536, 65536);
	swapped_flags = O_RDWR | O_DIRECT;
	for (int i = 0; i < 2; i++) {
		swapped_in = i ? "/dev/null" : other;
		assert_int_equal(copy(scene, "p2pmem0", scene->out), -EBUSY);
		assert_says(donard_error(ctx), "/out: it was replaced while it was opened. Try again.");
		assert_string_equal(donard_error_code(ctx), "busy");
	}
	assert_file(other, scene->data + 65536, 65536);
	swapped_flags = O_DIRECT;
	swapped_in = other;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EBUSY);
	assert_says(donard_error(ctx), "/in: it was replaced");
	unlink(scene->out);
	swapped_flags = O_TMPFILE;
	swapped_in = in_memory;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EBUSY);
	assert_says(donard_error(ctx), "/out: its folder was replaced while it was opened.");
	assert_int_equal(access(scene->out, F_OK), -1);
}

#define NVME_TARGET	"kernel/config/nvmet/subsystems/nqn.lab/namespaces/7"
#define SCSI_TARGET	"kernel/config/target/core/fileio_0/disk"

static void exported(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;

	write_file(scene->out, scene->data, 65536);
	fake_file(scene->fake, NVME_TARGET "/device_path", scene->out);
	fake_file(scene->fake, NVME_TARGET "/enable", "1");
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EBUSY);
	assert_says(donard_error(ctx), "/out: this machine exports it (");
	assert_says(donard_error(ctx), "/" NVME_TARGET "), and writing to it would overwrite");
	assert_file(scene->out, scene->data, 65536);
	fake_file(scene->fake, NVME_TARGET "/enable", "0");
	fake_file(scene->fake, SCSI_TARGET "/udev_path", scene->out);
	fake_file(scene->fake, SCSI_TARGET "/enable", "1");
	fake_file(scene->fake, "kernel/config/target/core/fileio_0/hba_mode", "");
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EBUSY);
	assert_says(donard_error(ctx), "/" SCSI_TARGET ")");
	fake_file(scene->fake, SCSI_TARGET "/udev_path", scene->in);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);
	/* A name may have any bytes. */
	strcat(scene->out, "\xe4\t ");
	write_file(scene->out, scene->data, 65536);
	fake_file(scene->fake, SCSI_TARGET "/udev_path", scene->out);
	assert_int_equal(copy(scene, "p2pmem0", scene->out), -EBUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(disks_of_one_namespace), CASE(file_on_the_drive), CASE(bytes_of_one_namespace),
		CASE(used_by_another_name), CASE(stale_volumes),
		CASE(disk_of_the_partition_is_used), CASE(used_by_a_btrfs), CASE(used_by_an_xfs_elsewhere),
		CASE(adopts_no_mounted_device), CASE(stale_arrays), CASE(replaced_while_opened), CASE(exported),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
