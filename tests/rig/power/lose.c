// SPDX-License-Identifier: Apache-2.0
/*
 * lose FILE UNIT SEED - does what a power cut does: each page of FILE that differs from FILE.durable (flush.c) becomes the
 * old one, the new one, or a mixture of both in pieces of UNIT bytes. Then both files are the same.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "extents.h"

static uint64_t state;
static size_t unit_bytes;
static unsigned int lost, differed;

/* xorshift64 (Marsaglia, 2003) */
static uint64_t dice(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void lose_page(int file, int durable, off_t at, void *user)
{
	char now[PAGE_BYTES], kept[PAGE_BYTES];
	unsigned int fate;

	(void)user;
	read_page(file, at, now);
	read_page(durable, at, kept);
	if (!memcmp(now, kept, PAGE_BYTES))
		return;
	differed++;
	fate = (unsigned int)(dice() >> 32) % 3;
	for (size_t i = 0; i < PAGE_BYTES; i += unit_bytes)
		if (fate == 0 || (fate == 1 && dice() >> 63))
			memcpy(now + i, kept + i, unit_bytes);
	lost += fate != 2;
	write_page(file, at, now);
	write_page(durable, at, now);
}

int main(int argc, char **argv)
{
	char name[4096];
	int file, durable;

	if (argc != 4)
		errx(2, "usage: lose FILE UNIT SEED");
	unit_bytes = strtoul(argv[2], NULL, 10);
	state = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15U + 1;
	snprintf(name, sizeof(name), "%s.durable", argv[1]);
	file = open(argv[1], O_RDWR);
	durable = open(name, O_RDWR);
	if (file < 0 || durable < 0 || !unit_bytes || PAGE_BYTES % unit_bytes)
		err(2, "%s", argv[1]);
	each_page(file, durable, lose_page, NULL);
	printf("%u of %u pages lost their newest bytes, or some of them\n", lost, differed);
	return 0;
}
