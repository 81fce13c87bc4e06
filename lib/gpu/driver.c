// SPDX-License-Identifier: Apache-2.0
/* Loads libcuda.so.1, by the symbol names of CUDA 11 and later, and explains its errors. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/driver.h"

static struct dnd_cuda calls;

static const struct {
	const char *name;
	void *place;
} names[] = {
	{ "cuInit", &calls.init },
	{ "cuGetErrorName", &calls.error_name },
	{ "cuDeviceGet", &calls.device_get },
	{ "cuDeviceGetCount", &calls.device_count },
	{ "cuDeviceGetPCIBusId", &calls.device_bdf },
	{ "cuDeviceTotalMem_v2", &calls.device_bytes },
	{ "cuDeviceGetAttribute", &calls.device_attribute },
	{ "cuDevicePrimaryCtxGetState", &calls.state },
	{ "cuDevicePrimaryCtxRetain", &calls.retain },
	{ "cuDevicePrimaryCtxRelease_v2", &calls.release },
	{ "cuCtxPushCurrent_v2", &calls.push },
	{ "cuCtxPopCurrent_v2", &calls.pop },
	{ "cuMemAlloc_v2", &calls.alloc },
	{ "cuMemFree_v2", &calls.free },
	{ "cuMemcpyDtoH_v2", &calls.to_host },
	{ "cuMemcpyHtoD_v2", &calls.from_host },
	{ "cuMemGetAddressRange_v2", &calls.range },
	{ "cuPointerGetAttribute", &calls.get_attribute },
	{ "cuPointerSetAttribute", &calls.set_attribute },
	{ "cuThreadExchangeStreamCaptureMode", &calls.capture_mode },
	{ "cuFlushGPUDirectRDMAWrites", &calls.flush },
};

/* The failure and the remedy for an error of CUDA; all others are DND_E_DEVICE, without a remedy. */
static const struct {
	CUresult rc;
	enum dnd_error error;
	const char *remedy;
} remedies[] = {
	{ CUDA_ERROR_INVALID_VALUE, DND_E_BAD_OPTION, "" },
	{ CUDA_ERROR_OUT_OF_MEMORY, DND_E_NO_SPACE,
	  " Use less of the GPU's memory, or end programs that use it (nvidia-smi lists them)." },
	{ CUDA_ERROR_NOT_INITIALIZED, DND_E_DEVICE, " A child of fork() cannot use CUDA: start a program instead." },
	{ CUDA_ERROR_DEINITIALIZED, DND_E_DEVICE, " CUDA has ended in this process, as it does at its exit." },
	{ CUDA_ERROR_STUB_LIBRARY, DND_E_UNSUPPORTED,
	  " The libcuda.so.1 that was found is the toolkit's stub: take its folder out of LD_LIBRARY_PATH." },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE, DND_E_BUSY,
	  " Another program has the GPU alone, or its compute mode allows none: end that program, or as root: "
	  "nvidia-smi -c DEFAULT" },
	{ CUDA_ERROR_INVALID_DEVICE, DND_E_NO_SUCH_DEVICE, "" },
	{ CUDA_ERROR_INVALID_CONTEXT, DND_E_DEVICE, " Its context was destroyed: allocate the memory again." },
	{ CUDA_ERROR_ECC_UNCORRECTABLE, DND_E_DEVICE, " The GPU's memory has failed: see the kernel log." },
	{ CUDA_ERROR_NOT_FOUND, DND_E_BAD_OPTION, "" },
	{ CUDA_ERROR_ILLEGAL_ADDRESS, DND_E_DEVICE, " A kernel of the program has failed before: start it again." },
	{ CUDA_ERROR_CONTEXT_IS_DESTROYED, DND_E_DEVICE, " Its context was destroyed: allocate the memory again." },
	{ CUDA_ERROR_LAUNCH_FAILED, DND_E_DEVICE, " A kernel of the program has failed before: start it again." },
	{ CUDA_ERROR_NOT_PERMITTED, DND_E_PERMISSION, "" },
	{ CUDA_ERROR_NOT_SUPPORTED, DND_E_UNSUPPORTED, "" },
	{ CUDA_ERROR_SYSTEM_NOT_READY, DND_E_DEVICE,
	  " GPUs behind an NVSwitch need nvidia-fabricmanager: start that service." },
	{ CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, DND_E_UNSUPPORTED,
	  " libcuda.so.1 and the loaded module nvidia are of two versions: load the module again, or reboot." },
	{ CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, DND_E_UNSUPPORTED,
	  " libcuda.so.1 is of a cuda-compat package, which this GPU does not take: take its folder out of "
	  "LD_LIBRARY_PATH." },
	{ CUDA_ERROR_UNKNOWN, DND_E_DEVICE,
	  " The module nvidia_uvm may not be loaded, or /dev/nvidia-uvm not be open to you (nvidia-modprobe -u); else "
	  "see the kernel log." },
};

