// SPDX-License-Identifier: Apache-2.0
/* The values that each key of a section takes: those of 'region add', and who may use the region. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regionkeys.h"

static bool take_text(char *to, size_t to_bytes, const char *value, char *why, size_t why_bytes)
{
	if (value[0] && strlen(value) < to_bytes) {
		strcpy(to, value);
		return true;
	}
	snprintf(why, why_bytes, value[0] ? "the value has more than %zu characters" :
		 "there is no value. Give one, or leave the line out", to_bytes - 1);
	return false;
}

bool regionkeys_is_commented(const char *value)
{
	return strstr(value, " #") || strstr(value, "\t#");
}

/* Refuses a value with a comment: as a part of the value, it would keep the device from being found. */
static bool take_identity(char *to, size_t to_bytes, const char *value, const char *otherwise, char *why, size_t why_bytes)
{
	if (!regionkeys_is_commented(value))
		return take_text(to, to_bytes, value, why, why_bytes);
	snprintf(why, why_bytes, "'%s' has a # behind a blank. A comment there begins with ';'%s", value, otherwise);
	return false;
}

static const char by_path[] = "; if the # belongs to the device, give its path instead";

static bool take_serial(struct region_section *section, const char *value, char *why, size_t bytes)
{
	return take_identity(section->serial, sizeof(section->serial), value, by_path, why, bytes);
}

static bool take_path(struct region_section *section, const char *value, char *why, size_t bytes)
{
	if (!strncmp(value, "pci-", 4))
		return take_identity(section->path, sizeof(section->path), value, "", why, bytes);
	snprintf(why, bytes, "'%s' is no path. They look like pci-0000:00:03.0/00.0, and 'donard-cli "
		 "region candidates' shows them", value);
	return false;
}

static bool take_slot(struct region_section *section, const char *value, char *why, size_t bytes)
{
	return take_identity(section->slot, sizeof(section->slot), value, by_path, why, bytes);
}

static bool digit(const char *value, char highest, char *why, size_t bytes)
{
	if (value[0] >= '0' && value[0] <= highest && !value[1])
		return true;
	snprintf(why, bytes, "'%s' is no number from 0 to %c", value, highest);
	return false;
}

static bool take_function(struct region_section *section, const char *value, char *why,
			  size_t bytes)
{
	section->function = value[0] - '0';
	return digit(value, '7', why, bytes);
}

static bool take_bar(struct region_section *section, const char *value, char *why, size_t bytes)
{
	section->bar = (unsigned int)(value[0] - '0');
	return digit(value, '5', why, bytes);
}

static bool known(unsigned int number, const char *value, const char *choices, char *why,
		  size_t bytes)
{
	if (number)
		return true;
	snprintf(why, bytes, "'%s' is unknown. Choose one of %s", value, choices);
	return false;
}

static bool take_kind(struct region_section *section, const char *value, char *why, size_t bytes)
{
	section->kind = donard_region_kind_of(value);
	return known(section->kind, value, "pci-bar, nvme-cmb, nvme-pmr, gpu-nvidia", why, bytes);
}

static bool take_page_type(struct region_section *section, const char *value, char *why,
			   size_t bytes)
{
	section->page_type = donard_page_type_of(value);
	return known(section->page_type, value, "generic, p2pdma, pmem", why, bytes);
}

static bool take_memtype(struct region_section *section, const char *value, char *why,
			 size_t bytes)
{
	section->memtype = donard_memtype_of(value);
	return known(section->memtype, value, "uc, wc, wb", why, bytes);
}

static bool size_of(uint64_t *size, const char *value, bool zero_ok, char *why, size_t bytes)
{
	if (!donard_parse_size(value, size) && (*size || zero_ok) && !(*size % REGIONKEYS_UNIT_BYTES))
		return true;
	snprintf(why, bytes, "'%s' is not a multiple of 2 MiB. Sizes look like 64M or 1GiB", value);
	return false;
}

static bool take_offset(struct region_section *section, const char *value, char *why, size_t bytes)
{
	return size_of(&section->offset_bytes, value, true, why, bytes);
}

static bool take_length(struct region_section *section, const char *value, char *why, size_t bytes)
{
	return size_of(&section->length_bytes, value, false, why, bytes);
}

bool regionkeys_folio(uint64_t bytes)
{
	return bytes == 4096 || bytes == 2 << 20 || bytes == 1 << 30;
}

