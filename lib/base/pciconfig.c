// SPDX-License-Identifier: Apache-2.0
/* See pciconfig.h. */
#include <linux/pci_regs.h>

#include "base/files.h"
#include "base/pciconfig.h"

#define ORDINARY	64	/* where ordinary capabilities begin; only root can read them */
#define EXTENDED	0x100	/* where extended ones begin */
#define ORDINARY_LEAST	4	/* bytes of the shortest capability */
#define EXTENDED_LEAST	8

int dnd_config_read(const char *path, struct dnd_config *config)
{
	long got = dnd_bytes_at(path, config->bytes, sizeof(config->bytes));

	config->count = got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

bool dnd_config_16(const struct dnd_config *config, size_t at, unsigned int *value)
{
	*value = 0;
	if (at >= config->count || config->count - at < 2)
		return false;
	*value = config->bytes[at] | (unsigned int)config->bytes[at + 1] << 8;
	return true;
}

bool dnd_config_32(const struct dnd_config *config, size_t at, uint32_t *value)
{
	unsigned int low, high;
	bool whole = dnd_config_16(config, at, &low) && dnd_config_16(config, at + 2, &high);

	*value = whole ? low | (uint32_t)high << 16 : 0;
	return whole;
}

size_t dnd_config_capability(const struct dnd_config *config, unsigned int id)
{
	unsigned int status, header;
	size_t at;

	if (config->count < ORDINARY || !dnd_config_16(config, PCI_STATUS, &status) || !(status & PCI_STATUS_CAP_LIST))
		return 0;
	at = config->bytes[PCI_CAPABILITY_LIST] & ~3U;
	for (size_t turns = 0; turns < (EXTENDED - ORDINARY) / ORDINARY_LEAST && at >= ORDINARY; turns++) {
		if (at + ORDINARY_LEAST > config->count || !dnd_config_16(config, at, &header))
			return 0;
		if ((header & 0xff) == id)
			return at;
		at = header >> 8 & ~3U;
	}
	return 0;
}

size_t dnd_config_extended(const struct dnd_config *config, unsigned int id, size_t least_bytes)
{
	size_t at = EXTENDED;
	uint32_t header;

	for (size_t turns = 0; turns < (DND_CONFIG_BYTES - EXTENDED) / EXTENDED_LEAST && at >= EXTENDED; turns++) {
		if (!dnd_config_32(config, at, &header) || !header || header == UINT32_MAX)
			return 0;
		if (PCI_EXT_CAP_ID(header) == id)
			return at + least_bytes <= config->count ? at : 0;
		at = PCI_EXT_CAP_NEXT(header);
	}
	return 0;
}

bool dnd_config_whole(const struct dnd_config *config)
{
	/* PCI Express functions have an extended part. */
	return config->count > (dnd_config_capability(config, PCI_CAP_ID_EXP) ? EXTENDED : ORDINARY);
}
