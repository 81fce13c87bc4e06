// SPDX-License-Identifier: Apache-2.0
/* A section names its device by the serial number if there is one, else by the device's place. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regionkeys.h"
#include "regionwrite.h"

#define HEAD	"# Written by 'donard-cli region save', which writes it anew when the region has changed."

/* "0000:03:00.1" -> 1 */
static int function_of(const char *bdf)
{
	const char *dot = strrchr(bdf, '.');

	return dot ? dot[1] - '0' : 0;
}

/* Takes the serial number unless other memory has the same. */
static void choose_identity(const struct machine *machine,
			    const struct donard_candidate_info *candidate,
			    struct region_section *section)
{
	const struct donard_candidate_info *found;

	section->function = -1;
	snprintf(section->serial, sizeof(section->serial), "%s", candidate->serial);
	/* A reader of the file would take the rest of such a number for a comment. */
	if (strchr(section->serial, ';') || regionkeys_is_commented(section->serial))
		section->serial[0] = '\0';
	if (section->serial[0] && machine_find(machine, section, &found) == 1)
		return;
	section->function = function_of(candidate->bdf);
	if (section->serial[0] && machine_find(machine, section, &found) == 1)
		return;
	section->function = -1;
	section->serial[0] = '\0';
	snprintf(section->path, sizeof(section->path), "%s", candidate->path);
}

static void describe_range(const struct machine *machine, const struct donard_candidate_info *candidate,
			   const struct donard_region_info *region, struct region_section *section)
{
	uint64_t end = region_offset(candidate, region) + region->size_bytes, all = candidate->size_bytes;

	section->offset_bytes = region_offset(candidate, region);
	/* A region ends with a whole unit, though its memory may not.  Regions of a pool have any size. */
	if (region_is_pooled(region) ? end != all : end < regionkeys_whole(all))
		section->length_bytes = region_length(region);
	if (region_is_pooled(region) && machine_has_all_of_pool(machine, region, candidate))
		section->length_bytes = 0;
}

/*
 * @name: the name of a user or group that a lookup found, or NULL.  The lookup began with errno 0.  Fails without a name, since
 * the node would then become root's.
 */
static bool take_name(char *to, size_t bytes, const char *name, const char *what, unsigned int number,
		      char why[REGIONWRITE_WHY_BYTES])
{
	int error = errno;

	bool fits = name && strlen(name) < bytes;

	if (fits)
		strcpy(to, name);
	else if (name)
		snprintf(why, REGIONWRITE_WHY_BYTES, "its node belongs to the %s '%.64s...', and a section takes names of at most "
			 "%zu characters. Give the node to another", what, name, bytes - 1);
	else if (regionkeys_is_none(error))
		snprintf(why, REGIONWRITE_WHY_BYTES, "its node belongs to %s %u, which has no name, and the configuration "
			 "takes names alone. Give that %s a name, or the node to another", what, number, what);
	else
		snprintf(why, REGIONWRITE_WHY_BYTES, "its node belongs to %s %u, whose name the user database does not say "
			 "(%s). Try again", what, number, strerror(error));
	return fits;
}

static bool describe_permissions(const char *name, struct region_section *section, char why[REGIONWRITE_WHY_BYTES])
{
	const struct passwd *user;
	const struct group *group;
	struct stat st;
	char path[64];

	strcpy(section->user, "root");
	strcpy(section->group, REGIONCONF_GROUP);
	section->mode = REGIONCONF_MODE;
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (stat(path, &st))
		return true;
	section->mode = st.st_mode & 0666;
	errno = 0;
	user = getpwuid(st.st_uid);
	if (!take_name(section->user, sizeof(section->user), user ? user->pw_name : NULL, "user", st.st_uid, why))
		return false;
	errno = 0;
	group = getgrgid(st.st_gid);
	return take_name(section->group, sizeof(section->group), group ? group->gr_name : NULL, "group", st.st_gid, why);
}

