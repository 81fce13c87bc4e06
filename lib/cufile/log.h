/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufile.log: explains what a returned number cannot say.  As with cuFile, its path is
 * $CUFILE_LOGFILE_PATH, a file in logging.dir, or cufile.log in the working folder.
 * The first line creates it.
 */
#ifndef CUF_LOG_H
#define CUF_LOG_H

#include <stdbool.h>

/* In cuFile's order: each level includes those before it. */
enum cuf_level {
	CUF_LOG_NOTICE,
	CUF_LOG_ERROR,
	CUF_LOG_WARN,
	CUF_LOG_INFO,
	CUF_LOG_DEBUG,
	CUF_LOG_TRACE,
};

/* Returns -1 if there is no such word. */
int cuf_log_level_of(const char *word);
/* @file is the log if it is not ""; else the log is in @folder, or in the working folder if that is "". */
void cuf_log_set(enum cuf_level level, const char *file, const char *folder);
/* Are lines of this level written?  Ask before computing something only for the log. */
bool cuf_log_has(enum cuf_level level);
void cuf_log(enum cuf_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cuf_log_close(void);

#endif /* CUF_LOG_H */
