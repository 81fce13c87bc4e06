/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that runs, its options, and the processor. */
#ifndef DONARD_DOCTOR_KERNEL_H
#define DONARD_DOCTOR_KERNEL_H

#include "source.h"

struct kernel {
	char release[65];
	unsigned int major, minor;
	char cmdline[4096];
	char *config;		/* its options, or NULL */
	bool module_loaded;
	char cpu_model[64];
	bool is_x86, virtual, p2pdma;
	bool encrypts;		/* its memory, as far as the processor and the arguments say */
	uint64_t ram_bytes;
	uint64_t direct_map_end;	/* the last address with room for struct pages, as the module says; 0: not asked */
};

/* p2pdma: has the kernel a list of host bridges that p2pmem asks? */
void kernel_read(const struct source *source, struct kernel *kernel);
void kernel_forget(struct kernel *kernel);
bool kernel_since(const struct kernel *kernel, unsigned int major, unsigned int minor);
/* Of CONFIG_@name: 1 (y or m), 0, or -1 if that is not known. */
int kernel_option(const struct kernel *kernel, const char *name);
/* The value of CONFIG_@name, a number; @otherwise without one. */
uint64_t kernel_option_number(const struct kernel *kernel, const char *name, uint64_t otherwise);
/* The last address in the direct map where KASLR cuts that as short as it may; 0: it does not cut it. */
uint64_t kernel_kaslr_leaves(const struct kernel *kernel);
/* "swiotlb=force", or with sizes in front, "swiotlb=65536,4,force": the first that says so counts. */
bool kernel_forces_swiotlb(const struct kernel *kernel);

#endif /* DONARD_DOCTOR_KERNEL_H */
