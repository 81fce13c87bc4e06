/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVMe's command Compare: the drive reads memory and compares it with a block, and
 * changes neither.  So it proves that a drive reaches memory, on any drive.
 */
#ifndef DONARD_DOCTOR_COMPARE_H
#define DONARD_DOCTOR_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

enum compare_result {
	COMPARE_EQUAL,
	COMPARE_DIFFERENT,
	COMPARE_FAILED,		/* with *status */
};

#define COMPARE_TEXT_BYTES	128

/* Is it there, and may this process use it? @fd: of a namespace. Otherwise with the reason in @why. */
bool compare_fit(int fd, char why[COMPARE_TEXT_BYTES]);
/* The blocks at the start of the namespace with memory. *status: of the drive, or -errno. */
enum compare_result compare_with(int fd, const void *memory, size_t bytes, int *status);
/* Is @status, of a failure, that of a drive or kernel that does not take the command? */
bool compare_unsupported(int status);

#endif /* DONARD_DOCTOR_COMPARE_H */
