/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel, its options, and the processor. */
#ifndef DONARD_DOCTOR_KERNEL_H
#define DONARD_DOCTOR_KERNEL_H

#include "source.h"

struct kernel {
	char release[65];	/* "" if the files of a captured machine do not have it */
	unsigned int major, minor;
	char cmdline[4096];
	char *config;		/* its options, or NULL */
	bool module_loaded;
	char lockdown[32];	/* "none", "integrity", "confidentiality"; "" if that cannot be read */
	char cpu_model[64];
	bool is_x86, virtual, p2pdma;	/* p2pdma: it has CONFIG_PCI_P2PDMA, with the list of host bridges that p2pmem asks */
	bool encrypts;		/* it encrypts its memory, judged by the processor and the kernel's arguments */
	uint64_t ram_bytes;
	uint64_t direct_map_end;	/* the last address that can have struct pages, as the module reports it; 0: unknown */
};

void kernel_read(const struct source *source, struct kernel *kernel);
void kernel_forget(struct kernel *kernel);
bool kernel_since(const struct kernel *kernel, unsigned int major, unsigned int minor);
/* Is it newer than the series that the module is built for? */
bool kernel_is_too_new(const struct kernel *kernel);
bool kernel_is_locked_down(const struct kernel *kernel);
/* Returns 1 if CONFIG_@name is y or m, 0 if it is not set, or -1 if that is not known. */
int kernel_option(const struct kernel *kernel, const char *name);
/* Returns the number that CONFIG_@name has, or @otherwise if it is not known. */
uint64_t kernel_option_number(const struct kernel *kernel, const char *name, uint64_t otherwise);
/* The last address of the direct map if KASLR shortens it as far as it may; 0 if KASLR does not shorten it. */
uint64_t kernel_kaslr_leaves(const struct kernel *kernel);
/* Is there an argument "swiotlb=force", or one with sizes in front, "swiotlb=65536,4,force"? */
bool kernel_forces_swiotlb(const struct kernel *kernel);

#endif /* DONARD_DOCTOR_KERNEL_H */
