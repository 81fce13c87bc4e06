// SPDX-License-Identifier: Apache-2.0
/*
 * libinih splits lines into sections, keys and values.  What it passes over is refused
 * here: lines that are too long, keys before a section, sections without keys, and
 * whatever is unknown.  The line numbers are the reader's.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regionconf.h"
#include "regionkeys.h"
#include "similar.h"
#include "tool/exit.h"

struct parse {
	struct region_config *config;
	struct region_section *section;	/* the section of the last head; NULL until that has a key */
	const char *file;
	FILE *stream;
	unsigned int line, head_line;	/* head_line 0: before the first head */
	bool failed;
};

__attribute__((format(printf, 3, 4)))
static int refuse(struct parse *parse, unsigned int line, const char *format, ...)
{
	char text[512];
	va_list args;

	if (parse->failed)
		return 0;
	parse->failed = true;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(parse->config->error, sizeof(parse->config->error), "%.400s:%u: %s.", parse->file, line,
		 text);
	return 0;
}

static void end_section(struct parse *parse)
{
	char why[384];

	if (parse->section && !regionkeys_complete(parse->section, why, sizeof(why)))
		refuse(parse, parse->section->line, "%s", why);
	else if (parse->head_line && !parse->section)
		refuse(parse, parse->head_line, "the section is empty. Fill it, or remove its head");
	parse->section = NULL;
}

/* libinih would ignore a key behind the head, on its line. */
static void check_head(struct parse *parse, const char *line)
{
	const char *end = strchr(line, ']');

	if (!end)
		refuse(parse, parse->line, "the head has no ']'. Heads look like [NAME]");
	else if (!strchr("\r\n;#", end[1 + strspn(end + 1, " \t")]))	/* strchr() finds the end of the string, too */
		refuse(parse, parse->line, "something stands behind the head, [NAME]. Put it into a line of its own");
}

/* libinih calls this in place of fgets(): it sees faults of a line that libinih does not report. */
static char *read_line(char *line, int room, void *user)
{
	struct parse *parse = user;
	long start = ftell(parse->stream);

	if (parse->failed || !fgets(line, room, parse->stream))
		return NULL;
	parse->line++;
	/* A power cut may leave bytes of zero, which end a string: what follows them would be ignored. */
	if (start >= 0 && ftell(parse->stream) - start != (long)strlen(line)) {
		refuse(parse, parse->line, "it has bytes of zero, as a power cut may leave them. Write the file anew");
		return NULL;
	}
	if (!strchr(line, '\n') && !feof(parse->stream)) {
		refuse(parse, parse->line, "the line has more than %d characters. Shorten it", room - 2);
		return NULL;
	}
	if (line[strspn(line, " \t\xef\xbb\xbf")] == '[') {
		/* libinih would take an indented head for a continuation of the value above. */
		if (parse->section && strspn(line, " \t"))
			refuse(parse, parse->line, "a blank stands before the head, [NAME]. Begin it in the first column");
		end_section(parse);
		parse->head_line = parse->line;
		check_head(parse, line);
	}
	return parse->failed ? NULL : line;
}

/* The name becomes the name of a link. */
static bool name_is_good(const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= REGIONCONF_NAME_BYTES || !isalnum((unsigned char)name[0]))
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return false;
	return true;
}

static int begin_section(struct parse *parse, const char *name)
{
	struct region_config *config = parse->config;
	const struct region_section *twin = regionconf_find(config, name);
	struct region_section *section;

	if (!name_is_good(name))
		return refuse(parse, parse->head_line, "'%s' is no name of a region. Use up to %d letters, "
			      "digits, '.', '_' and '-', and begin with a letter or digit", name,
			      REGIONCONF_NAME_BYTES - 1);
	if (twin)
		return refuse(parse, parse->head_line, "[%s] stands at %.300s:%u already. Choose another "
			      "name", name, twin->file, twin->line);
	section = realloc(config->sections, (config->count + 1) * sizeof(*section));
	if (!section)
		return refuse(parse, parse->head_line, "there is no memory left");
	config->sections = section;
	section += config->count++;
	memset(section, 0, sizeof(*section));
	snprintf(section->name, sizeof(section->name), "%s", name);
	snprintf(section->file, sizeof(section->file), "%s", parse->file);
	section->line = parse->head_line;
	section->function = -1;
	section->mode = REGIONCONF_MODE;
	strcpy(section->group, REGIONCONF_GROUP);
	strcpy(section->user, "root");
	parse->section = section;
	return 1;
}

static int unknown_key(struct parse *parse, const char *name)
{
	struct cli_guess guess = { .word = name };

	for (const struct region_key *key = region_keys; key->name; key++)
		cli_guess_consider(&guess, key->name);
	if (guess.best)
		return refuse(parse, parse->line, "'%s' is no key. Did you mean '%s'?"
			      " donard-regions.conf(5) has all keys", name, guess.best);
	return refuse(parse, parse->line, "'%s' is no key. donard-regions.conf(5) has all keys", name);
}

