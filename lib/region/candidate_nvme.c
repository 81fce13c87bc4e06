// SPDX-License-Identifier: Apache-2.0
/*
 * Controller Memory Buffer and Persistent Memory Region of a controller that the nvme
 * driver runs (NVMe Base Specification 2.0, 3.1.4).  The driver shows the CMB that it
 * found; the rest is in registers, which the module reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../kernel/pmr.h"
#include "region/candidate_list.h"
#include "uapi/p2pmem.h"

#define CAP_PMRS	(1ULL << 56)
#define CAP_CMBS	(1ULL << 57)
#define PMRCAP_TAKES_DATA	0x18U	/* RDS and WDS, as in CMBSZ */

struct controller {
	bool has_cmb, has_pmr;
	bool busy;		/* its registers could not be read now */
	uint32_t cmbloc, cmbsz;	/* zero while the CMB is disabled */
	uint32_t pmrcap;
};

/* Leaves @controller unchanged unless this is root and the module is loaded. */
static void read_registers(const struct donard_context *ctx, const char *text,
			   struct controller *controller)
{
	struct p2pmem_nvme_memory memory = { .size = sizeof(memory) };
	char path[PATH_MAX];
	struct dnd_bdf bdf;
	int fd;

	snprintf(path, sizeof(path), "%s/p2pmem_control", ctx->dev_root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!dnd_bdf_parse(text, &bdf)) {
		memory.pci_domain = bdf.domain;
		memory.pci_bus = bdf.bus;
		memory.pci_devfn = bdf.devfn;
		if (!ioctl(fd, P2PMEM_CTL_NVME_MEMORY, &memory)) {
			controller->has_cmb = memory.cap & CAP_CMBS;
			controller->has_pmr = memory.cap & CAP_PMRS;
			controller->cmbloc = memory.cmbloc;
			controller->cmbsz = memory.cmbsz;
			controller->pmrcap = memory.pmrcap;
		} else {
			controller->busy = errno == EBUSY;
		}
	}
	close(fd);
}

/* Finds the properties in PMRCAP for which the module refuses a PMR: kernel/provider_nvme_pmr.c. */
static void find_pmr_obstacle(uint32_t cap, char *text, size_t text_bytes)
{
	if ((cap & PMRCAP_TAKES_DATA) != PMRCAP_TAKES_DATA)
		snprintf(text, text_bytes, "the PMR takes no data (PMRCAP.RDS/WDS): use another drive");
	else if (p2pmem_pmr_barrier(cap) == P2PMEM_PMR_NO_BARRIER)
		snprintf(text, text_bytes, "the PMR names no barrier that makes writes persistent (PMRCAP is %#x, without bits 10 and "
			 "11): the drive is at fault, use another one", cap);
	else if (p2pmem_pmr_bar(cap) < 2)
		snprintf(text, text_bytes, "the PMR names BAR%u, where registers lie: the drive is at fault, use another one",
			 p2pmem_pmr_bar(cap));
}

/* The module counts offsets from the memory's own beginning, so no offset helps if that is not aligned. */
static void find_size_obstacle(struct dnd_candidate *candidate, const struct dnd_bar *bar, const char *name)
{
	uint64_t start = bar->start + candidate->info.offset_bytes;

	if (candidate->obstacle[0])
		return;
	if (start % DND_PAGES_BYTES)
		snprintf(candidate->obstacle, sizeof(candidate->obstacle),
			 "the %s begins at 0x%llx, no multiple of 2 MiB, and struct pages of devices need one: use another drive", name,
			 (unsigned long long)start);
	else if (candidate->info.size_bytes < DND_PAGES_BYTES)
		snprintf(candidate->obstacle, sizeof(candidate->obstacle),
			 "the %s has %llu bytes, and struct pages of devices come for whole 2 MiB: use another drive", name,
			 (unsigned long long)candidate->info.size_bytes);
}

static int add_pmr(struct dnd_function *function, uint32_t cap, struct donard_candidate_list *list)
{
	unsigned int bar = p2pmem_pmr_bar(cap);
	struct dnd_candidate *candidate;

	if (bar >= DND_BARS || !function->bars[bar].bytes)
		return 0;
	function->taken |= 1U << bar;
	candidate = dnd_candidate_add(list, function, DONARD_KIND_NVME_PMR, bar);
	if (!candidate)
		return -ENOMEM;
	find_pmr_obstacle(cap, candidate->obstacle, sizeof(candidate->obstacle));
	find_size_obstacle(candidate, &function->bars[bar], "PMR");
	return 0;
}

/* Parses CMBLOC and CMBSZ as the driver prints them; some kernels leave out the 0 before the x. */
static void read_cmb(const struct donard_context *ctx, const char *bdf, const char *entry,
		     struct controller *controller)
{
	uint32_t location, size;
	char text[128];

	dnd_sysfs_lines(ctx, text, sizeof(text), "bus/pci/devices/%s/nvme/%s/cmb", bdf, entry);
	if (sscanf(text, "cmbloc : 0x%x cmbsz : 0x%x", &location, &size) != 2 &&
	    sscanf(text, "cmbloc : x%x cmbsz : x%x", &location, &size) != 2)
		return;
	controller->has_cmb = true;
	controller->cmbloc = location;
	controller->cmbsz = size;
}

