// SPDX-License-Identifier: Apache-2.0
/* Adds a region and changes its settings; region/remove.c removes it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "donard/candidate.h"
#include "region/control.h"
#include "region/holders.h"
#include "region/names.h"

#define REGION_ALIGN_BYTES	(2ULL << 20)	/* P2PMEM_PAGEMAP_ALIGN of the module */

static int no_control_node(struct donard_context *ctx, const char *path)
{
	char number[32], making[PATH_MAX + 256];

	dnd_sysfs_read(ctx, number, sizeof(number), "class/misc/p2pmem_control/dev");
	dnd_node_making(path, 'c', number, making, sizeof(making));
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: the module is loaded, but there is no node of its control device. %s.",
			path, making);
}

int dnd_control_open(struct donard_context *ctx)
{
	int fd, error_number, rc = dnd_require_module(ctx);
	const char *obstacle;
	char path[PATH_MAX];

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/p2pmem_control", ctx->dev_root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	error_number = errno;
	if (error_number == ENOENT)
		return no_control_node(ctx, path);
	obstacle = dnd_node_obstacle(path, true);
	return dnd_fail_access(ctx, error_number, obstacle ? obstacle : DND_ROOT_ONLY, "%s: cannot be opened", path);
}

static int bad_number(struct donard_context *ctx, const char *member, const char *what, unsigned int number,
		      const char *choices)
{
	return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE(member, number),
			       "%u: not a %s. Choose one of %s.", number, what,
			       choices);
}

static int fill_types(struct donard_context *ctx, const struct donard_region_add *what,
		      struct p2pmem_region_add *add)
{
	if (!what->kind || what->kind > DONARD_KIND_GPU_NVIDIA)
		return bad_number(ctx, "options.kind", "kind", what->kind,
				  "pci-bar, nvme-cmb, nvme-pmr, gpu-nvidia");
	if (what->page_type > DONARD_PAGES_PMEM)
		return bad_number(ctx, "options.page_type", "page type", what->page_type, "generic, p2pdma, pmem");
	if (what->memtype > DONARD_MEMTYPE_WB)
		return bad_number(ctx, "options.memtype", "memory type", what->memtype, "uc, wc, wb");
	add->kind = what->kind;
	add->page_type = what->page_type;
	add->memtype = what->memtype;
	return 0;
}

static int check_aligned(struct donard_context *ctx, const char *bdf, const char *member, const char *what, uint64_t bytes)
{
	uint64_t below = bytes - bytes % REGION_ALIGN_BYTES;

	if (below == bytes)
		return 0;
	return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_MULTIPLE(member, bytes, REGION_ALIGN_BYTES),
			       "%s: the %s, %llu, is not a multiple of 2 MiB, which struct pages of "
			       "devices need. Use one, such as %llu.", bdf, what, (unsigned long long)bytes,
			       (unsigned long long)(below ? below : REGION_ALIGN_BYTES));
}

static int fill_place(struct donard_context *ctx, const struct donard_region_add *what,
		      struct p2pmem_region_add *add)
{
	struct dnd_bdf bdf;
	int rc;

	if (!what->bdf || dnd_bdf_parse(what->bdf, &bdf))
		return dnd_fail_member(ctx, DND_E_BAD_NAME, DND_AT("options.bdf"), "%s: not a PCI address; they look like "
				       "0000:03:00.0.", what->bdf ? what->bdf : "(none)");
	if (what->bar > 5)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_MOST("options.bar", what->bar, 5),
				       "BAR %u does not exist; they are 0 to 5.",
				       what->bar);
	if ((add->kind == P2PMEM_KIND_NVME_CMB || add->kind == P2PMEM_KIND_NVME_PMR) && what->bar)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE("options.bar", what->bar),
				       "options.bar is only for pci-bar and "
				       "gpu-nvidia: an NVMe controller names the BAR itself.");
	rc = check_aligned(ctx, what->bdf, "options.offset_bytes", "offset", what->offset_bytes);
	if (!rc)
		rc = check_aligned(ctx, what->bdf, "options.length_bytes", "length", what->length_bytes);
	if (rc)
		return rc;
	add->pci_domain = bdf.domain;
	add->pci_bus = bdf.bus;
	add->pci_devfn = bdf.devfn;
	add->bar = (uint8_t)what->bar;
	add->offset = what->offset_bytes;
	add->length = what->length_bytes;
	add->folio_bytes = what->folio_bytes;
	return 0;
}

