// SPDX-License-Identifier: Apache-2.0
/* The kernel, its options and arguments, and the processor. */
#include <stdio.h>
#include <string.h>

#include "checks.h"

static bool is_tested(const struct kernel *kernel)
{
	return kernel->major == 7 || (kernel->major == 6 && (kernel->minor == 1 || kernel->minor == 12));
}

static void check_release(struct examination *x)
{
	const struct kernel *kernel = &x->kernel;

	if (!kernel->release[0])
		find(x, CODE_KERNEL_UNTESTED, "", "/proc/sys/kernel/osrelease cannot be read, so the kernel is not known, nor its options");
	else if (!kernel_since(kernel, 6, 1))
		find(x, CODE_KERNEL_TOO_OLD, "", "the kernel is %s", kernel->release);
	else if (kernel_is_too_new(kernel) && !kernel->module_loaded)
		find(x, CODE_KERNEL_TOO_NEW, "", "the kernel is %s", kernel->release);
	else if (!is_tested(kernel))
		find(x, CODE_KERNEL_UNTESTED, "", "the kernel is %s; donard is tested on 6.1, 6.12 and 7.x",
		     kernel->release);
}

static void report_unreadable(struct examination *x)
{
	struct finding *finding;

	if (!source_exists(&x->source, "/proc/config.gz")) {
		find(x, CODE_CONFIG_UNREADABLE, "", "/boot/config-%s, /lib/modules/%s/config and "
		     "/lib/modules/%s/build/.config cannot be read", x->kernel.release, x->kernel.release, x->kernel.release);
		return;
	}
	finding = find(x, CODE_CONFIG_UNREADABLE, "", "the options of kernel %s are in /proc/config.gz alone, which is "
		       "compressed", x->kernel.release);
	find_remedy(finding, "zcat /proc/config.gz | sudo tee /boot/config-%s >/dev/null", x->kernel.release);
}

static const char *why_no_p2pdma(const struct examination *x)
{
	const struct kernel *kernel = &x->kernel;

	if (!kernel_since(kernel, 6, 13))
		return "is older than 6.13, the first whose P2PDMA pages p2pmem can make";
	if (kernel->config)
		return "has no CONFIG_PCI_P2PDMA";
	if (!source_exists(&x->source, "/proc/kallsyms"))
		return "says neither by its options nor in /proc/kallsyms whether it has CONFIG_PCI_P2PDMA: it counts as having none";
	return "does not name pci_p2pdma_distance_many in /proc/kallsyms, so it has no CONFIG_PCI_P2PDMA";
}

/* Before 7.3 the check lets generic pages pass. */
static void check_dma_debug(struct examination *x)
{
	const struct kernel *kernel = &x->kernel;
	struct finding *finding;

	if (!kernel_since(kernel, 7, 3) || kernel_option(kernel, "DMA_API_DEBUG") != 1)
		return;
	finding = find(x, CODE_DMA_API_DEBUG, "", "kernel %s has CONFIG_DMA_API_DEBUG", kernel->release);
	if (!kernel->p2pdma)
		find_remedy(finding, "Use a kernel without that option.");
}

static void check_options(struct examination *x)
{
	const struct kernel *kernel = &x->kernel;

	if (!kernel->config)
		report_unreadable(x);
	if (!kernel_option(kernel, "ZONE_DEVICE"))
		find(x, CODE_NO_ZONE_DEVICE, "", "kernel %s has no CONFIG_ZONE_DEVICE", kernel->release);
	if (!kernel->p2pdma)
		find(x, CODE_NO_P2PDMA, "", "kernel %s %s", kernel->release, why_no_p2pdma(x));
	check_dma_debug(x);
}

void check_kernel(struct examination *x)
{
	const struct kernel *kernel = &x->kernel;

	check_release(x);
	if (kernel->release[0])
		check_options(x);
	if (kernel_is_locked_down(kernel))
		find(x, CODE_LOCKDOWN, "", "the kernel's lockdown is %s", kernel->lockdown);
	if (kernel_forces_swiotlb(kernel))
		find(x, CODE_SWIOTLB_FORCED, "", "the kernel's argument swiotlb= says force");
	if (kernel->encrypts)
		find(x, CODE_MEMORY_ENCRYPTION, "", "this machine encrypts its memory");
	if (!kernel->is_x86 && source_exists(&x->source, "/proc/cpuinfo"))
		find(x, CODE_NOT_X86, "", "/proc/cpuinfo is not that of an x86 processor");
	if (kernel->virtual)
		find(x, CODE_VIRTUAL_MACHINE, "", "the processor says that it is a hypervisor's");
}
