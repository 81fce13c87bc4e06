// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "unit.h"

#include "drive/file_check.h"
#include "fake_sysfs.h"

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

int fake_setup(void **state)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct donard_config config = { .size = sizeof(config) };

	/* /tmp may be a tmpfs, which has no drive that files could be copied from. */
	strcpy(fake->root, "/var/tmp/donard-unit-XXXXXX");
	if (!mkdtemp(fake->root))
		return -1;
	snprintf(fake->files, sizeof(fake->files), "%s-files", fake->root);
	if (mkdir(fake->files, 0755))
		return -1;
	config.sysfs_root = fake->root;
	config.dev_root = fake->root;
	fake_folder(fake, "class");	/* else there is no sysfs at all */
	*state = fake;
	return donard_open(&fake->ctx, &config);
}

static void remove_folder(const char *folder)
{
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int fake_teardown(void **state)
{
	struct fake *fake = *state;

	donard_close(fake->ctx);
	remove_folder(fake->root);
	remove_folder(fake->files);
	free(fake);
	return 0;
}

void needs_supported_file_system(const char *path)
{
	struct statfs fs;

	assert_int_equal(statfs(path, &fs), 0);
	if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC)
		skip();
}

bool __wrap_dnd_file_is_flushed(int fd, struct dnd_doubt *doubt);
bool __wrap_dnd_file_is_flushed(int fd, struct dnd_doubt *doubt)
{
	(void)fd;
	(void)doubt;
	return true;
}

bool __wrap_dnd_file_journal_is_inside(struct donard_context *ctx, int fd, struct dnd_doubt *doubt);
bool __wrap_dnd_file_journal_is_inside(struct donard_context *ctx, int fd, struct dnd_doubt *doubt)
{
	(void)ctx;
	return __wrap_dnd_file_is_flushed(fd, doubt);
}

static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

void fake_folder(struct fake *fake, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s/", fake->root, path);
	make_parents(full);
}

void fake_file(struct fake *fake, const char *path, const char *value)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", fake->root, path);
	make_parents(full);
	file = fopen(full, "w");
	fprintf(file, "%s\n", value);
	fclose(file);
}

void fake_link(struct fake *fake, const char *path, const char *target)
{
	char from[PATH_MAX], to[PATH_MAX];

	snprintf(from, sizeof(from), "%s/%s", fake->root, path);
	snprintf(to, sizeof(to), "%s/%s", fake->root, target);
	make_parents(from);
	if (symlink(to, from))
		abort();
}

static void attribute(struct fake *fake, const char *folder, const char *name, const char *value)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fake_file(fake, path, value);
}

void fake_region(struct fake *fake, const char *name, const char *kind, const char *bdf)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "class/p2pmem/%s", name);
	attribute(fake, folder, "kind", kind);
	attribute(fake, folder, "bdf", bdf);
	attribute(fake, folder, "bar", "2");
	attribute(fake, folder, "offset", "0");
	attribute(fake, folder, "size", "268435456");
	attribute(fake, folder, "available", "134217728");
	attribute(fake, folder, "page_type", "generic");
	attribute(fake, folder, "memtype", "uc");
	attribute(fake, folder, "persistent", strcmp(kind, "nvme-pmr") ? "0" : "1");
	attribute(fake, folder, "state", "ready");
	attribute(fake, folder, "pmem", strcmp(kind, "nvme-pmr") ? "" : "pmem0");
	attribute(fake, folder, "unrouted", "0000:05:00.0\n0000:06:00.0");
	attribute(fake, folder, "holders", "12 fio 4096 0\n13 my tool 8192 2 0000:01:00.0");
}

void fake_nvme(struct fake *fake, int number, const char *bdf)
{
	char folder[128], path[PATH_MAX], target[PATH_MAX];

	snprintf(folder, sizeof(folder), "devices/pci/%s/nvme/nvme%d", bdf, number);
	attribute(fake, folder, "transport", "pcie");
	attribute(fake, folder, "address", bdf);
	attribute(fake, folder, "state", "live");
	attribute(fake, folder, "model", "Model X");
	attribute(fake, folder, "serial", "S1");
	snprintf(path, sizeof(path), "class/nvme/nvme%d", number);
	fake_link(fake, path, folder);

	snprintf(target, sizeof(target), "%s/nvme%dn1", folder, number);
	attribute(fake, target, "size", "2048");
	attribute(fake, target, "queue/logical_block_size", "4096");
	snprintf(path, sizeof(path), "%s/device", target);
	fake_link(fake, path, folder);
	snprintf(path, sizeof(path), "block/nvme%dn1", number);
	fake_link(fake, path, target);
	snprintf(path, sizeof(path), "dev/block/259:%d", number * 16);
	fake_link(fake, path, target);

	snprintf(path, sizeof(path), "%s/nvme%dn1p1", target, number);
	attribute(fake, path, "partition", "1");
	attribute(fake, path, "start", "1024");
	attribute(fake, path, "size", "512");
	snprintf(folder, sizeof(folder), "dev/block/259:%d", number * 16 + 1);
	fake_link(fake, folder, path);
}

void fake_bytes(struct fake *fake, const char *path, const void *data, size_t count)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", fake->root, path);
	file = fopen(full, "w");
	if (!file || fwrite(data, 1, count, file) != count)
		abort();
	fclose(file);
}

void fake_pci(struct fake *fake, const char *bdf, const char *place, const char *class,
	      const char *resource)
{
	char folder[256], path[512];

	snprintf(folder, sizeof(folder), "devices/%s/%s", place, bdf);
	attribute(fake, folder, "class", class);
	attribute(fake, folder, "resource", resource);
	snprintf(path, sizeof(path), "bus/pci/devices/%s", bdf);
	fake_link(fake, path, folder);
}

void fake_driver(struct fake *fake, const char *bdf, const char *name)
{
	char path[256], target[256];

	snprintf(target, sizeof(target), "bus/pci/drivers/%s", name);
	fake_folder(fake, target);
	snprintf(path, sizeof(path), "bus/pci/devices/%s/driver", bdf);
	fake_link(fake, path, target);
}

/* Extended capabilities: AER at 0x100, then the serial number at 0x148, its last byte first. */
void fake_pci_serial(struct fake *fake, const char *bdf)
{
	static const uint8_t number[] = { 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00 };
	uint8_t config[4096] = { 0 };
	char path[128];

	memcpy(config + 0x100, "\x01\x00\x82\x14", 4);
	memcpy(config + 0x148, "\x03\x00\x01\x00", 4);
	memcpy(config + 0x14c, number, sizeof(number));
	snprintf(path, sizeof(path), "bus/pci/devices/%s/config", bdf);
	fake_bytes(fake, path, config, sizeof(config));
}

void fake_cmb_drive(struct fake *fake, const char *bdf, const char *place, const char *serial)
{
	char folder[128];

	fake_pci(fake, bdf, place, "0x010802",
		 FAKE_16K FAKE_NO_BAR FAKE_64M FAKE_NO_BAR FAKE_64M FAKE_NO_BAR);
	fake_driver(fake, bdf, "nvme");
	snprintf(folder, sizeof(folder), "bus/pci/devices/%s/nvme/nvme0", bdf);
	attribute(fake, folder, "serial", serial);
	attribute(fake, folder, "model", "Fast Drive/2");
	attribute(fake, folder, "cmb", "cmbloc : 0x00002002\ncmbsz  : 0x0002021f");
}

void fake_info_name(int fd, struct p2pmem_info *info)
{
	char link[64], node[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, node, sizeof(node) - 1) > 0);
	snprintf(info->name, sizeof(info->name), "%s", basename(node));
}
