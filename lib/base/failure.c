// SPDX-License-Identifier: Apache-2.0
/* See failure.h.  One table of failures: the stable word, the errno and the usual remedy. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/printable.h"

static const struct {
	const char *word;
	int error_number;
	const char *remedy;	/* appended to the text; NULL if the text has one */
} errors[DND_E_COUNT] = {
	[DND_OK] = { "ok", 0, NULL },
	[DND_E_SYSTEM] = { "system", EIO, NULL },
	[DND_E_NO_MEMORY] = { "no-memory", ENOMEM, NULL },
	[DND_E_NO_MODULE] = { "no-module", EOPNOTSUPP, "Load it with 'sudo modprobe p2pmem'" },
	[DND_E_NO_SUCH_REGION] = { "no-such-region", ENODEV,
				   "donard_region_list() shows what exists" },
	[DND_E_NO_SUCH_DEVICE] = { "no-such-device", ENODEV, NULL },
	[DND_E_BAD_NAME] = { "bad-name", EINVAL, NULL },
	[DND_E_BAD_OPTION] = { "bad-option", EINVAL, NULL },
	[DND_E_PERMISSION] = { "permission", EACCES, NULL },
	[DND_E_ALIGNMENT] = { "alignment", EINVAL, NULL },
	[DND_E_PAST_END] = { "past-end", ENXIO, NULL },
	[DND_E_NO_SPACE] = { "no-space", ENOSPC, NULL },
	[DND_E_BUSY] = { "busy", EBUSY, NULL },
	[DND_E_MOUNTED] = { "mounted", EBUSY, NULL },
	[DND_E_READ_ONLY] = { "read-only", EROFS, NULL },
	[DND_E_NOT_NVME] = { "not-nvme", ENOTBLK, "Name an NVMe block device, or a file on ext4 or xfs on one" },
	[DND_E_FILE_SYSTEM] = { "file-system", EMEDIUMTYPE, "Put the file on ext4 or xfs" },
	[DND_E_OVERLAP] = { "overlap", EINVAL, NULL },
	[DND_E_OTHER_DRIVER] = { "other-driver", EBUSY, NULL },
	[DND_E_UNREACHABLE] = { "unreachable", EHOSTUNREACH, NULL },
	[DND_E_UNSUPPORTED] = { "unsupported", EOPNOTSUPP, NULL },
	[DND_E_NOT_DELIVERED] = { "not-delivered", EBADMSG, NULL },
	[DND_E_MISMATCH] = { "mismatch", EBADMSG, NULL },
	[DND_E_OUTSIDE] = { "outside-region", EXDEV, NULL },
	[DND_E_REGION_GONE] = { "region-gone", ENODEV, NULL },
	[DND_E_DRIVE_GONE] = { "drive-gone", ENODEV, NULL },
	[DND_E_DEVICE] = { "device", EIO, NULL },
	[DND_E_BOUNCES] = { "bounces", EOPNOTSUPP, NULL },
	[DND_E_CANCELED] = { "canceled", ECANCELED, NULL },
	[DND_E_NO_RDMA] = { "no-rdma-device", EOPNOTSUPP, NULL },
	[DND_E_PORT_DOWN] = { "port-down", ENETDOWN, NULL },
	[DND_E_LOCKED_MEMORY] = { "locked-memory", ENOMEM, NULL },
	[DND_E_NOT_OFFERED] = { "not-offered", EACCES, NULL },
	[DND_E_REFUSED] = { "refused", ECONNREFUSED, NULL },
	[DND_E_PEER_LOST] = { "peer-lost", ECONNRESET, NULL },
	[DND_E_PEER_SILENT] = { "peer-silent", ETIMEDOUT, NULL },
	[DND_E_PROTOCOL] = { "protocol", EPROTO, NULL },
	[DND_E_TOO_NEW] = { "too-new", E2BIG, "Use the library that the program was built for, "
			    "or a later one" },
	[DND_E_QUEUE_FULL] = { "queue-full", EAGAIN, NULL },
	[DND_E_NOT_FORMATTED] = { "not-formatted", ENODATA, NULL },
	[DND_E_DAMAGED] = { "damaged", EILSEQ, NULL },
	[DND_E_OTHER_VERSION] = { "other-version", EPROTONOSUPPORT, NULL },
	[DND_E_HAS_DATA] = { "has-data", EBUSY, NULL },
	[DND_E_OTHER_DRIVE] = { "other-drive", ENODEV, NULL },
	[DND_E_BAD_HANDLE] = { "bad-handle", EBADF, NULL },
	[DND_E_WITHDRAWN] = { "withdrawn", ESHUTDOWN, NULL },
};

const char *dnd_error_word(enum dnd_error error)
{
	return errors[error].word;
}

int dnd_error_errno(enum dnd_error error)
{
	return errors[error].error_number;
}

static enum dnd_error from_errno(int error_number)
{
	switch (error_number) {
	case EACCES:
	case EPERM:
		return DND_E_PERMISSION;
	case ENOMEM:
		return DND_E_NO_MEMORY;
	case ENOSPC:
		return DND_E_NO_SPACE;
	case EBUSY:
		return DND_E_BUSY;
	case ENOENT:
	case ENODEV:
		return DND_E_NO_SUCH_DEVICE;
	case EROFS:
		return DND_E_READ_ONLY;
	case EOPNOTSUPP:
		return DND_E_UNSUPPORTED;
	case EHOSTUNREACH:
		return DND_E_UNREACHABLE;
	default:
		return DND_E_SYSTEM;
	}
}