enum loaded { LOADED, NO_LIBRARY, NO_SYMBOL };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

/* fork() waits for the lock, so that the child finds it free whatever other threads did. */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* CUDA before 11.3 has no cuFlushGPUDirectRDMAWrites(). */
static bool is_optional(const void *place)
{
	return place == &calls.flush;
}

/*
 * @missing: the symbol that is missing, or the loader's error.  A library with all symbols is never unloaded, since
 * CUDA does not support that.
 */
static enum loaded load(char missing[DND_TEXT_BYTES / 4])
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY);

	if (!library) {
		snprintf(missing, DND_TEXT_BYTES / 4, "%s", dlerror());
		return NO_LIBRARY;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		if (!symbol && !is_optional(names[i].place)) {
			snprintf(missing, DND_TEXT_BYTES / 4, "%s", names[i].name);
			dlclose(library);
			return NO_SYMBOL;
		}
		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	is_loaded = true;
	return LOADED;
}

static int load_once(struct donard_context *ctx)
{
	char missing[DND_TEXT_BYTES / 4];
	enum loaded found = LOADED;

	pthread_mutex_lock(&lock);
	if (!is_loaded)
		found = load(missing);
	pthread_mutex_unlock(&lock);
	if (found == NO_LIBRARY)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "the user part of NVIDIA's driver cannot be loaded (%s). On "
				"Debian: apt install libcuda1 (non-free), of the version of the kernel's driver.", missing);
	if (found == NO_SYMBOL)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "libcuda.so.1 has no %s. Install a driver of CUDA 11 or "
				"later.", missing);
	return 0;
}

static int no_device(struct donard_context *ctx)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (visible)
		return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "CUDA finds no GPU: CUDA_VISIBLE_DEVICES is '%s'. Unset it, or "
				"see 'nvidia-smi -L' for what may stand there.", visible);
	return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "CUDA finds no GPU. Is the module nvidia loaded and bound to it "
			"(lspci -k; on Debian: apt install nvidia-open-kernel-dkms, contrib, then reboot), and may you open "
			"/dev/nvidia*? Else dmesg says why (NVRM).");
}

int dnd_cuda_open(struct donard_context *ctx, const struct dnd_cuda **cuda)
{
	int rc = load_once(ctx);
	CUresult started;

	*cuda = &calls;
	if (rc)
		return rc;
	started = calls.init(0);
	if (started == CUDA_ERROR_NO_DEVICE)
		return no_device(ctx);
	return started ? dnd_cuda_failed(ctx, &calls, started, "CUDA cannot be initialised") : 0;
}

int dnd_cuda_failed(struct donard_context *ctx, const struct dnd_cuda *cuda, CUresult rc,
		    const char *format, ...)
{
	enum dnd_error error = DND_E_DEVICE;
	const char *name = NULL, *remedy = "";
	va_list arguments;
	int failed;

	if (cuda->error_name(rc, &name) || !name)
		name = "an error of a later CUDA";
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		if (remedies[i].rc != rc)
			continue;
		error = remedies[i].error;
		remedy = remedies[i].remedy;
	}
	va_start(arguments, format);
	failed = dnd_failure_set(&ctx->failure, error, format, arguments);
	va_end(arguments);
	dnd_fail_more(ctx, " (%s, %d).%s", name, (int)rc, remedy);
	return failed;
}
