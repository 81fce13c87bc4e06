/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of this machine, and what each still lacks before programs can pin memory on it
 * (donard_memory_from_cuda() of memory.h).  The conventions are those of donard.h.
 */
#ifndef DONARD_GPU_H
#define DONARD_GPU_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum donard_gpu_driver - which driver a GPU has
 * @DONARD_GPU_DRIVER_NONE: none is bound
 * @DONARD_GPU_DRIVER_OPEN: NVIDIA's open kernel module
 * @DONARD_GPU_DRIVER_PROPRIETARY: NVIDIA's proprietary module, which cannot pin memory for donard
 * @DONARD_GPU_DRIVER_OTHER: any other: nouveau, amdgpu, i915, vfio-pci
 */
enum donard_gpu_driver {
	DONARD_GPU_DRIVER_NONE,
	DONARD_GPU_DRIVER_OPEN,
	DONARD_GPU_DRIVER_PROPRIETARY,
	DONARD_GPU_DRIVER_OTHER,
};

/**
 * donard_gpu_driver_text() - the word for a driver
 * @driver: as in struct donard_gpu_info
 *
 * Returns "none", "open", "proprietary", "other", or "unknown".
 */
const char *donard_gpu_driver_text(enum donard_gpu_driver driver);

/**
 * struct donard_gpu_info - a GPU, as the kernel shows it
 * @size: of this record, as the library filled it
 * @bdf: "0000:03:00.0"
 * @model: as the PCI ids name it, "" when unknown
 * @driver: the name of its driver, or ""
 * @driver_version: the version that the driver's module reports, or ""
 * @driver_kind: one of NVIDIA's drivers, another, or none
 * @bar: Linux's number of the BAR through which peers reach the GPU's memory (NVIDIA calls it BAR1)
 * @bar_bytes: the size of that BAR, 0 if there is none, or the firmware gave it no address.  Programs cannot pin more
 *	than this, less 36 MiB that the driver keeps
 * @bar_largest_bytes: the size that Resizable BAR could give it, 0 if the function has no such capability,
 *	the kernel does not say, or @bar_bytes is 0
 * @static_bar1: the driver has struct pages of its own for the whole BAR, which a region uses
 * @region: the region of kind gpu-nvidia for its memory, or ""; not one that is being taken away
 * @obstacle: why nothing can be pinned now, with a remedy, or "".  It does not cover what only an attempt
 *	to pin reveals (that a GPU is partitioned, or virtual)
 */
struct donard_gpu_info {
	size_t size;
	const char *bdf;
	const char *model;
	const char *driver;
	const char *driver_version;
	const char *region;
	const char *obstacle;
	enum donard_gpu_driver driver_kind;
	unsigned int bar;
	uint64_t bar_bytes;
	uint64_t bar_largest_bytes;
	bool static_bar1;
	bool reserved[7];
};

struct donard_gpu_list;

/**
 * donard_gpu_list() - list the GPUs, by PCI address
 * @ctx: the context
 * @list: set to the list, which donard_gpu_list_free() frees
 *
 * The list has the display controllers (PCI class 03) of every vendor, and whatever else has the driver
 * nvidia.  The call needs no kernel module, no driver and no privileges.
 *
 * Returns how many there are, which may be 0; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_gpu_list(struct donard_context *ctx, struct donard_gpu_list **list);

/**
 * donard_gpu_count() - how many GPUs a list has
 * @list: NULL has none
 *
 * Returns the number.
 */
size_t donard_gpu_count(const struct donard_gpu_list *list);

/**
 * donard_gpu_get() - one GPU of a list
 * @list: the list
 * @index: from 0
 *
 * Returns the record, which lives as long as the list; NULL past the last.
 */
const struct donard_gpu_info *donard_gpu_get(const struct donard_gpu_list *list, size_t index);

/**
 * donard_gpu_list_free() - free a list and all its records
 * @list: may be NULL
 */
void donard_gpu_list_free(struct donard_gpu_list *list);

/**
 * donard_gpu_memory() - ask CUDA how much memory a GPU has
 * @ctx: the context
 * @bdf: "0000:03:00.0", also as CUDA writes it ("00000000:AF:00.0")
 * @number: set to CUDA's number of the GPU, the N in "gpu:N"
 * @bytes: set to how much memory the GPU has
 *
 * The call loads libcuda.so.1 and starts CUDA in this process, which takes a moment; children that
 * the process forks afterwards cannot use CUDA.
 *
 * Returns 0; -EINVAL if @bdf is no PCI address; -EOPNOTSUPP without libcuda; -ENODEV when CUDA has no such GPU; -EIO.
 */
int donard_gpu_memory(struct donard_context *ctx, const char *bdf, unsigned int *number, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_GPU_H */
