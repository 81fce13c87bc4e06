// SPDX-License-Identifier: Apache-2.0
/*
 * PCI addresses change when a card is added elsewhere, because buses are numbered in the order
 * in which their bridges are found.  Serial numbers and the path from the root do not change.
 */
#include <ctype.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>

#include "region/identity.h"

/* PCI Express Base, 7.9.3: the number's words are behind the header of the capability. */
#define SERIAL_LOW	4
#define SERIAL_HIGH	8
#define SERIAL_BYTES	12

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	memmove(text, text + strspn(text, " \t"), strlen(text + strspn(text, " \t")) + 1);
	return text;
}

struct reading {
	const char *bdf;
	struct dnd_identity *identity;
};

static int read_controller(struct donard_context *ctx, const char *entry, void *data)
{
	const struct reading *reading = data;
	struct dnd_identity *identity = reading->identity;

	dnd_sysfs_read(ctx, identity->serial, sizeof(identity->serial),
		       "bus/pci/devices/%s/nvme/%s/serial", reading->bdf, entry);
	dnd_sysfs_read(ctx, identity->model, sizeof(identity->model),
		       "bus/pci/devices/%s/nvme/%s/model", reading->bdf, entry);
	return 0;
}

static void read_nvme(struct donard_context *ctx, struct reading *reading)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "bus/pci/devices/%s/nvme", reading->bdf);
	dnd_for_each_entry(ctx, folder, read_controller, reading);
	trim(reading->identity->serial);
	trim(reading->identity->model);
}

/* Only root can read more than the first 64 bytes. */
static void read_pci_serial(const struct donard_context *ctx, const char *bdf,
			    struct dnd_identity *identity)
{
	struct dnd_config config;
	uint32_t low, high;
	size_t at;

	if (dnd_sysfs_config(ctx, bdf, &config))
		return;
	at = dnd_config_extended(&config, PCI_EXT_CAP_ID_DSN, SERIAL_BYTES);
	if (!at || !dnd_config_32(&config, at + SERIAL_LOW, &low) || !dnd_config_32(&config, at + SERIAL_HIGH, &high) ||
	    !(low | high))
		return;
	/* As lspci prints it: the last byte first. */
	for (int i = 0; i < 8; i++)
		snprintf(identity->serial + 3 * i, 4, i < 7 ? "%02x-" : "%02x",
			 config.bytes[at + SERIAL_BYTES - 1 - (size_t)i]);
}

/* The path has the address of the function on the root bus, then device and function of each one below it. */
static void read_path(const struct donard_context *ctx, const char *bdf,
		      struct dnd_identity *identity)
{
	char link[PATH_MAX], target[PATH_MAX], *next = NULL;
	size_t used = 0;

	if (dnd_sysfs_path(ctx, link, "bus/pci/devices/%s", bdf) || !realpath(link, target))
		return;
	for (char *part = strtok_r(target, "/", &next); part; part = strtok_r(NULL, "/", &next)) {
		if (!dnd_is_bdf(part))
			continue;
		used += (size_t)snprintf(identity->path + used, sizeof(identity->path) - used,
					 used ? "/%s" : "pci-%s", used ? strrchr(part, ':') + 1 : part);
		if (used >= sizeof(identity->path)) {
			identity->path[0] = '\0';	/* half a path would be that of another function */
			return;
		}
	}
}

/* The address of a slot is that of its functions, without the function number. */
static int read_slot(struct donard_context *ctx, const char *entry, void *data)
{
	const struct reading *reading = data;
	char address[DONARD_BDF_BYTES];

	dnd_sysfs_read(ctx, address, sizeof(address), "bus/pci/slots/%s/address", entry);
	if (address[0] && !strncmp(address, reading->bdf, strlen(address)) &&
	    reading->bdf[strlen(address)] == '.')
		snprintf(reading->identity->slot, sizeof(reading->identity->slot), "%.31s", entry);
	return 0;
}

void dnd_identity_read(struct donard_context *ctx, const char *bdf,
		       struct dnd_identity *identity)
{
	struct reading reading = { bdf, identity };

	memset(identity, 0, sizeof(*identity));
	if (dnd_sysfs_link_name(ctx, identity->driver, sizeof(identity->driver),
				"bus/pci/devices/%s/driver", bdf))
		identity->driver[0] = '\0';
	read_nvme(ctx, &reading);
	if (!identity->serial[0])
		read_pci_serial(ctx, bdf, identity);
	read_path(ctx, bdf, identity);
	dnd_for_each_entry(ctx, "bus/pci/slots", read_slot, &reading);
}

static void make_link_name(char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("#+-.:=@_", *text))
			*text = *text == '/' ? '-' : '_';
}

void dnd_identity_by_id(const struct dnd_identity *identity, const char *bdf, const char *suffix,
			char *text, size_t text_bytes)
{
	const char *function = strrchr(bdf, '.');

	text[0] = '\0';
	if (!identity->serial[0])
		return;
	if (identity->model[0])
		snprintf(text, text_bytes, "nvme-%s_%s", identity->model, identity->serial);
	else
		snprintf(text, text_bytes, "pci-%s", identity->serial);
	/* Functions of one card may share its number. */
	if (function && strcmp(function, ".0"))
		snprintf(text + strlen(text), text_bytes - strlen(text), "%s", function);
	snprintf(text + strlen(text), text_bytes - strlen(text), "-%s", suffix);
	make_link_name(text);
}

void dnd_identity_by_path(const struct dnd_identity *identity, const char *suffix, char *text,
			  size_t text_bytes)
{
	text[0] = '\0';
	if (identity->path[0])
		snprintf(text, text_bytes, "%s-%s", identity->path, suffix);
	make_link_name(text);
}
