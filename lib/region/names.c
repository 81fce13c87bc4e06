// SPDX-License-Identifier: Apache-2.0
/* The words of the enumerations, and the number in "p2pmemN". */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "region/names.h"
#include "uapi/p2pmem.h"

static const char *const kinds[] = {
	[DONARD_KIND_PCI_BAR] = "pci-bar",
	[DONARD_KIND_NVME_CMB] = "nvme-cmb",
	[DONARD_KIND_NVME_PMR] = "nvme-pmr",
	[DONARD_KIND_GPU_NVIDIA] = "gpu-nvidia",
};

/* The suffix behind a device in the name of a link. */
static const char *const suffixes[] = {
	[DONARD_KIND_PCI_BAR] = "bar",
	[DONARD_KIND_NVME_CMB] = "cmb",
	[DONARD_KIND_NVME_PMR] = "pmr",
	[DONARD_KIND_GPU_NVIDIA] = "gpu",
};

_Static_assert(sizeof(suffixes) == sizeof(kinds), "each kind has a suffix");

static const char *const page_types[] = {
	[DONARD_PAGES_GENERIC] = "generic",
	[DONARD_PAGES_P2PDMA] = "p2pdma",
	[DONARD_PAGES_PMEM] = "pmem",
};

static const char *const memtypes[] = {
	[DONARD_MEMTYPE_UC] = "uc",
	[DONARD_MEMTYPE_WC] = "wc",
	[DONARD_MEMTYPE_WB] = "wb",
};

static const char *const states[] = {
	[DONARD_STATE_READY] = "ready",
	[DONARD_STATE_DRAINING] = "draining",
	[DONARD_STATE_QUARANTINED] = "quarantined",
	[DONARD_STATE_GONE] = "gone",
};

static const char *const routes[] = {
	[DONARD_ROUTE_NONE] = "none",
	[DONARD_ROUTE_SWITCH] = "switch",
	[DONARD_ROUTE_BRIDGE] = "bridge",
	[DONARD_ROUTE_IOMMU] = "iommu",
	[DONARD_ROUTE_BOUNCED] = "bounced",
	[DONARD_ROUTE_CPU] = "cpu",
	[DONARD_ROUTE_DRAM] = "dram",
};

static const char *const evidences[] = {
	[DONARD_EVIDENCE_PREDICTED] = "predicted",
	[DONARD_EVIDENCE_PROVEN] = "proven",
};

static const char *const bounce_evidences[] = {
	[DONARD_BOUNCE_STATED] = "stated",
	[DONARD_BOUNCE_WATCHED] = "watched",
	[DONARD_BOUNCE_CERTAIN] = "certain",
	[DONARD_BOUNCE_AT_MOST] = "at-most",
	[DONARD_BOUNCE_CHANGED] = "changed",
};

static const char *const client_types[] = {
	[DONARD_CLIENT_NVME] = "nvme",
	[DONARD_CLIENT_RDMA] = "rdma",
	[DONARD_CLIENT_GPU] = "gpu",
};

/* The public enumerations have the numbers of the kernel's. */
#define SAME(public, kernel) \
	_Static_assert((unsigned int)(public) == (unsigned int)(kernel), #public)
SAME(DONARD_KIND_PCI_BAR, P2PMEM_KIND_PCI_BAR);
SAME(DONARD_KIND_NVME_CMB, P2PMEM_KIND_NVME_CMB);
SAME(DONARD_KIND_NVME_PMR, P2PMEM_KIND_NVME_PMR);
SAME(DONARD_KIND_GPU_NVIDIA, P2PMEM_KIND_GPU_NVIDIA);
SAME(DONARD_PAGES_GENERIC, P2PMEM_PAGES_GENERIC);
SAME(DONARD_PAGES_P2PDMA, P2PMEM_PAGES_P2PDMA);
SAME(DONARD_PAGES_PMEM, P2PMEM_PAGES_PMEM);
SAME(DONARD_MEMTYPE_UC, P2PMEM_MEMTYPE_UC);
SAME(DONARD_MEMTYPE_WC, P2PMEM_MEMTYPE_WC);
SAME(DONARD_MEMTYPE_WB, P2PMEM_MEMTYPE_WB);
SAME(DONARD_STATE_READY, P2PMEM_STATE_READY);
SAME(DONARD_STATE_DRAINING, P2PMEM_STATE_DRAINING);
SAME(DONARD_STATE_QUARANTINED, P2PMEM_STATE_QUARANTINED);
SAME(DONARD_STATE_GONE, P2PMEM_STATE_GONE);
SAME(DONARD_ROUTE_NONE, P2PMEM_ROUTE_NONE);
SAME(DONARD_ROUTE_SWITCH, P2PMEM_ROUTE_SWITCH);
SAME(DONARD_ROUTE_BRIDGE, P2PMEM_ROUTE_BRIDGE);
SAME(DONARD_ROUTE_IOMMU, P2PMEM_ROUTE_IOMMU);
SAME(DONARD_ROUTE_BOUNCED, P2PMEM_ROUTE_BOUNCED);

static unsigned int find(const char *const *words, size_t count, const char *word)
{
	for (size_t i = 1; i < count; i++)
		if (word && !strcmp(words[i], word))
			return (unsigned int)i;
	return 0;
}

static const char *text(const char *const *words, size_t count, unsigned int number)
{
	return number < count && words[number] ? words[number] : "unknown";
}

#define COUNT(table)		(sizeof(table) / sizeof((table)[0]))
#define FIND(table, word)	find(table, COUNT(table), word)
#define TEXT(table, number)	text(table, COUNT(table), (unsigned int)(number))

DND_PUBLIC const char *donard_region_kind_text(enum donard_region_kind kind)
{
	return TEXT(kinds, kind);
}

DND_PUBLIC enum donard_region_kind donard_region_kind_of(const char *word)
{
	return (enum donard_region_kind)FIND(kinds, word);
}

DND_PUBLIC const char *donard_page_type_text(enum donard_page_type page_type)
{
	return TEXT(page_types, page_type);
}

DND_PUBLIC enum donard_page_type donard_page_type_of(const char *word)
{
	return (enum donard_page_type)FIND(page_types, word);
}

DND_PUBLIC const char *donard_memtype_text(enum donard_memtype memtype)
{
	return TEXT(memtypes, memtype);
}

DND_PUBLIC enum donard_memtype donard_memtype_of(const char *word)
{
	return (enum donard_memtype)FIND(memtypes, word);
}

DND_PUBLIC const char *donard_region_state_text(enum donard_region_state state)
{
	return TEXT(states, state);
}

enum donard_region_state dnd_region_state_of(const char *word)
{
	return (enum donard_region_state)FIND(states, word);
}

DND_PUBLIC const char *donard_client_type_text(enum donard_client_type type)
{
	return TEXT(client_types, type);
}

DND_PUBLIC const char *donard_route_text(enum donard_route_type route)
{
	return TEXT(routes, route);
}

DND_PUBLIC const char *donard_evidence_text(enum donard_evidence evidence)
{
	return TEXT(evidences, evidence);
}

DND_PUBLIC const char *donard_bounce_evidence_text(enum donard_bounce_evidence evidence)
{
	return TEXT(bounce_evidences, evidence);
}

const char *dnd_region_suffix(enum donard_region_kind kind)
{
	return TEXT(suffixes, kind);
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
