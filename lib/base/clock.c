// SPDX-License-Identifier: Apache-2.0
/* The clock for all timing: it never jumps. */
#include <time.h>

#include "base/clock.h"

uint64_t dnd_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

double dnd_now_seconds(void)
{
	return (double)dnd_now_ns() / 1e9;
}
