// SPDX-License-Identifier: Apache-2.0
/*
 * What device-mapper's target log-writes wrote down on a device.
 *
 *   logwrites LOG upto MARK	the number of entries that a drive has for sure which loses its power at that mark: up to the
 *				last flush before it
 *   logwrites LOG replay COUNT DRIVE
 *				writes so many entries to a drive
 *
 * The format is the kernel's (drivers/md/dm-log-writes.c).
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC		0x6a736677736872ULL
#define SECTOR		512
#define FLUSH		1
#define FUA		2
#define DISCARD		4
#define MARK		8

struct super {
	uint64_t magic, version, entries;
	uint32_t sector_bytes;
};

struct entry {
	uint64_t sector, sectors, flags, data_bytes;
};

static int log_fd, drive_fd = -1;
static struct super super;
static uint64_t at;

static void get(void *to, size_t bytes)
{
	if (pread(log_fd, to, bytes, (off_t)at) != (ssize_t)bytes)
		err(2, "the log cannot be read");
}

static void replay(const struct entry *entry)
{
	uint64_t bytes = entry->sectors * SECTOR;
	void *data;

	if (entry->flags & (DISCARD | MARK) || !bytes)
		return;
	data = malloc(bytes);
	if (!data)
		err(2, "%llu bytes", (unsigned long long)bytes);
	get(data, bytes);
	if (pwrite(drive_fd, data, bytes, (off_t)(entry->sector * SECTOR)) != (ssize_t)bytes)
		err(2, "the drive cannot be written");
	free(data);
}

static bool is_mark(const struct entry *entry, const char *mark)
{
	char name[SECTOR];

	if (!(entry->flags & MARK))
		return false;
	memcpy(name, (char *)entry + sizeof(*entry), sizeof(name) - sizeof(*entry));
	return entry->data_bytes == strlen(mark) && !memcmp(name, mark, entry->data_bytes);
}

/* The entry and what stands in its sector; then its data begin. */
static struct entry *next(void)
{
	static uint64_t words[4096 / 8];
	struct entry *entry = (void *)words;

	get(words, super.sector_bytes);
	at += super.sector_bytes;
	return entry;
}

static void skip_data(const struct entry *entry)
{
	if (!(entry->flags & (DISCARD | MARK)))
		at += entry->sectors * SECTOR;
}

static void upto(const char *mark)
{
	uint64_t durable = 0;

	for (uint64_t i = 0; i < super.entries; i++) {
		struct entry *entry = next();

		if (is_mark(entry, mark)) {
			printf("%llu\n", (unsigned long long)durable);
			return;
		}
		/* Its own bytes come after the flush. */
		if (entry->flags & FLUSH)
			durable = entry->sectors && !(entry->flags & FUA) ? i : i + 1;
		skip_data(entry);
	}
	errx(1, "no mark %s in %llu entries", mark, (unsigned long long)super.entries);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(2, "see the top of logwrites.c");
	log_fd = open(argv[1], O_RDONLY);
	if (log_fd < 0)
		err(2, "%s", argv[1]);
	get(&super, sizeof(super));
	if (super.magic != MAGIC || super.sector_bytes > 4096)
		errx(2, "%s: no log of log-writes", argv[1]);
	at = super.sector_bytes;
	if (!strcmp(argv[2], "upto")) {
		upto(argv[3]);
		return 0;
	}
	drive_fd = argc == 5 ? open(argv[4], O_WRONLY) : -1;
	if (drive_fd < 0)
		err(2, "%s", argv[4]);
	for (uint64_t i = 0; i < super.entries && i < strtoull(argv[3], NULL, 10); i++) {
		struct entry *entry = next();

		replay(entry);
		skip_data(entry);
	}
	return fsync(drive_fd) ? 1 : 0;
}
