// SPDX-License-Identifier: Apache-2.0
/*
 * The calls of libcuda.so.1 that a benchmark needs. It does not use libdonard's, because it measures programs without
 * libdonard.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_copy.h"
#include "command.h"
#include "gpu.h"

#define GPU_PREFIX	"gpu:"
#define BLOCK_ALIGN	4096

static struct {
	int (*init)(unsigned int flags);
	int (*device_get)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*set_current)(void *context);
	int (*alloc)(unsigned long long *address, size_t bytes);
	int (*free)(unsigned long long address);
	int (*to_host)(void *to, unsigned long long from, size_t bytes);
	int (*from_host)(unsigned long long to, const void *from, size_t bytes);
} cuda;

static const struct {
	const char *name;
	void *place;
} names[] = {
	{ "cuInit", &cuda.init },
	{ "cuDeviceGet", &cuda.device_get },
	{ "cuDevicePrimaryCtxRetain", &cuda.retain },
	{ "cuDevicePrimaryCtxRelease_v2", &cuda.release },
	{ "cuCtxSetCurrent", &cuda.set_current },
	{ "cuMemAlloc_v2", &cuda.alloc },
	{ "cuMemFree_v2", &cuda.free },
	{ "cuMemcpyDtoH_v2", &cuda.to_host },
	{ "cuMemcpyHtoD_v2", &cuda.from_host },
};

__attribute__((format(printf, 1, 2)))
static int complain(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dprintf(STDERR_FILENO, "%s: %s\n", cli_name, text);
	return -EIO;
}

static int load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return complain("there is no libcuda.so.1, the user part of NVIDIA's driver (apt install libcuda1)");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		if (!symbol)
			return complain("libcuda.so.1 has no %s: install a driver of CUDA 11 or later", names[i].name);
		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	return 0;
}

int bench_gpu_number(const char *text)
{
	const char *number = text + strlen(GPU_PREFIX);
	unsigned long gpu;
	char *end;

	if (strncmp(text, GPU_PREFIX, strlen(GPU_PREFIX)) || !isdigit((unsigned char)*number))
		return -1;
	gpu = strtoul(number, &end, 10);
	return *end || gpu > INT_MAX ? -1 : (int)gpu;
}

static int open_gpu(struct bench_gpu *gpu, const char *name)
{
	int rc = load();

	if (rc)
		return rc;
	rc = cuda.init(0);
	if (rc)
		return complain("CUDA cannot be initialised (%d): does the module nvidia run, and may you open /dev/nvidia*?",
				rc);
	if (cuda.device_get(&gpu->device, bench_gpu_number(name)))
		return complain("%s: CUDA has no such GPU; nvidia-smi -L lists them", name);
	rc = cuda.retain(&gpu->context, gpu->device);
	if (rc)
		return complain("%s: it gives no context (%d)", name, rc);
	return cuda.set_current(gpu->context) ? complain("%s: its context cannot be used", name) : 0;
}

int bench_gpu_alloc(struct bench_gpu *gpu, const char *name, uint64_t bytes)
{
	int rc;

	*gpu = (struct bench_gpu){ .bytes = bytes };
	rc = open_gpu(gpu, name);
	if (rc)
		return rc;
	rc = cuda.alloc(&gpu->address, bytes);
	if (rc)
		return complain("%s: %llu bytes cannot be allocated (%d)", name, (unsigned long long)bytes, rc);
	return 0;
}

void bench_gpu_free(struct bench_gpu *gpu)
{
	if (gpu->address)
		cuda.free(gpu->address);
	if (gpu->context)
		cuda.release(gpu->device);
	*gpu = (struct bench_gpu){ 0 };
}

int bench_gpu_load(const struct bench_gpu *gpu, uint64_t offset, void *to, size_t bytes)
{
	int rc = cuda.to_host(to, gpu->address + offset, bytes);

	return rc ? complain("the GPU's copy to the host failed (%d)", rc) : 0;
}

int bench_gpu_store(const struct bench_gpu *gpu, uint64_t offset, const void *from, size_t bytes)
{
	int rc = cuda.from_host(gpu->address + offset, from, bytes);

	return rc ? complain("the GPU's copy from the host failed (%d)", rc) : 0;
}

/* ---- whether the data arrived ---- */

int bench_gpu_scramble(const struct bench_gpu *gpu, const struct bench_piece *piece)
{
	uint64_t *words, word = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
	int rc;

	if (!piece->checks)
		return 0;
	words = malloc(gpu->bytes);
	if (!words)
		return complain("out of memory");
	for (uint64_t i = 0; i < gpu->bytes / sizeof(*words); i++)
		words[i] = (word + i + 1) * 0x9e3779b97f4a7c15ULL;
	rc = bench_gpu_store(gpu, 0, words, gpu->bytes);
	free(words);
	return rc;
}

static int read_last(const struct bench_piece *piece, void *to)
{
	off_t at = (off_t)(piece->drive_offset + piece->bytes - piece->block_bytes);
	int fd = open(piece->drive, O_RDONLY | O_DIRECT | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : pread(fd, to, piece->block_bytes, at);

	if (fd >= 0)
		close(fd);
	return got == (ssize_t)piece->block_bytes ? 0 : complain("%s: %s", piece->drive, strerror(errno));
}

int bench_gpu_check(const struct bench_gpu *gpu, const struct bench_piece *piece, uint64_t place)
{
	char *on_drive = NULL, *on_gpu = malloc(piece->block_bytes);
	int rc;

	if (!piece->checks) {
		free(on_gpu);
		return 0;
	}
	if (!on_gpu || posix_memalign((void **)&on_drive, BLOCK_ALIGN, piece->block_bytes)) {
		free(on_gpu);
		return complain("out of memory");
	}
	rc = read_last(piece, on_drive);
	if (!rc)
		rc = bench_gpu_load(gpu, place * piece->block_bytes, on_gpu, piece->block_bytes);
	if (!rc && memcmp(on_drive, on_gpu, piece->block_bytes))
		rc = complain("%s: the last block is not that of %s", piece->region, piece->drive);
	free(on_drive);
	free(on_gpu);
	return rc;
}
