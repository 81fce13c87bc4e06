// SPDX-License-Identifier: Apache-2.0
/*
 * pattern MIB - prints that many MiB in which no two 8-byte words are equal, so that a block in a wrong
 * place is noticed.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 131072

int main(int argc, char **argv)
{
	static uint64_t block[WORDS];
	unsigned long mib;

	if (argc != 2)
		errx(2, "usage: pattern MIB");
	mib = strtoul(argv[1], NULL, 10);
	for (unsigned long m = 0; m < mib; m++) {
		/* An odd multiplier: different numbers give different words. */
		for (uint64_t i = 0; i < WORDS; i++)
			block[i] = (m * WORDS + i + 1) * 0x9e3779b97f4a7c15ULL;
		if (fwrite(block, sizeof(block), 1, stdout) != 1)
			err(1, "stdout");
	}
	return fflush(stdout) ? 1 : 0;
}
