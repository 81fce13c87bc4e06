/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that run twice, by io_uring and as where the kernel refuses it.  They link with --wrap=io_uring_queue_init. */
#ifndef ENGINES_H
#define ENGINES_H

#include <errno.h>
#include <liburing.h>

#include "unit.h"

static int refused_with;	/* the errno, or 0 */

int __real_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	return refused_with ? -refused_with : __real_io_uring_queue_init(entries, ring, flags);
}

#define run_by_both_engines(tests) ({ \
	int failed_ = cmocka_run_group_tests_name("by io_uring", tests, NULL, NULL); \
	refused_with = EPERM; \
	failed_ + cmocka_run_group_tests_name("by Linux AIO", tests, NULL, NULL); \
})

#endif /* ENGINES_H */
