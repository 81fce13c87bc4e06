/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure: its stable word, its errno, its text, and what it is about.  This file uses no context, because libdonard-meter is
 * built with it, too.
 */
#ifndef DND_FAILURE_H
#define DND_FAILURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "donard/donard.h"

#define DND_TEXT_BYTES	1024
#define DND_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* Which argument is at fault, and the numbers. */
struct dnd_fault {
	const char *member;	/* as in struct donard_failure; lives as long as the program, or NULL */
	uint64_t value;
	uint64_t limit;
	uint32_t known;		/* DONARD_FAILURE_* */
};

#define DND_AT(at)	((struct dnd_fault){ .member = (at) })
#define DND_VALUE(at, number)							\
	((struct dnd_fault){ .member = (at), .value = (number), .known = DONARD_FAILURE_VALUE })
#define DND_LIMITED(at, number, bound, kind)					\
	((struct dnd_fault){ .member = (at), .value = (number), .limit = (bound), .known = DONARD_FAILURE_VALUE | (kind) })
#define DND_MOST(at, number, bound)	DND_LIMITED(at, number, bound, DONARD_FAILURE_MOST)
#define DND_LEAST(at, number, bound)	DND_LIMITED(at, number, bound, DONARD_FAILURE_LEAST)
#define DND_MULTIPLE(at, number, unit)	DND_LIMITED(at, number, unit, DONARD_FAILURE_MULTIPLE)
/* For a range that does not fit into @bytes: the length is at fault if the offset alone fits. */
struct dnd_fault dnd_past_end(uint64_t offset, uint64_t length, uint64_t bytes);
/* For a range that is not made of whole units. */
struct dnd_fault dnd_unaligned(uint64_t offset, uint64_t length, uint64_t unit);

struct dnd_failure {
	const char *code;
	char text[DND_TEXT_BYTES];
	char object[DND_TEXT_BYTES];
	struct dnd_fault fault;
};

/* Returns the failure in the form that programs get; the strings stay those of @failure. */
struct donard_failure dnd_failure_data(const struct dnd_failure *failure);

/* Stable error words; failure.c has the table of texts and errno values. */
enum dnd_error {
	DND_OK,
	DND_E_SYSTEM,
	DND_E_NO_MEMORY,
	DND_E_NO_MODULE,
	DND_E_NO_SUCH_REGION,
	DND_E_NO_SUCH_DEVICE,
	DND_E_BAD_NAME,
	DND_E_BAD_OPTION,
	DND_E_PERMISSION,
	DND_E_ALIGNMENT,
	DND_E_PAST_END,
	DND_E_NO_SPACE,
	DND_E_BUSY,
	DND_E_MOUNTED,
	DND_E_READ_ONLY,
	DND_E_NOT_NVME,
	DND_E_FILE_SYSTEM,
	DND_E_OVERLAP,
	DND_E_OTHER_DRIVER,
	DND_E_UNREACHABLE,
	DND_E_UNSUPPORTED,
	DND_E_NOT_DELIVERED,
	DND_E_MISMATCH,
	DND_E_OUTSIDE,
	DND_E_REGION_GONE,
	DND_E_DRIVE_GONE,
	DND_E_DEVICE,
	DND_E_BOUNCES,
	DND_E_CANCELED,
	DND_E_NO_RDMA,
	DND_E_PORT_DOWN,
	DND_E_LOCKED_MEMORY,
	DND_E_NOT_OFFERED,
	DND_E_REFUSED,
	DND_E_PEER_LOST,
	DND_E_PEER_SILENT,
	DND_E_PROTOCOL,
	DND_E_WITHDRAWN,
	DND_E_TOO_NEW,
	DND_E_QUEUE_FULL,
	DND_E_NOT_FORMATTED,
	DND_E_DAMAGED,
	DND_E_OTHER_VERSION,
	DND_E_HAS_DATA,
	DND_E_OTHER_DRIVE,
	DND_E_BAD_HANDLE,
	DND_E_COUNT
};

const char *dnd_error_word(enum dnd_error error);
int dnd_error_errno(enum dnd_error error);
/* Does this errno, or -errno, mean a lack of descriptors or memory?  Such a failure says nothing about what was asked for. */
bool dnd_error_is_want(int error_number);
/* The error with this word; if @word is NULL or unknown, the error that stands for the errno. */
enum dnd_error dnd_error_of(const char *word, int error_number);

/*
 * Each fills in the failure and returns the negative errno.  A text about one object begins with the object's name and a
 * colon; its format then begins with one of the openings in failure.c ("%s:"), by which the object is found.  None of these
 * functions names an argument at fault; dnd_fail_member() (base.h) does.  A text that is too long loses the middle of its
 * names, so that cause and remedy are always there.
 */
int dnd_failure_set(struct dnd_failure *failure, enum dnd_error error, const char *format, va_list args)
	DND_PRINTF(3, 0);
/* Appends the text of strerror().  @error_number may be negative. */
int dnd_failure_set_errno(struct dnd_failure *failure, int error_number, const char *format, va_list args)
	DND_PRINTF(3, 0);
/* Like dnd_failure_set_errno(), and appends @remedy if the errno is EACCES or EPERM. */
int dnd_failure_set_access(struct dnd_failure *failure, int error_number, const char *remedy,
			   const char *format, va_list args) DND_PRINTF(4, 0);
/* Appends to the text; the code stays. */
void dnd_failure_more(struct dnd_failure *failure, const char *format, va_list args) DND_PRINTF(2, 0);
/* Takes a failure that was reported elsewhere: an errno, a word or NULL, and a text.  Its object is not known. */
int dnd_failure_set_text(struct dnd_failure *failure, int error_number, const char *word, const char *text);

#endif /* DND_FAILURE_H */