bool regionwrite_describe(const struct machine *machine, const struct donard_candidate_info *candidate,
			  const struct donard_region_info *region, struct region_section *section,
			  char why[REGIONWRITE_WHY_BYTES])
{
	why[0] = '\0';
	memset(section, 0, sizeof(*section));
	section->kind = region->kind;
	section->bar = regionkeys_take_bar(region->kind) ? region->bar : 0;
	section->page_type = region->page_type;
	section->memtype = region->memtype;
	section->folio_bytes = region->folio_bytes > 4096 ? region->folio_bytes : 0;
	section->pinned_importers = region->pinned_importers;
	choose_identity(machine, candidate, section);
	describe_range(machine, candidate, region, section);
	return describe_permissions(region->name, section, why);
}

static bool is_taken(const struct region_config *config, const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/regions.d/%s.conf", dir, name);
	return regionconf_find(config, name) || !access(path, F_OK);
}

/* Returns the suffix of the device's name that tells its memories apart: "bar2", "cmb". */
static const char *memory_of(const struct donard_candidate_info *candidate)
{
	const char *dash = strrchr(candidate->by_path, '-');

	return dash ? dash + 1 : donard_region_kind_text(candidate->kind);
}

void regionwrite_choose_name(const struct region_config *config, const char *dir,
			     const struct donard_candidate_info *candidate, struct region_section *section)
{
	const char *what = section->serial[0] ? section->serial : section->path + strlen("pci-");
	char name[REGIONCONF_NAME_BYTES - sizeof("-99999") + 1];

	snprintf(name, sizeof(name), "%s-%s", memory_of(candidate), what);
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = *at == ':' ? '.' : '-';
	snprintf(section->name, sizeof(section->name), "%s", name);
	for (int n = 2; is_taken(config, dir, section->name); n++)
		snprintf(section->name, sizeof(section->name), "%s-%d", name, n);
}

/*
 * How much of a pool is free, and how much of a GPU's BAR CUDA left, varies: a section without a length takes that much,
 * however much it is.
 */
static bool takes_what_is_free(const struct donard_region_info *region)
{
	return region_is_pooled(region) || region->kind == DONARD_KIND_GPU_NVIDIA;
}

/* Keeps the section's way to name the device: which other devices are plugged in now says nothing about the next boot. */
static void keep_identity(const struct region_section *before, struct region_section *now)
{
	strcpy(now->serial, before->serial);
	strcpy(now->path, before->path);
	strcpy(now->slot, before->slot);
	now->function = before->function;
}

void regionwrite_keep(const struct region_section *before, const struct donard_region_info *region,
			    struct region_section *now)
{
	keep_identity(before, now);
	if (!before->page_type)
		now->page_type = 0;
	if (!before->memtype)
		now->memtype = 0;
	if (!before->bar && region->kind == DONARD_KIND_GPU_NVIDIA)
		now->bar = 0;
	if (!before->length_bytes && takes_what_is_free(region))
		now->length_bytes = 0;
	else if (!now->length_bytes && before->length_bytes == region_length(region))
		now->length_bytes = before->length_bytes;
}

static uint64_t folio_of(const struct region_section *section)
{
	return section->folio_bytes ? section->folio_bytes : 4096;
}

bool regionwrite_equal(const struct region_section *a, const struct region_section *b)
{
	return a->kind == b->kind && a->bar == b->bar && a->offset_bytes == b->offset_bytes &&
	       a->length_bytes == b->length_bytes && a->page_type == b->page_type &&
	       a->memtype == b->memtype && folio_of(a) == folio_of(b) &&
	       a->pinned_importers == b->pinned_importers &&
	       a->mode == b->mode && !strcmp(a->user, b->user) && !strcmp(a->group, b->group);
}

bool regionwrite_owns(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), heads = 0;
	char line[sizeof(HEAD) + 1] = "";
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (!fgets(line, sizeof(line), stream) || strncmp(line, HEAD, strlen(HEAD)))
		heads = 2;
	while (fgets(line, sizeof(line), stream))
		heads += line[0] == '[';
	fclose(stream);
	return heads == 1;
}

static void put_size(FILE *file, const char *key, uint64_t bytes)
{
	if (bytes && !(bytes & ((1 << 20) - 1)))
		fprintf(file, "%s = %lluM\n", key, (unsigned long long)bytes >> 20);
	else if (bytes)
		fprintf(file, "%s = %llu\n", key, (unsigned long long)bytes);
}

