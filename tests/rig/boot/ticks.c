// SPDX-License-Identifier: Apache-2.0
/*
 * Prints how many kHz the processor's time-stamp counter has, which software emulation gives its guest as it is (QEMU,
 * system/cpu-timers.c, cpu_get_ticks()). The kernel's own option is an integer of kHz; nothing is printed where the host
 * has no such counter.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>

#define TRIES 1000
#define WAIT_NS 100000000L

struct moment {
	int64_t ns;
	uint64_t ticks;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Returns the fastest of many tries, in which the host did not take the processor away between the readings. */
static struct moment this_moment(void)
{
	struct moment best = { 0 };
	int64_t least = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		int64_t before = now_ns();
		uint64_t ticks = __rdtsc();
		int64_t took = now_ns() - before;

		if (took >= least)
			continue;
		least = took;
		best = (struct moment){ .ns = before + took / 2, .ticks = ticks };
	}
	return best;
}

int main(void)
{
	struct timespec wait = { .tv_nsec = WAIT_NS };
	struct moment from = this_moment(), to;

	nanosleep(&wait, NULL);
	to = this_moment();
	printf("%.0f\n", (double)(to.ticks - from.ticks) * 1e6 / (double)(to.ns - from.ns));
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