/* The kernel's reason cannot name the option that helps. */
static const char *add_hint(int error_number)
{
	return error_number == EHOSTUNREACH ? " (options.page_type generic)" : "";
}

static int add_failed(struct donard_context *ctx, const char *bdf,
		      const struct p2pmem_region_add *add, int error_number)
{
	int reason_bytes = (int)sizeof(add->reason) - 1;

	if (error_number == E2BIG)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the kernel module p2pmem is older than this library, "
				"and knows no large folios. Install the module of this version, or leave "
				"the folio size out.", bdf);
	if (!add->reason[0])
		return dnd_fail_errno(ctx, error_number, "%s: cannot be offered as a region", bdf);
	dnd_fail_errno(ctx, error_number, "%s", bdf);	/* sets the code; the text is replaced */
	/* Some of the kernel's reasons begin with the address of the function already. */
	snprintf(ctx->failure.text, sizeof(ctx->failure.text), "%s%s%.*s%s.",
		 strncmp(add->reason, bdf, strlen(bdf)) ? bdf : "",
		 strncmp(add->reason, bdf, strlen(bdf)) ? ": " : "", reason_bytes, add->reason,
		 add_hint(error_number));
	return -error_number;
}

static int add_bound(struct donard_context *ctx, const char *bdf, struct p2pmem_region_add *add)
{
	int error_number, control = dnd_control_open(ctx);

	if (control < 0)
		return control;
	error_number = ioctl(control, P2PMEM_CTL_REGION_ADD, add) < 0 ? errno : 0;
	close(control);
	return error_number ? add_failed(ctx, bdf, add, error_number) : (int)add->region;
}

/* The caller is to see the first failure. */
static void undo_bind(struct donard_context *ctx, const char *bdf, const char *override)
{
	struct dnd_failure first = dnd_failure_keep(ctx);

	dnd_pci_unbind(ctx, bdf, override);
	dnd_failure_put_back(ctx, &first);
}

static int bind_and_add(struct donard_context *ctx, const char *bdf, struct p2pmem_region_add *add)
{
	char override[DND_OVERRIDE_BYTES];
	int rc, bound = dnd_pci_bind(ctx, bdf, override);

	if (bound < 0)
		return bound;
	rc = add_bound(ctx, bdf, add);
	if (rc < 0 && bound)
		undo_bind(ctx, bdf, override);
	return rc;
}

static int add_region(struct donard_context *ctx, struct p2pmem_region_add *add)
{
	struct dnd_bdf address = { add->pci_domain, add->pci_bus, add->pci_devfn };
	char bdf[DONARD_BDF_BYTES];
	int rc, lock;

	dnd_bdf_format(bdf, address);
	if (add->kind != P2PMEM_KIND_PCI_BAR)
		return add_bound(ctx, bdf, add);
	rc = dnd_pci_lock(ctx, bdf, &lock);
	if (rc)
		return rc;
	rc = bind_and_add(ctx, bdf, add);
	dnd_pci_unlock(lock);
	return rc;
}

DND_PUBLIC int donard_region_add(struct donard_context *ctx, const struct donard_region_add *what)
{
	DND_USES(CONTEXT, ctx);
	struct p2pmem_region_add add = { .size = sizeof(add) };
	struct donard_region_add taken;
	int rc = DND_TAKE(ctx, &taken, what, "donard_region_add");

	if (!rc)
		rc = fill_types(ctx, &taken, &add);
	if (!rc)
		rc = fill_place(ctx, &taken, &add);
	if (!rc)
		rc = dnd_require_module(ctx);
	if (!rc)
		rc = add_region(ctx, &add);
	if (rc >= 0 && taken.note)
		snprintf(taken.note, DONARD_REASON_BYTES, "%.*s", (int)sizeof(add.reason) - 1,
			 add.reason);
	return rc;
}

static bool has_large_folios(struct donard_context *ctx, const char *name)
{
	uint64_t bytes;

	return !dnd_sysfs_read_u64(ctx, &bytes, "class/p2pmem/%s/folio_bytes", name) &&
	       bytes > (uint64_t)sysconf(_SC_PAGESIZE);
}

