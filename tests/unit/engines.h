/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that run twice, by io_uring and as where the kernel refuses it; where it does, once.  They link with
 * --wrap=io_uring_queue_init_params.
 */
#ifndef ENGINES_H
#define ENGINES_H

#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "base/uring_refused.h"
#include "unit.h"

static int refused_with;	/* the errno, or 0 */

int __real_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring, struct io_uring_params *params);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring, struct io_uring_params *params);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring, struct io_uring_params *params)
{
	return refused_with ? -refused_with : __real_io_uring_queue_init_params(entries, ring, params);
}

static inline void io_uring_is_refused(void **state)
{
	(void)state;
	print_message("%s\n", strerror(dnd_uring_ask()));
	skip();
}

/* One test, which is skipped, stands for all where the kernel refuses io_uring. */
#define run_by_io_uring(tests) ({ \
	const struct CMUnitTest refused_[] = { cmocka_unit_test(io_uring_is_refused) }; \
	dnd_uring_ask() ? cmocka_run_group_tests_name("by io_uring", refused_, NULL, NULL) : \
			  cmocka_run_group_tests_name("by io_uring", tests, NULL, NULL); \
})

#define run_by_both_engines(tests) ({ \
	int failed_ = run_by_io_uring(tests); \
	refused_with = EPERM; \
	failed_ + cmocka_run_group_tests_name("by Linux AIO", tests, NULL, NULL); \
})

#endif /* ENGINES_H */