static int take(void *user, const char *head, const char *name, const char *value)
{
	struct parse *parse = user;
	unsigned int index = 0;
	char why[256];

	if (parse->failed)
		return 0;
	if (!parse->head_line)
		return refuse(parse, parse->line, "'%s' stands before the first section. Begin with [NAME]",
			      name);
	if (!parse->section && !begin_section(parse, head))
		return 0;
	while (region_keys[index].name && strcmp(region_keys[index].name, name))
		index++;
	if (!region_keys[index].name)
		return unknown_key(parse, name);
	if (parse->section->given & 1U << index)
		return refuse(parse, parse->line, "'%s' is given twice. Remove one, and begin no line with a "
			      "blank", name);
	parse->section->given |= 1U << index;
	if (!region_keys[index].take(parse->section, value, why, sizeof(why)))
		return refuse(parse, parse->line, "%s: %s", name, why);
	return 1;
}

static int unreadable(struct region_config *config, const char *path)
{
	bool denied = errno == EACCES || errno == EPERM;

	config->error_code = denied ? "permission" : "system";
	config->exit_code = EXIT_FAILED;
	snprintf(config->error, sizeof(config->error), "%.400s: cannot be read (%s).%s", path, strerror(errno),
		 !denied ? " Mend that, or give another folder by --config." : geteuid() ? " Run as root." :
		 " Its owner and mode, or a security module, keep root out here. Give it to root.");
	return -1;
}

/* Cuts the last name off, down to "/" or "". */
static void to_parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path && slash[1]] = '\0';
	else
		path[0] = '\0';
}

/*
 * After a failed open, with errno: is there no such file?  A dangling link counts as present, whether it is the file or a
 * folder above it: its target may lie on a file system that is not mounted yet.
 */
static bool is_absent(const char *path)
{
	int error = errno;
	char there[PATH_MAX];
	struct stat st;
	bool absent;

	snprintf(there, sizeof(there), "%s", path);
	while (there[0] && strcmp(there, "/") && lstat(there, &st) && errno == ENOENT)
		to_parent(there);
	absent = error == ENOENT && strcmp(there, path) && (!there[0] || !stat(there, &st));
	errno = error;
	return absent;
}

int regionconf_load_file(struct region_config *config, const char *path)
{
	struct parse parse = { .config = config, .file = path, .stream = fopen(path, "re") };
	int bad_line, rc = 0;

	if (!parse.stream && is_absent(path))
		return 0;
	if (!parse.stream)
		return unreadable(config, path);
	errno = 0;
	bad_line = ini_parse_stream(read_line, &parse, take, &parse);
	if (ferror(parse.stream) || bad_line < 0)
		rc = unreadable(config, path);
	else if (bad_line > 0)
		refuse(&parse, (unsigned int)bad_line, "this is neither [NAME] nor KEY = VALUE. Mend the "
		       "line, or begin it with '#'");
	if (!rc)
		end_section(&parse);
	fclose(parse.stream);
	return rc || parse.failed ? -1 : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 && !strcmp(entry->d_name + length - 5, ".conf");
}

static int load_drop_ins(struct region_config *config, const char *dir)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count, rc = 0;

	count = scandir(dir, &entries, is_drop_in, alphasort);
	if (count < 0 && !is_absent(dir))
		return unreadable(config, dir);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		if (!rc)
			rc = regionconf_load_file(config, path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return rc;
}

int regionconf_lock(void)
{
	int fd = open("/dev/p2pmem_control", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

int regionconf_load(struct region_config *config, const char *dir)
{
	char path[PATH_MAX];
	int rc;

	memset(config, 0, sizeof(*config));
	config->error_code = "bad-configuration";
	config->exit_code = EXIT_USAGE;
	snprintf(path, sizeof(path), "%s/regions.conf", dir);
	rc = regionconf_load_file(config, path);
	snprintf(path, sizeof(path), "%s/regions.d", dir);
	return rc ? rc : load_drop_ins(config, path);
}

int regionconf_load_named(struct region_config *config, const char *dir)
{
	if (!access(dir, F_OK))
		return regionconf_load(config, dir);
	memset(config, 0, sizeof(*config));
	return unreadable(config, dir);
}

void regionconf_free(struct region_config *config)
{
	free(config->sections);
	config->sections = NULL;
	config->count = 0;
}

const struct region_section *regionconf_find(const struct region_config *config, const char *name)
{
	for (size_t i = 0; i < config->count; i++)
		if (!strcmp(config->sections[i].name, name))
			return &config->sections[i];
	return NULL;
}