bool dnd_error_is_want(int error_number)
{
	int error = abs(error_number);

	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* The remedy when descriptors run out, whatever was to be opened. */
static const char *of_descriptors(int error_number)
{
	switch (error_number) {
	case EMFILE:
		return "This process has as many descriptors as it may: close some, or raise its limit (ulimit -n)";
	case ENFILE:
		return "All programs together have as many files open as the machine allows: end some, or raise the limit "
		       "(sysctl fs.file-max)";
	}
	return NULL;
}

enum dnd_error dnd_error_of(const char *word, int error_number)
{
	for (unsigned int error = DND_OK + 1; word && error < DND_E_COUNT; error++)
		if (!strcmp(errors[error].word, word))
			return error;
	return from_errno(error_number);
}

/* Room for two paths in which many bytes become escapes.  It is on the stack, because allocating memory may be what failed. */
#define LONGEST_BYTES	(3 * PATH_MAX)

/* Shortens @text in place. */
static void put(struct dnd_failure *failure, char *text)
{
	dnd_shorten(text, sizeof(failure->text));
	memcpy(failure->text, text, strlen(text) + 1);
}

/* The ways in which a format begins if its text is about one object. */
static const char *const openings[] = { "%s", "gpu:%d", "gpu:%u", "gpu:%s", "%#llx", "dram" };

/* Returns the opening of @format, or NULL if the text names no object.  @ending is appended, and may supply the colon. */
static const char *opening_of(const char *format, const char *ending)
{
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		size_t length = strlen(openings[i]);

		if (!strncmp(format, openings[i], length) && (format[length] ? format + length : ending)[0] == ':')
			return openings[i];
	}
	return NULL;
}

/* Formats into local buffers, because the arguments may be strings of the failure itself. */
static void set_text(struct dnd_failure *failure, const char *ending, const char *format, va_list args)
{
	const char *opening = opening_of(format, ending);
	char text[LONGEST_BYTES], object[PATH_MAX] = "";
	va_list again;

	va_copy(again, args);
	vsnprintf(text, sizeof(text), format, args);
	if (opening)
		vsnprintf(object, sizeof(object), opening, again);
	va_end(again);
	dnd_make_printable(text, sizeof(text));
	put(failure, text);
	dnd_make_printable(object, sizeof(object));
	dnd_shorten(object, sizeof(failure->object));
	memcpy(failure->object, object, strlen(object) + 1);
	failure->fault = (struct dnd_fault){ 0 };
}

/* If the whole is too long, the names in front are shortened, and not what is appended: the cause or the remedy. */
static void append(struct dnd_failure *failure, const char *before, const char *text, const char *after)
{
	char whole[2 * DND_TEXT_BYTES];

	snprintf(whole, sizeof(whole), "%s%s%s%s", failure->text, before, text, after);
	put(failure, whole);
}

void dnd_failure_more(struct dnd_failure *failure, const char *format, va_list args)
{
	char more[DND_TEXT_BYTES];

	vsnprintf(more, sizeof(more), format, args);
	dnd_make_printable(more, sizeof(more));
	append(failure, more, "", "");
}

int dnd_failure_set(struct dnd_failure *failure, enum dnd_error error, const char *format, va_list args)
{
	set_text(failure, "", format, args);
	if (errors[error].remedy)
		append(failure, ". ", errors[error].remedy, ".");
	failure->code = errors[error].word;
	return -errors[error].error_number;
}

static int end_errno(struct dnd_failure *failure, int error_number)
{
	if (error_number < 0)
		error_number = -error_number;
	append(failure, ": ", strerror(error_number), ".");
	if (of_descriptors(error_number))
		append(failure, " ", of_descriptors(error_number), ".");
	failure->code = errors[from_errno(error_number)].word;
	return -error_number;
}

int dnd_failure_set_errno(struct dnd_failure *failure, int error_number, const char *format, va_list args)
{
	set_text(failure, ":", format, args);
	return end_errno(failure, error_number);
}

int dnd_failure_set_access(struct dnd_failure *failure, int error_number, const char *remedy,
			   const char *format, va_list args)
{
	int rc = dnd_failure_set_errno(failure, error_number, format, args);

	if (rc == -EACCES || rc == -EPERM)
		append(failure, " ", remedy, ".");
	return rc;
}

int dnd_failure_set_text(struct dnd_failure *failure, int error_number, const char *word, const char *text)
{
	if (error_number < 0)
		error_number = -error_number;
	if (text != failure->text)
		snprintf(failure->text, sizeof(failure->text), "%s", text);
	dnd_make_printable(failure->text, sizeof(failure->text));
	failure->object[0] = '\0';
	failure->fault = (struct dnd_fault){ 0 };
	failure->code = errors[dnd_error_of(word, error_number)].word;
	return -error_number;
}

struct donard_failure dnd_failure_data(const struct dnd_failure *failure)
{
	const struct dnd_fault *fault = &failure->fault;

	return (struct donard_failure){
		.size = sizeof(struct donard_failure), .code = failure->code, .text = failure->text, .object = failure->object,
		.member = fault->member ? fault->member : "", .value = fault->value, .limit = fault->limit, .known = fault->known,
	};
}

struct dnd_fault dnd_past_end(uint64_t offset, uint64_t length, uint64_t bytes)
{
	if (offset >= bytes)
		return DND_MOST("offset", offset, bytes ? bytes - 1 : 0);
	return length ? DND_MOST("length", length, bytes - offset) : DND_LEAST("length", length, 1);
}

struct dnd_fault dnd_unaligned(uint64_t offset, uint64_t length, uint64_t unit)
{
	if (offset % unit)
		return DND_MULTIPLE("offset", offset, unit);
	return length ? DND_MULTIPLE("length", length, unit) : DND_LEAST("length", length, 1);
}
