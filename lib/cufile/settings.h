/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings.  The value that the program set before it opened the driver comes first,
 * then the environment, cufile.json, and the default.  They are read when the driver is
 * opened.  A few may change later, so numbers and flags are read and written atomically.
 */
#ifndef CUF_SETTINGS_H
#define CUF_SETTINGS_H

#include "cufile/abi.h"

enum cuf_denied {
	CUF_DENIED_DEVICES,	/* "/dev/nvme0n1" */
	CUF_DENIED_MOUNTS,	/* "/mnt/scratch" */
	CUF_DENIED_FILE_SYSTEMS,	/* "xfs" */
	CUF_DENIED_COUNT,
};

struct cuf_limits {
	size_t least, most;
};

/* Reads all settings.  Returns 0, or CUF_DRIVER_INVALID_PROPS with a line in the log. */
int cuf_settings_load(void);
/* Forgets them, and what the program set. */
void cuf_settings_forget(void);
/* Forgets only the settings that were read; those that the program set are kept for the next opening. */
void cuf_settings_unload(void);

size_t cuf_size(enum cuf_size parameter);
bool cuf_flag(enum cuf_flag parameter);
/* The text is valid until the driver is closed. */
const char *cuf_text(enum cuf_text parameter);
struct cuf_limits cuf_size_limits(enum cuf_size parameter);

/* Change settings while the driver is open.  Returns 0, or CUF_DRIVER_UNSUPPORTED_LIMIT. */
int cuf_size_change(enum cuf_size parameter, size_t value);
void cuf_flag_change(enum cuf_flag parameter, bool value);

/* Set what the next opening uses.  Each returns 0, or CUF_INVALID_VALUE. */
int cuf_size_stage(enum cuf_size parameter, size_t value);
int cuf_flag_stage(enum cuf_flag parameter, bool value);
int cuf_text_stage(enum cuf_text parameter, const char *text);

/* The list that was read when the driver was opened, with NULL behind its last entry; or NULL. */
char *const *cuf_settings_denied(enum cuf_denied list);

#endif /* CUF_SETTINGS_H */
