/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka wants these before its own header, in this order. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A time limit that only ends a hang, whatever waits. */
#define HANG_SECONDS 120

/* Some of what a program asks of the kernel valgrind answers by itself, or keeps from it. */
static inline bool under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

#endif /* UNIT_H */