/*
 * Reads the release of the kernel whose sysfs this is.  A captured machine has /proc beside its /sys; a chroot may have none.
 */
static void read_release(const struct donard_context *ctx, char *release, size_t release_bytes)
{
	struct utsname kernel;

	if (dnd_sysfs_read(ctx, release, release_bytes, "../proc/sys/kernel/osrelease") < 0)
		snprintf(release, release_bytes, "%s", uname(&kernel) ? "" : kernel.release);
}

/* Before Linux 6.13 the module cannot share a CMB with the nvme driver: kernel/provider_nvme_cmb.c. */
static bool is_out_of_reach(const struct donard_context *ctx, const char *bdf)
{
	unsigned int major_number, minor_number;
	uint64_t published = 0;
	char release[65];

	dnd_sysfs_read_u64(ctx, &published, "bus/pci/devices/%s/p2pmem/published", bdf);
	if (!published)
		return false;
	read_release(ctx, release, sizeof(release));
	return sscanf(release, "%u.%u", &major_number, &minor_number) == 2 &&
	       (major_number < 6 || (major_number == 6 && minor_number < 13));
}

static int add_cmb(const struct donard_context *ctx, struct dnd_function *function, uint32_t location, uint32_t size,
		   struct donard_candidate_list *list)
{
	uint64_t unit = 1ULL << (12 + 4 * (size >> 8 & 0xf)), offset;
	struct dnd_candidate *candidate;
	unsigned int bar = location & 7;

	offset = unit * (location >> 12);
	if (bar >= DND_BARS || (size >> 8 & 0xf) > 6 || offset >= function->bars[bar].bytes)
		return 0;
	function->taken |= 1U << bar;
	candidate = dnd_candidate_add(list, function, DONARD_KIND_NVME_CMB, bar);
	if (!candidate)
		return -ENOMEM;
	candidate->info.offset_bytes = offset;
	candidate->info.size_bytes = dnd_min(unit * (size >> 12),
					     function->bars[bar].bytes - offset);
	if ((size & 0x18) != 0x18)
		snprintf(candidate->obstacle, sizeof(candidate->obstacle),
			 "the CMB takes no data (CMBSZ.RDS/WDS): use another drive");
	else if (is_out_of_reach(ctx, function->bdf))
		snprintf(candidate->obstacle, sizeof(candidate->obstacle),
			 "the nvme driver has published the CMB, and p2pmem can share it from Linux 6.13 on: use such a kernel");
	find_size_obstacle(candidate, &function->bars[bar], "CMB");
	return 0;
}

/*
 * A CMB shows its place only once it is enabled.  Any remaining BAR may hold it, so none of
 * them is listed by itself.
 */
static int add_hidden_cmb(struct dnd_function *function, struct donard_candidate_list *list)
{
	struct dnd_candidate *candidate = dnd_candidate_add(list, function, DONARD_KIND_NVME_CMB, 0);

	if (!candidate)
		return -ENOMEM;
	candidate->info.size_bytes = 0;
	function->taken = ~0U;
	return 0;
}

/* Adds one candidate for a controller that does not answer now: only the controller knows what its BARs hold. */
static int add_busy(struct dnd_function *function, struct donard_candidate_list *list)
{
	struct dnd_candidate *candidate = dnd_candidate_add(list, function, DONARD_KIND_NVME_PMR, 0);

	if (!candidate)
		return -ENOMEM;
	candidate->info.busy = true;
	candidate->info.size_bytes = 0;
	snprintf(candidate->obstacle, sizeof(candidate->obstacle),
		 "%s is being bound, reset or taken away, and does not say whether it has a PMR: try again", function->bdf);
	function->taken = ~0U;
	return 0;
}

struct scan {
	struct dnd_function *function;
	struct donard_candidate_list *list;
};

static int scan_controller(struct donard_context *ctx, const char *entry, void *data)
{
	struct controller controller = { .has_cmb = false };
	struct scan *scan = data;
	int rc = 0;

	read_registers(ctx, scan->function->bdf, &controller);
	read_cmb(ctx, scan->function->bdf, entry, &controller);
	if (controller.has_cmb && controller.cmbsz)
		rc = add_cmb(ctx, scan->function, controller.cmbloc, controller.cmbsz, scan->list);
	else if (controller.has_cmb)
		rc = add_hidden_cmb(scan->function, scan->list);
	if (!rc && controller.has_pmr)
		rc = add_pmr(scan->function, controller.pmrcap, scan->list);
	if (!rc && controller.busy)
		rc = add_busy(scan->function, scan->list);
	return rc;
}

int dnd_scan_controller(struct donard_context *ctx, struct dnd_function *function,
			struct donard_candidate_list *list)
{
	struct scan scan = { .function = function, .list = list };
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "bus/pci/devices/%s/nvme", function->bdf);
	return dnd_for_each_entry(ctx, folder, scan_controller, &scan);
}
