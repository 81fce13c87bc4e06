// SPDX-License-Identifier: Apache-2.0
/*
 * metertest memcpy BYTES | dma BYTES DRIVE | hidden BYTES DRIVE REGION | idle SECONDS | twice
 *
 * Work whose traffic is known beforehand, under the best meter there is; prints "QUANTITY COUNT" lines.
 * LIBS: -ldonard-meter -ldonard
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <donard/meter.h>

static struct donard_context *ctx;
static struct donard_meter *meter;

static void check(int rc)
{
	if (rc < 0)
		errx(1, "%s", donard_error(ctx));
}

/* Pages of DRAM that are there. */
static uint64_t *memory(size_t bytes)
{
	uint64_t *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
			      -1, 0);

	if (made == MAP_FAILED)
		err(1, "mmap");
	return made;
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

/* Eight bytes at a time, whatever the C library would choose. */
static void copy_words(volatile uint64_t *to, const volatile uint64_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++)
		to[i] = from[i];
}

static void known_memcpy(size_t bytes)
{
	uint64_t *from = memory(bytes), *to = memory(bytes);

	check(donard_meter_own(meter, from, bytes));
	check(donard_meter_own(meter, to, bytes));
	check(donard_meter_begin(meter));
	copy_words(to, from, bytes);
}

static void read_all(int fd, void *to, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t got = pread(fd, (char *)to + at, bytes - at, (off_t)at);

		if (got <= 0)
			err(1, "read");
		at += (size_t)got;
	}
}

static void known_dma(size_t bytes, const char *drive)
{
	int fd = open_file(drive, O_RDONLY | O_DIRECT);
	void *to = memory(bytes);

	check(donard_meter_begin(meter));
	read_all(fd, to, bytes);
}

/* A read that forgot O_DIRECT: the page cache is the hidden copy. */
static void hidden_copy(size_t bytes, const char *drive, const char *region)
{
	int fd = open_file(drive, O_RDONLY), region_fd = open_file(region, O_RDWR);
	void *to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, region_fd, 0);

	if (to == MAP_FAILED)
		err(1, "%s", region);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		errx(1, "posix_fadvise");
	check(donard_meter_begin(meter));
	read_all(fd, to, bytes);
}

static void idle(unsigned int seconds)
{
	check(donard_meter_begin(meter));
	sleep(seconds);
}

/* A second meter is refused, and the first goes on. */
static void twice(void)
{
	struct donard_context *other;
	struct donard_meter *second;

	check(donard_open(&other, NULL));
	check(donard_meter_open(other, NULL, &second));
	check(donard_meter_begin(meter));
	if (donard_meter_begin(second) != -EBUSY)
		errx(1, "the second measurement was not refused: %s", donard_error(other));
	donard_meter_close(second);
	donard_close(other);
}

static void print(void)
{
	struct donard_measurement measurement = { .size = sizeof(measurement) };

	check(donard_meter_end(meter, &measurement));
	printf("meter %s\n", measurement.meter);
	for (unsigned int i = 0; i < DONARD_QUANTITIES; i++)
		if (measurement.known & (1U << i))
			printf("%s %" PRIu64 "\n", donard_quantity_name(i), measurement.count[i]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t amount = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;

	check(donard_open(&ctx, NULL));
	check(donard_meter_open(ctx, NULL, &meter));
	if (argc == 3 && !strcmp(mode, "memcpy"))
		known_memcpy(amount);
	else if (argc == 4 && !strcmp(mode, "dma"))
		known_dma(amount, argv[3]);
	else if (argc == 5 && !strcmp(mode, "hidden"))
		hidden_copy(amount, argv[3], argv[4]);
	else if (argc == 3 && !strcmp(mode, "idle"))
		idle((unsigned int)amount);
	else if (argc == 2 && !strcmp(mode, "twice"))
		twice();
	else
		errx(2, "usage: metertest memcpy|dma|hidden|idle|twice ...");
	print();
	donard_meter_close(meter);
	donard_close(ctx);
	return 0;
}
