// SPDX-License-Identifier: Apache-2.0
/* Bytes that nobody can predict. */
#include <stdlib.h>
#include <sys/random.h>

#include "base/base.h"

void dnd_nonce(void *dram, size_t bytes)
{
	uint8_t *byte = dram;
	ssize_t got;

	for (size_t at = 0; at < bytes; at += (size_t)got) {
		got = getrandom(byte + at, bytes - at, 0);
		if (got <= 0) {
			byte[at] = (uint8_t)random();
			got = 1;
		}
	}
}
