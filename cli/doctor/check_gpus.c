// SPDX-License-Identifier: Apache-2.0
/* GPUs: whether memory that programs allocate on them can be pinned, and how much of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "gpu.h"
#include "output.h"
#include "terms.h"

#define VENDOR_NVIDIA	0x10de
#define KEPT_BYTES	(36ULL << 20)	/* of BAR1, by the driver */

static bool is_nvidia(const struct examination *x, const struct donard_gpu_info *gpu)
{
	const struct pci_function *function = pci_find(&x->pci, gpu->bdf);

	return !strcmp(gpu->driver, "nvidia") || (function && function->vendor == VENDOR_NVIDIA);
}

static int see_instance(void *user, const char *entry)
{
	*(bool *)user |= !strncmp(entry, "gi", 2);
	return 0;
}

/* Is the GPU divided by MIG?  The driver then has a folder for each instance. */
static bool is_partitioned(const struct examination *x, const struct donard_gpu_info *gpu)
{
	char text[1024], folder[96], *minor;
	bool any = false;

	source_lines(&x->source, text, sizeof(text), "/proc/driver/nvidia/gpus/%s/information", gpu->bdf);
	minor = strstr(text, "Device Minor:");
	if (!minor)
		return false;
	snprintf(folder, sizeof(folder), "/proc/driver/nvidia/capabilities/gpu%ld/mig",
		 strtol(minor + strlen("Device Minor:"), NULL, 10));
	source_each(&x->source, folder, see_instance, &any);
	return any;
}

/* Asks CUDA how much memory the GPU has, which is impossible for a captured machine. */
static void check_memory_of(struct examination *x, const struct donard_gpu_info *gpu, struct json_object *model)
{
	char bar[DONARD_SIZE_TEXT_BYTES], whole[DONARD_SIZE_TEXT_BYTES], most[DONARD_SIZE_TEXT_BYTES];
	char text[CLI_ERROR_BYTES];
	struct finding *finding;
	unsigned int number;
	uint64_t bytes;
	int rc;

	if (!x->source.live || gpu->driver_kind != DONARD_GPU_DRIVER_OPEN)
		return;
	rc = donard_gpu_memory(x->ctx, gpu->bdf, &number, &bytes);
	if (rc) {
		find(x, CODE_GPU_NO_CUDA, gpu->bdf, "%s", cli_in_options(donard_error(x->ctx), text, sizeof(text)));
		return;
	}
	cli_add_number(model, "cuda_number", number);
	cli_add_number(model, "memory", bytes);
	if (gpu->bar_bytes >= bytes)
		return;
	donard_format_size(bar, sizeof(bar), gpu->bar_bytes > KEPT_BYTES ? gpu->bar_bytes - KEPT_BYTES : 0);
	donard_format_size(whole, sizeof(whole), bytes);
	finding = find(x, CODE_GPU_SMALL_BAR1, gpu->bdf, "of the %s of %s, %s can be pinned at a time", whole, gpu->bdf, bar);
	if (gpu->bar_largest_bytes > gpu->bar_bytes)
		find_remedy(finding, "Enable 'Resizable BAR' in the firmware's setup: BAR1 could have %s. Or pin less at a time.",
			    donard_format_size(most, sizeof(most), gpu->bar_largest_bytes));
}

/* The second name is the one in Debian's package. */
static bool has_nvidias_module(const struct examination *x)
{
	return is_installed(x, "/nvidia.ko") || is_installed(x, "/nvidia-current-open.ko");
}

static void report_no_driver(struct examination *x, const struct donard_gpu_info *gpu)
{
	const char *bdf = gpu->bdf, *driver = gpu->driver;
	struct finding *finding = find(x, CODE_GPU_NO_DRIVER, bdf, "%s is driven by %s", bdf, driver[0] ? driver : "nothing");

	if (!strcmp(driver, "vfio-pci") || !strcmp(driver, "p2pmem"))
		find_remedy(finding, "Nothing has to be done if %s is to keep it. Else unbind it from there, and have NVIDIA's open kernel "
			    "module bind it: docs/gpu.md, Drivers.", driver);
	else if (has_nvidias_module(x))
		find_remedy(finding, "NVIDIA's module is installed for kernel %s: reboot, or, where no other driver has the GPU, sudo "
			    "modprobe nvidia. If it does not bind the GPU then, dmesg says why (NVRM), such as a GPU older than Turing.",
			    x->kernel.release);
}

static void check_driver(struct examination *x, const struct donard_gpu_info *gpu)
{
	if (gpu->driver_kind == DONARD_GPU_DRIVER_PROPRIETARY)
		find(x, CODE_GPU_PROPRIETARY, gpu->bdf, "%s is driven by NVIDIA's proprietary module%s%s", gpu->bdf,
		     gpu->driver_version[0] ? ", release " : "", gpu->driver_version);
	else if (gpu->driver_kind != DONARD_GPU_DRIVER_OPEN)
		report_no_driver(x, gpu);
	else if (!gpu->region[0] && gpu->bar_bytes)
		find_remedy(find(x, CODE_GPU_NO_REGION, gpu->bdf, "nothing of %s can be pinned before it has a region", gpu->bdf),
			    "sudo donard-cli region add --kind gpu-nvidia --device %s", gpu->bdf);
	else if (!gpu->bar_bytes)
		find(x, CODE_BAR_UNASSIGNED, gpu->bdf, "%s has no prefetchable memory BAR with an address", gpu->bdf);
}

static void check_gpu(struct examination *x, const struct donard_gpu_info *gpu, struct json_object *model)
{
	if (!is_nvidia(x, gpu))
		return;
	check_driver(x, gpu);
	if (gpu->static_bar1)
		find(x, CODE_GPU_STATIC_BAR1, gpu->bdf, "the driver of %s has struct pages for BAR %u itself", gpu->bdf, gpu->bar);
	if (is_partitioned(x, gpu)) {
		cli_add_text(model, "mode", "mig");
		find(x, CODE_GPU_PARTITIONED, gpu->bdf, "%s is divided into instances (MIG)", gpu->bdf);
	}
	check_memory_of(x, gpu, model);
}

void check_gpus(struct examination *x, struct json_object *models)
{
	const struct donard_gpu_info *gpu;

	for (size_t i = 0; (gpu = donard_gpu_get(x->gpus, i)); i++) {
		struct json_object *model = cli_model_gpu(gpu);

		json_object_array_add(models, model);
		check_gpu(x, gpu, model);
	}
}