static void put_section(FILE *file, const struct region_section *section)
{
	fprintf(file, "%s\n[%s]\n", HEAD, section->name);
	if (section->serial[0])
		fprintf(file, "serial = %s\n", section->serial);
	else if (section->slot[0])
		fprintf(file, "slot = %s\n", section->slot);
	else
		fprintf(file, "path = %s\n", section->path);
	if (section->function >= 0)
		fprintf(file, "function = %d\n", section->function);
	fprintf(file, "kind = %s\n", donard_region_kind_text(section->kind));
	/* For a GPU, 0 means that the section has no such line. */
	if (section->kind == DONARD_KIND_PCI_BAR || section->bar)
		fprintf(file, "bar = %u\n", section->bar);
	put_size(file, "offset", section->offset_bytes);
	put_size(file, "length", section->length_bytes);
	if (section->page_type)
		fprintf(file, "page-type = %s\n", donard_page_type_text(section->page_type));
	if (section->memtype)
		fprintf(file, "memtype = %s\n", donard_memtype_text(section->memtype));
	put_size(file, "folio", section->folio_bytes);
	if (section->pinned_importers)
		fputs("pinned-importers = yes\n", file);
	fprintf(file, "user = %s\ngroup = %s\nmode = %04o\n", section->user, section->group,
		section->mode);
}

static bool is_read_back(const struct region_section *section, const char *part, char why[REGIONWRITE_WHY_BYTES])
{
	struct region_config config = { 0 };
	const struct region_section *read;
	const char *cause;

	if (regionconf_load_file(&config, part)) {
		/* Leaves out "PART:LINE: ", since that file does not exist any more.  A very long name is truncated there. */
		cause = strstr(config.error + strnlen(part, 400), ": ");
		snprintf(why, REGIONWRITE_WHY_BYTES, "%.300s Write its section by hand", cause ? cause + strlen(": ") : config.error);
	} else {
		read = regionconf_find(&config, section->name);
		if (!read || !regionwrite_equal(read, section) || read->function != section->function ||
		    strcmp(read->serial, section->serial) || strcmp(read->path, section->path) || strcmp(read->slot, section->slot))
			snprintf(why, REGIONWRITE_WHY_BYTES, "'%.60s' or the user '%s' is no value that a file can have. Write "
				 "its section by hand, with %s and another user", section->serial[0] ? section->serial :
				 section->path[0] ? section->path : section->slot, section->user,
				 section->slot[0] ? "the path" : "the slot");
	}
	regionconf_free(&config);
	return !why[0];
}

/* Everybody may read the folder's files, whatever the umask. */
static int make_folder(const char *path)
{
	if (mkdir(path, 0755))
		return errno == EEXIST ? 0 : errno;
	return chmod(path, 0755) ? errno : 0;
}

/* A crash leaves either the old file or the new one.  mkostemp() gives the temporary file a name that nobody else uses. */
static int write_whole(const struct region_section *section, const char *path, char why[REGIONWRITE_WHY_BYTES])
{
	char part[PATH_MAX];
	FILE *file;
	int fd, rc = 0;

	if (snprintf(part, sizeof(part), "%s.XXXXXX", path) >= (int)sizeof(part))
		return ENAMETOOLONG;
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return errno;
	file = fdopen(fd, "w");
	if (!file) {
		rc = errno;
		close(fd);
		unlink(part);
		return rc;
	}
	fchmod(fd, 0644);
	put_section(file, section);
	if (fflush(file) || fsync(fileno(file)))
		rc = errno;
	if (fclose(file) && !rc)
		rc = errno;
	if (!rc && !is_read_back(section, part, why))
		rc = EINVAL;
	if (!rc && rename(part, path))
		rc = errno;
	if (rc)
		unlink(part);
	return rc;
}

int regionwrite_file(const struct region_section *section, const char *dir, char *path, size_t path_bytes,
		     char why[REGIONWRITE_WHY_BYTES])
{
	int rc;

	why[0] = '\0';
	snprintf(path, path_bytes, "%s/regions.d", dir);
	rc = make_folder(dir);
	if (!rc)
		rc = make_folder(path);
	snprintf(path, path_bytes, "%s/regions.d/%s.conf", dir, section->name);
	return rc ? rc : write_whole(section, path, why);
}
