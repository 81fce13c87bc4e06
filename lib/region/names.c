// SPDX-License-Identifier: Apache-2.0
/* The words of the uapi's numbers, and the number in "p2pmemN". */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "region/names.h"
#include "uapi/p2pmem.h"

static const char *const kinds[] = {
	[P2PMEM_KIND_PCI_BAR] = "pci-bar",
	[P2PMEM_KIND_NVME_CMB] = "nvme-cmb",
	[P2PMEM_KIND_NVME_PMR] = "nvme-pmr",
};

static const char *const page_types[] = {
	[P2PMEM_PAGES_GENERIC] = "generic",
	[P2PMEM_PAGES_P2PDMA] = "p2pdma",
};

static const char *const memtypes[] = {
	[P2PMEM_MEMTYPE_UC] = "uc",
	[P2PMEM_MEMTYPE_WC] = "wc",
	[P2PMEM_MEMTYPE_WB] = "wb",
};

static const char *const routes[] = {
	[P2PMEM_ROUTE_NONE] = "none",
	[P2PMEM_ROUTE_SWITCH] = "switch",
	[P2PMEM_ROUTE_BRIDGE] = "bridge",
	[P2PMEM_ROUTE_IOMMU] = "iommu",
	[P2PMEM_ROUTE_BOUNCED] = "bounced",
};

static uint32_t find(const char *const *words, size_t count, const char *word)
{
	for (size_t i = 1; i < count; i++)
		if (words[i] && !strcmp(words[i], word))
			return (uint32_t)i;
	return 0;
}

#define FIND(table, word) find(table, sizeof(table) / sizeof(table[0]), word)

uint32_t dnd_kind_number(const char *word)
{
	return FIND(kinds, word);
}

uint32_t dnd_page_type_number(const char *word)
{
	return FIND(page_types, word);
}

uint32_t dnd_memtype_number(const char *word)
{
	return FIND(memtypes, word);
}

const char *dnd_route_word(uint32_t route)
{
	return route < sizeof(routes) / sizeof(routes[0]) ? routes[route] : "none";
}

int dnd_region_number(const char *name)
{
	unsigned long number;
	char *end;

	if (strncmp(name, "p2pmem", 6) || !isdigit((unsigned char)name[6]))
		return -EINVAL;
	if (name[6] == '0' && name[7])
		return -EINVAL;
	errno = 0;
	number = strtoul(name + 6, &end, 10);
	return errno || *end || number > 99999 ? -EINVAL : (int)number;
}
