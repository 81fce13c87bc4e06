/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could be a region: memory behind the BARs of this machine, and names by which to
 * recognise it after a reboot.  The conventions are those of donard.h.
 */
#ifndef DONARD_CANDIDATE_H
#define DONARD_CANDIDATE_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct donard_candidate_info - memory that could be a region
 * @size: of this record, as the library filled it
 * @bdf: "0000:03:00.0"
 * @kind: a Controller Memory Buffer, a Persistent Memory Region, a GPU's memory, or any
 *	other memory BAR
 * @bar: which BAR it lies in
 * @size_bytes: 0 if only the device could tell, and did not, as with a Controller Memory Buffer
 *	that nobody has enabled; @bar and @offset_bytes are then not known either
 * @offset_bytes: where the memory begins within its BAR
 * @driver: the function's driver, or ""
 * @serial: the serial number of the NVMe controller, else the PCI Device Serial Number
 *	("00-11-22-33-44-55-66-77"); "" if there is none, or if only root could see it
 * @path: from the root of the PCI tree, "pci-0000:00:03.0/00.0/01.0"; it stays the same as
 *	long as the device is in its slot, even if the buses get other numbers
 * @slot: the slot's name, as the firmware or the hotplug driver gives it, or ""
 * @by_id: a name for the memory made from @serial, "nvme-MODEL_SERIAL-cmb" or
 *	"pci-00-11-22-33-44-55-66-77-bar2", or ""
 * @by_path: a name for the memory made from @path, "pci-0000:00:03.0/00.0/01.0-bar2", but with
 *	a dash for each slash
 * @obstacle: why it cannot be offered now, with a remedy, or ""
 * @busy: this stands for a DONARD_KIND_NVME_PMR that an NVMe controller may have: the controller is being bound, reset or
 *	removed, and cannot be asked now.  @bar and @size_bytes are 0.  List again to know
 * @reserved: false
 */
struct donard_candidate_info {
	size_t size;
	const char *bdf;
	enum donard_region_kind kind;
	unsigned int bar;
	uint64_t size_bytes;
	uint64_t offset_bytes;
	const char *driver;
	const char *serial;
	const char *path;
	const char *slot;
	const char *by_id;
	const char *by_path;
	const char *obstacle;
	bool busy;
	bool reserved[7];
};

struct donard_candidate_list;

/**
 * donard_candidate_list() - list all memory that could be a region, by PCI address
 * @ctx: the context
 * @list: set to the list, which donard_candidate_list_free() frees
 *
 * The call looks at memory BARs of 2 MiB or more on functions other than bridges, and at what
 * NVMe controllers say about themselves.  Only root, and only with the module loaded, gets
 * Persistent Memory Regions, and Controller Memory Buffers that nobody has enabled: the module
 * reads the registers of the controllers.  Else their BARs are listed as any others.  Only root
 * sees PCI serial numbers.
 *
 * Returns how many there are, which may be 0; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_candidate_list(struct donard_context *ctx, struct donard_candidate_list **list);

/**
 * donard_candidate_count() - how many candidates a list has
 * @list: NULL has none
 *
 * Returns the number.
 */
size_t donard_candidate_count(const struct donard_candidate_list *list);

/**
 * donard_candidate_get() - one candidate of a list
 * @list: the list
 * @index: from 0
 *
 * Returns the record, which lives as long as the list; NULL past the last.
 */
const struct donard_candidate_info *donard_candidate_get(const struct donard_candidate_list *list,
							 size_t index);

/**
 * donard_candidate_list_free() - free a list and all its records
 * @list: may be NULL
 */
void donard_candidate_list_free(struct donard_candidate_list *list);

/**
 * donard_region_set_pinned_importers() - say whether drivers that cannot let go may import dma-bufs
 * @ctx: the context
 * @name: of the region
 * @allowed: whether such drivers may attach from now on; those that have attached stay
 *
 * The removal of a region waits for such importers.
 *
 * Returns 0; -ENODEV; -EINVAL when @name cannot name a region; -EACCES unless the
 * caller is root; -EPERM while the kernel is locked down; -EROFS where sysfs is read-only; -EOPNOTSUPP without the module;
 * -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_region_set_pinned_importers(struct donard_context *ctx, const char *name,
				       bool allowed);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_CANDIDATE_H */
