// SPDX-License-Identifier: Apache-2.0
/* See log.h.  The library never prints anything, and ignores it if the log cannot be written. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/letters.h"
#include "base/printable.h"
#include "cufile/locks.h"
#include "cufile/log.h"
#include "words/words.h"

#define LINE_BYTES	2048	/* what a line says */
#define LONGEST_BYTES	(5 * PATH_MAX)	/* a path, of which each byte may become an escape of four */

static const char *const words[] = { "NOTICE", "ERROR", "WARN", "INFO", "DEBUG", "TRACE" };

/* Remedies in the library's texts, and the settings of cufile.json that replace them.  ALLOW_UNLISTED has no such setting. */
static const struct cli_term remedies[] = {
	{ "pass ALLOW_BOUNCE, else", "set properties.force_compat_mode in cufile.json, else" },	/* an error of the drive */
	{ "as root (CAP_SYS_ADMIN), or pass ALLOW_BOUNCE", "as root (CAP_SYS_ADMIN), or set properties.force_compat_mode in cufile.json" },
	{ "pass ALLOW_UNLISTED to try it, or ALLOW_BOUNCE", "set properties.allow_compat_mode in cufile.json" },
	{ "pass ALLOW_BOUNCE", "set properties.allow_compat_mode in cufile.json" },
	{ "let the queue bounce (ALLOW_BOUNCE)", "set properties.allow_compat_mode in cufile.json" },
	{ NULL, NULL },
};

static enum cuf_level most = CUF_LOG_ERROR;
static char place[PATH_MAX];
static int log_fd = -1;

/*
 * localtime_r() and gmtime_r() take a lock of the C library that a thread of the parent may have had at a fork(), and no child
 * gets it then.  So a child has the offset from UTC that the parent saw last: 0 if it never opened the driver.
 */
static bool in_child;
static long offset_seconds;	/* both with the lock */

int cuf_log_level_of(const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (dnd_is_word(word, words[i]))
			return (int)i;
	return -1;
}

/* The caller holds the lock. */
static void close_log(void)
{
	if (log_fd >= 0)
		close(log_fd);
	log_fd = -1;
}

static int days_of_year(int year)
{
	return year % 4 || (year % 100 == 0 && year % 400) ? 365 : 366;
}

static int days_of_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month] + (month == 1 && days_of_year(year) == 366);
}

static void compute_time(time_t since_1970, struct tm *parts)
{
	long long days = since_1970 / 86400, seconds = since_1970 % 86400;
	int year = 1970, month = 0;

	for (; days >= days_of_year(year); year++)
		days -= days_of_year(year);
	for (; days >= days_of_month(year, month); month++)
		days -= days_of_month(year, month);
	*parts = (struct tm){
		.tm_year = year - 1900, .tm_mon = month, .tm_mday = (int)days + 1, .tm_hour = (int)(seconds / 3600),
		.tm_min = (int)(seconds / 60 % 60), .tm_sec = (int)(seconds % 60),
	};
}

static void take_time(time_t now, struct tm *parts)
{
	if (in_child) {
		compute_time(now + offset_seconds, parts);
		return;
	}
	localtime_r(&now, parts);
	offset_seconds = parts->tm_gmtoff;
}

void cuf_log_after_fork(void)
{
	in_child = true;
}

/* An opening of the driver that failed may have written to another place. */
void cuf_log_set(enum cuf_level level, const char *file, const char *folder)
{
	time_t now = time(NULL);
	char before[PATH_MAX];
	struct tm parts;

	cuf_lock(CUF_LOCK_LOG);
	take_time(now, &parts);
	__atomic_store_n(&most, level, __ATOMIC_RELAXED);
	memcpy(before, place, sizeof(before));
	if (file[0])
		snprintf(place, sizeof(place), "%s", file);
	else if (folder[0])
		snprintf(place, sizeof(place), "%s/cufile_%d_%lld.log", folder, getpid(), (long long)now);
	else
		snprintf(place, sizeof(place), "cufile.log");
	if (strcmp(before, place))
		close_log();
	cuf_unlock(CUF_LOCK_LOG);
}

static void write_line(enum cuf_level level, const char *text)
{
	char line[LINE_BYTES + 256];
	struct timespec now;
	struct tm parts;
	int bytes;

	clock_gettime(CLOCK_REALTIME, &now);
	take_time(now.tv_sec, &parts);
	bytes = snprintf(line, sizeof(line), "%02d-%02d-%04d %02d:%02d:%02d:%03ld [pid=%d tid=%d] %s %s\n", parts.tm_mday,
			 parts.tm_mon + 1, parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000000,
			 getpid(), gettid(), words[level], text);
	if (log_fd < 0)
		log_fd = open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log_fd >= 0 && write(log_fd, line, (size_t)bytes) < 0)
		return;
}

bool cuf_log_has(enum cuf_level level)
{
	return level <= __atomic_load_n(&most, __ATOMIC_RELAXED);
}

/*
 * Makes a line of the log.  A file's name may hold any byte and be long, so this escapes line ends and shortens the name rather
 * than the message.  The texts are static because they are too large for the stacks of some threads.  The caller holds the
 * lock.
 */
static const char *line_of(const char *format, va_list args)
{
	static char text[LONGEST_BYTES], line[LONGEST_BYTES];

	vsnprintf(text, sizeof(text), format, args);
	dnd_make_printable(text, sizeof(text));
	/* Texts of libdonard name calls and options, but readers of a log use commands and cufile.json. */
	cli_in_words(text, remedies, line, sizeof(line));
	dnd_shorten(line, LINE_BYTES);
	return line;
}

void cuf_log(enum cuf_level level, const char *format, ...)
{
	va_list args;

	if (!cuf_log_has(level))
		return;
	va_start(args, format);
	cuf_lock(CUF_LOCK_LOG);
	write_line(level, line_of(format, args));
	cuf_unlock(CUF_LOCK_LOG);
	va_end(args);
}

void cuf_log_close(void)
{
	cuf_lock(CUF_LOCK_LOG);
	close_log();
	cuf_unlock(CUF_LOCK_LOG);
}
