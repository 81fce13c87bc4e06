/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVMe command Compare: the drive reads memory and compares it with its blocks, and
 * changes neither.  So it proves that a drive reaches memory, whatever the drive holds.
 */
#ifndef DONARD_DOCTOR_COMPARE_H
#define DONARD_DOCTOR_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

enum compare_result {
	COMPARE_EQUAL,
	COMPARE_DIFFERENT,
	COMPARE_FAILED,		/* *status says why */
};

#define COMPARE_TEXT_BYTES	128

/* Does the drive have the command, and may this process use it?  If not, @why says why.  @fd: a namespace. */
bool compare_fit(int fd, char why[COMPARE_TEXT_BYTES]);
/* Compares the first @bytes of the namespace with memory.  *status is the drive's status, or -errno. */
enum compare_result compare_with(int fd, const void *memory, size_t bytes, int *status);
/* Does the @status of a failure mean that the drive or the kernel does not take the command? */
bool compare_unsupported(int status);

#endif /* DONARD_DOCTOR_COMPARE_H */