static int no_such_page_type(struct donard_context *ctx, const char *name, const char *page_type)
{
	char kind[16], now[16];

	dnd_sysfs_read(ctx, kind, sizeof(kind), "class/p2pmem/%s/kind", name);
	dnd_sysfs_read(ctx, now, sizeof(now), "class/p2pmem/%s/page_type", name);
	if (!strcmp(now, "pmem") || !strcmp(page_type, "pmem"))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: a region becomes a pmem device, or ceases to be one, only "
				"when it is added. Remove it and add it anew (options.page_type %s).", name, page_type);
	if (!strcmp(kind, "nvme-cmb") && !strcmp(now, "p2pdma"))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the nvme driver owns this Controller "
				"Memory Buffer and publishes it as P2PDMA memory, so that its page "
				"type is always p2pdma. Use a region of another kind for %s.", name,
				page_type);
	if (!strcmp(kind, "gpu-nvidia") && !strcmp(now, "p2pdma"))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the GPU's driver has struct pages of type p2pdma for its BAR "
				"itself (static BAR1), and the region keeps that type. For %s, remove the region, start "
				"the driver without RMForceStaticBar1, and add it anew.", name, page_type);
	if (has_large_folios(ctx, name))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: it was added with large folios, and pages of "
				"type p2pdma are 4 KiB each. Remove it and add it anew (options.folio_bytes 4096).", name);
	if (!strcmp(page_type, "p2pdma") && strcmp(kind, "pci-bar") && strcmp(kind, "gpu-nvidia"))
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: its kind, %s, cannot have page type "
				"p2pdma: that needs a BAR that p2pmem drives itself, or a GPU's. Use a "
				"region of kind pci-bar or gpu-nvidia.", name, kind);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: this kernel has no page type %s: p2pdma needs "
			"Linux 6.13 or later with CONFIG_PCI_P2PDMA.", name, page_type);
}

/* The module lets a process with CAP_SYS_RAWIO change a region, unless the kernel is locked down. */
static int refused(struct donard_context *ctx, const char *name, const char *setting, int error_number)
{
	char mode[64];

	if (error_number == EPERM && !dnd_sysfs_read(ctx, mode, sizeof(mode), "kernel/security/lockdown") &&
	    !strstr(mode, "[none]")) {
		dnd_fail(ctx, DND_E_PERMISSION, "%s: the %s cannot be set: the kernel is locked down (PCI access). "
			 "Boot without lockdown, or disable Secure Boot.", name, setting);
		return -EPERM;
	}
	return dnd_fail_sysfs_write(ctx, error_number, "%s: the %s cannot be set", name, setting);
}

static int set_failed(struct donard_context *ctx, const char *name, const char *page_type,
		      int error_number)
{
	char holders[256];

	if (error_number == ENOENT || error_number == ENODEV)
		return dnd_region_missing(ctx, name);
	if (error_number == EBUSY) {
		dnd_region_holders_text(ctx, name, holders, sizeof(holders));
		return dnd_fail(ctx, DND_E_BUSY, "%s: the page type changes only while the "
				"region is idle%s. Wait for that to end.", name, holders);
	}
	if (error_number == EOPNOTSUPP || error_number == EINVAL)
		return no_such_page_type(ctx, name, page_type);
	return refused(ctx, name, "page type", error_number);
}

DND_PUBLIC int donard_region_set_page_type(struct donard_context *ctx, const char *name,
					   enum donard_page_type page_type)
{
	DND_USES(CONTEXT, ctx);
	const char *word = donard_page_type_text(page_type);
	char known[P2PMEM_NAME_BYTES];
	int rc = dnd_region_name(ctx, name, known);

	if (rc)
		return rc;
	if (!page_type || page_type > DONARD_PAGES_PMEM)
		return bad_number(ctx, "page_type", "page type", page_type, "generic, p2pdma");
	rc = dnd_require_module(ctx);
	if (rc)
		return rc;
	rc = dnd_sysfs_write(ctx, word, "class/p2pmem/%s/page_type", known);
	return rc ? set_failed(ctx, known, word, -rc) : 0;
}

DND_PUBLIC int donard_region_set_pinned_importers(struct donard_context *ctx, const char *name,
						  bool allowed)
{
	DND_USES(CONTEXT, ctx);
	char known[P2PMEM_NAME_BYTES];
	int rc = dnd_region_name(ctx, name, known);

	if (!rc)
		rc = dnd_require_module(ctx);
	if (rc)
		return rc;
	rc = dnd_sysfs_write(ctx, allowed ? "1" : "0", "class/p2pmem/%s/pinned_importers", known);
	if (rc == -ENOENT || rc == -ENODEV)
		return dnd_region_missing(ctx, known);
	return rc ? refused(ctx, known, "attribute pinned_importers", -rc) : 0;
}
