/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufile.log: what a number that is returned cannot say.  As with cuFile, it is
 * $CUFILE_LOGFILE_PATH, a file in logging.dir, or cufile.log in the working
 * folder; it is made with the first line.
 */
#ifndef CUF_LOG_H
#define CUF_LOG_H

/* In cuFile's order: each has all above it. */
enum cuf_level {
	CUF_LOG_NOTICE,
	CUF_LOG_ERROR,
	CUF_LOG_WARN,
	CUF_LOG_INFO,
	CUF_LOG_DEBUG,
	CUF_LOG_TRACE,
};

/* -1: no such word. */
int cuf_log_level_of(const char *word);
/* @file or else @folder may be "". */
void cuf_log_set(enum cuf_level level, const char *file, const char *folder);
void cuf_log(enum cuf_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cuf_log_close(void);

#endif /* CUF_LOG_H */