static bool take_folio(struct region_section *section, const char *value, char *why, size_t bytes)
{
	bool taken = !donard_parse_size(value, &section->folio_bytes) && regionkeys_folio(section->folio_bytes);

	return known(taken, value, "4K, 2M, 1G", why, bytes);
}

static bool take_importers(struct region_section *section, const char *value, char *why,
			   size_t bytes)
{
	section->pinned_importers = !strcmp(value, "yes");
	return known(section->pinned_importers || !strcmp(value, "no"), value, "yes, no", why, bytes);
}

/* By getpwnam(3) these errors may mean that there is no such entry. */
bool regionkeys_is_none(int error)
{
	return !error || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

/* @entry: the user or group that a lookup found, or NULL.  The lookup began with errno 0. */
static bool there_is(const void *entry, const char *what, const char *name, char *why, size_t bytes)
{
	int error = errno;

	if (entry)
		return true;
	if (regionkeys_is_none(error))
		snprintf(why, bytes, "there is no %s '%s'. Create it, or name another", what, name);
	else
		snprintf(why, bytes, "whether there is a %s '%s', the user database does not say (%s). Try again", what, name,
			 strerror(error));
	return false;
}

static bool take_user(struct region_section *section, const char *value, char *why, size_t bytes)
{
	if (!take_text(section->user, sizeof(section->user), value, why, bytes))
		return false;
	errno = 0;
	return there_is(getpwnam(value), "user", value, why, bytes);
}

static bool take_group(struct region_section *section, const char *value, char *why, size_t bytes)
{
	if (!take_text(section->group, sizeof(section->group), value, why, bytes))
		return false;
	errno = 0;
	return there_is(getgrnam(value), "group", value, why, bytes);
}

static bool take_mode(struct region_section *section, const char *value, char *why, size_t bytes)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	section->mode = (mode_t)mode;
	if (value[0] >= '0' && value[0] <= '7' && !*end && !(mode & ~0666UL))
		return true;
	snprintf(why, bytes, "'%s' is no mode of a device. They look like 0660", value);
	return false;
}

const struct region_key region_keys[] = {
	{ "serial", take_serial }, { "path", take_path }, { "slot", take_slot },
	{ "function", take_function }, { "kind", take_kind }, { "bar", take_bar },
	{ "offset", take_offset }, { "length", take_length }, { "page-type", take_page_type },
	{ "memtype", take_memtype }, { "folio", take_folio }, { "pinned-importers", take_importers },
	{ "user", take_user }, { "group", take_group }, { "mode", take_mode }, { 0 },
};

bool regionkeys_given(const struct region_section *section, const char *name)
{
	for (unsigned int i = 0; region_keys[i].name; i++)
		if (!strcmp(region_keys[i].name, name))
			return section->given & 1U << i;
	return false;
}

bool regionkeys_take_bar(enum donard_region_kind kind)
{
	return kind == DONARD_KIND_PCI_BAR || kind == DONARD_KIND_GPU_NVIDIA;
}

bool regionkeys_complete(const struct region_section *section, char *why, size_t why_bytes)
{
	int identities = !!section->serial[0] + !!section->path[0] + !!section->slot[0];

	if (identities != 1)
		snprintf(why, why_bytes, "[%s] %s. Give exactly one of serial, path and slot: 'donard-cli "
			 "region candidates --json' shows them", section->name, identities ?
			 "names its device in several ways" : "does not name its device");
	else if (!section->kind)
		snprintf(why, why_bytes, "[%s] has no kind. Add 'kind = pci-bar', nvme-cmb, nvme-pmr or "
			 "gpu-nvidia", section->name);
	else if (!regionkeys_take_bar(section->kind) && regionkeys_given(section, "bar"))
		snprintf(why, why_bytes, "[%s] has a bar, which is only for pci-bar and gpu-nvidia: an NVMe "
			 "controller names the BAR itself. Remove the line", section->name);
	else if (section->kind == DONARD_KIND_GPU_NVIDIA && !section->bar && regionkeys_given(section, "bar"))
		snprintf(why, why_bytes, "[%s] has bar 0, where a GPU has its registers. Remove the line, which takes the "
			 "largest prefetchable BAR, or name another", section->name);
	else
		return true;
	return false;
}
