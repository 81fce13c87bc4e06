// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of a GPU over a libcuda that this program plays (play_cuda.h).  Files stand for the regions.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "play_cuda.h"
#include "play_ioctl.h"
#include "donard/gpu.h"
#include "gpu/gpu.h"

#define BDF		"0000:af:00.0"

/* --- the module --- */

static int pin_errno[8];	/* of one pin after the other */
static unsigned int asked;
static uint64_t pinned_at, pinned_bytes;
static const char *pin_reason = "the module's reason";

static int play_pin(struct p2pmem_pin_gpu *pin)
{
	int rc = asked < 8 ? pin_errno[asked] : 0;

	asked++;
	assert_int_equal(pin->va % 65536, 0);
	assert_int_equal(pin->length % 65536, 0);
	strcpy(pin->reason, pin_reason);
	if (rc) {
		errno = rc;
		return -1;
	}
	pinned_at = pin->va;
	pinned_bytes = pin->length;
	pins++;
	return 0;
}

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	if (request == P2PMEM_IOC_PIN_GPU)
		return play_pin(argument);
	if (request == P2PMEM_IOC_CLAIM) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (request == P2PMEM_IOC_INFO) {
		struct p2pmem_info *info = argument;

		fake_info_name(fd, info);
		info->region_bytes = VRAM_BYTES;
		info->granule_bytes = 4096;
		info->pci_bus = 0xaf;
		info->kind = P2PMEM_KIND_GPU_NVIDIA;
		info->state = P2PMEM_STATE_READY;
	}
	return 0;
}

/* --- scenes --- */

static void add_region(struct fake *fake, const char *name)
{
	char path[128];
	int fd;

	fake_region(fake, name, "gpu-nvidia", BDF);
	snprintf(path, sizeof(path), "%s/%s", fake->root, name);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_int_equal(ftruncate(fd, VRAM_BYTES), 0);
	close(fd);
}

static int setup(void **state)
{
	if (fake_setup(state))
		return -1;
	add_region(*state, "p2pmem0");
	memset(&gpu, 0, sizeof(gpu));
	memset(pin_errno, 0, sizeof(pin_errno));
	gpu.bdf = "0000:AF:00.0";
	gpu.ordering = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
	gpu.options = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST;
	gpu.strict = true;
	pins = asked = 0;
	unsetenv("CUDA_VISIBLE_DEVICES");
	return 0;
}

/* After each test the program's thread has its context as before, and nothing is retained. */
static int teardown(void **state)
{
	assert_int_equal(gpu.retained, 0);
	assert_int_equal(gpu.mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	return fake_teardown(state);
}

/* A program allocates memory. */
static void program_allocates(uint64_t bytes)
{
	gpu.allocated = bytes;
	gpu.identity = 7;
}

static struct donard_memory *take(struct fake *fake, uint64_t address, uint64_t bytes)
{
	struct donard_memory *memory = NULL;
	int rc = donard_memory_from_cuda(fake->ctx, address, bytes, &memory);

	if (rc)
		print_message("  %s\n", donard_error(fake->ctx));
	assert_int_equal(rc, 0);
	return memory;
}

static void says(struct fake *fake, int want, int rc, const char *code, const char *words)
{
	print_message("  %s\n", donard_error(fake->ctx));
	assert_int_equal(rc, want);
	assert_string_equal(donard_error_code(fake->ctx), code);
	assert_non_null(strstr(donard_error(fake->ctx), words));
}

static void refused(struct fake *fake, int want, const char *code, const char *words)
{
	struct donard_memory *memory = NULL;

	says(fake, want, donard_memory_from_cuda(fake->ctx, CHUNK + gpu.skew, 65536, &memory), code, words);
	assert_null(memory);
	assert_int_equal(gpu.sync, 0);
}

static void alloc_refused(struct fake *fake, int want, const char *code, const char *words)
{
	struct donard_memory *memory = NULL;
	uint64_t address = 5;

	says(fake, want, donard_memory_alloc_cuda(fake->ctx, 0, 65536, &address, &memory), code, words);
	assert_null(memory);
	assert_int_equal(address, 5);
	assert_int_equal(gpu.allocations, gpu.frees);
}

/* --- the library; these first, since one that was found stays --- */

static void no_library(void **state)
{
	program_allocates(65536);
	gpu.loader_says = "libcuda.so.1: wrong ELF class: ELFCLASS32";
	refused(*state, -EOPNOTSUPP, "unsupported", "wrong ELF class");
	refused(*state, -EOPNOTSUPP, "unsupported", "apt install libcuda1");
}

static void missing_symbol(void **state)
{
	gpu.missing = "cuPointerSetAttribute";
	refused(*state, -EOPNOTSUPP, "unsupported", "no cuPointerSetAttribute");
	assert_int_equal(gpu.closed, 1);
}

/* A driver of CUDA 11.0 has no such call.  Runs in a child, since a loaded library stays loaded. */
static void without_flush(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;
	int status = -1;
	pid_t child = fork();

	if (!child) {
		uint64_t address;

		gpu.missing = "cuFlushGPUDirectRDMAWrites";
		gpu.ordering = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE;
		_exit(donard_memory_alloc_cuda(fake->ctx, 0, 65536, &address, &memory) || donard_memory_sync(memory, 0) || gpu.flushed);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void start_errors(void **state)
{
	static const struct { int cuda, rc; const char *code, *words; } cases[] = {
		{ CUDA_ERROR_NO_DEVICE, -ENODEV, "no-such-device", "lspci -k" },
		{ CUDA_ERROR_NOT_INITIALIZED, -EIO, "device", "A child of fork()" },
		{ CUDA_ERROR_STUB_LIBRARY, -EOPNOTSUPP, "unsupported", "toolkit's stub" },
		{ CUDA_ERROR_SYSTEM_NOT_READY, -EIO, "device", "nvidia-fabricmanager" },
		{ CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, -EOPNOTSUPP, "unsupported", "reboot" },
		{ CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, -EOPNOTSUPP, "unsupported", "cuda-compat" },
		{ CUDA_ERROR_UNKNOWN, -EIO, "device", "nvidia_uvm" },
		{ 12345, -EIO, "device", "an error of a later CUDA, 12345" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gpu.init = (CUresult)cases[i].cuda;
		refused(*state, cases[i].rc, cases[i].code, cases[i].words);
	}
	gpu.init = CUDA_ERROR_NO_DEVICE;
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	refused(*state, -ENODEV, "no-such-device", "CUDA_VISIBLE_DEVICES is ''");
}

/* --- what a program allocated --- */

/* An I/O thread has no context, and CUDA refuses it everything. */
static void thread_without_context(void **state)
{
	struct donard_memory *memory;

	program_allocates(1 << 20);
	memory = take(*state, CHUNK + 65536 + 4096, 100000);
	assert_int_equal(gpu.depth, 0);
	assert_int_equal(gpu.retained, 0);
	assert_int_equal(gpu.sync, 1);
	assert_int_equal(pinned_at, CHUNK + 65536);
	assert_int_equal(pinned_bytes, 2 * 65536);
	donard_memory_free(memory);
	assert_int_equal(gpu.frees, 0);
}

static void thread_with_context(void **state)
{
	program_allocates(1 << 20);
	gpu.stack[gpu.depth++] = &programs;
	donard_memory_free(take(*state, CHUNK, 65536));
	assert_int_equal(gpu.depth, 1);
	assert_ptr_equal(gpu.stack[0], &programs);
	gpu.depth = 0;
}

static void older_cuda_needs_no_context(void **state)
{
	program_allocates(1 << 20);
	gpu.strict = false;
	gpu.retain = CUDA_ERROR_DEVICE_UNAVAILABLE;	/* and gets none made */
	donard_memory_free(take(*state, CHUNK, 65536));
}

static void no_context_can_be_made(void **state)
{
	program_allocates(1 << 20);
	gpu.retain = CUDA_ERROR_DEVICE_UNAVAILABLE;
	refused(*state, -EBUSY, "busy", "nvidia-smi -c DEFAULT");
}

/* cuMemAllocAsync() and cuMemCreate(): of no context. */
static void memory_of_pools(void **state)
{
	program_allocates(1 << 20);
	gpu.pool = true;
	for (int strict = 0; strict < 2; strict++) {
		gpu.strict = strict;
		gpu.capable = false;
		refused(*state, -EINVAL, "bad-option", "not made for GPUDirect RDMA");
		assert_int_equal(asked, 0);
		gpu.capable = true;
		donard_memory_free(take(*state, CHUNK, 65536));
		gpu.sync = asked = 0;
	}
	gpu.set = CUDA_ERROR_NOT_SUPPORTED;
	refused(*state, -EOPNOTSUPP, "unsupported", "SYNC_MEMOPS cannot be set");
}

static void other_memory(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;

	refused(fake, -EINVAL, "bad-option", "it was freed");
	program_allocates(65536);
	gpu.managed = true;
	refused(fake, -EINVAL, "bad-option", "moves between GPU and host");
	gpu.managed_rc = CUDA_ERROR_UNKNOWN;
	refused(fake, -EIO, "device", "does not say what it is");
	gpu.managed_rc = CUDA_SUCCESS;
	gpu.managed = false;
	gpu.host = true;
	refused(fake, -EINVAL, "bad-option", "memory of the host that CUDA knows");
	gpu.host = false;
	gpu.ordinal = CUDA_ERROR_INVALID_VALUE;
	refused(fake, -EINVAL, "bad-option", "which GPU has it");
	gpu.ordinal = CUDA_SUCCESS;
	says(fake, -ENXIO, donard_memory_from_cuda(fake->ctx, CHUNK + 1, 65536, &memory), "past-end", "make one of each");
	says(fake, -EINVAL, donard_memory_from_cuda(fake->ctx, CHUNK, 0, &memory), "bad-option", "not GPU memory");
	says(fake, -EINVAL, donard_memory_from_cuda(fake->ctx, UINT64_MAX, 1, &memory), "bad-option", "not GPU memory");
	assert_int_equal(asked, 0);
}

static void addresses_of_functions(void **state)
{
	static const char *const spellings[] = { "0000:af:00.0", "0000:AF:00.0", "00000000:AF:00.0", "af:00.0" };
	struct fake *fake = *state;
	unsigned int number;
	uint64_t bytes;

	program_allocates(65536);
	gpu.bdf = "00000000:AF:00.0";
	donard_memory_free(take(fake, CHUNK, 65536));
	gpu.sync = 0;
	gpu.bdf = "00010000:AF:00.0";
	refused(fake, -ENODEV, "no-such-device", "donard_region_add(gpu-nvidia, 10000:af:00.0)");
	gpu.bdf = "NVLINK";
	refused(fake, -EOPNOTSUPP, "unsupported", "not the address of a PCI device");
	gpu.bdf = "00000000:AF:00.0";
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		assert_int_equal(donard_gpu_memory(fake->ctx, spellings[i], &number, &bytes), 0);
	assert_int_equal(donard_gpu_memory(fake->ctx, "nvme0", &number, &bytes), -EINVAL);
}

/* --- regions --- */

static void module_refuses(void **state)
{
	static const struct { int error_number, rc; const char *code, *words; } cases[] = {
		{ EBUSY, -EBUSY, "busy", "p2pmem0: the module's reason." },
		{ ENXIO, -EXDEV, "outside-region", "the module's reason" },
		{ ENOSPC, -ENOSPC, "no-space", "the module's reason" },
		{ EINVAL, -EINVAL, "bad-option", "the module's reason" },
		{ ENODEV, -ENODEV, "region-gone", "the module's reason" },
		{ ENOTTY, -EOPNOTSUPP, "unsupported", "the loaded module cannot" },
	};
	struct fake *fake = *state;

	program_allocates(65536);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		asked = 0;
		pin_errno[0] = cases[i].error_number;
		refused(fake, cases[i].rc, cases[i].code, cases[i].words);
		assert_int_equal(asked, 1);
		assert_null(strstr(donard_error(fake->ctx), "make one memory of them"));
	}
	pin_reason = "a part of this GPU memory is pinned through p2pmem0 already";
	asked = 0;
	pin_errno[0] = EBUSY;
	refused(fake, -EBUSY, "busy", "make one memory of them");
	pin_reason = "the module's reason";
}

static void interrupted(void **state)
{
	program_allocates(65536);
	pin_errno[0] = pin_errno[1] = EINTR;
	donard_memory_free(take(*state, CHUNK, 65536));
	assert_int_equal(asked, 3);
}

/* One that is removed may be there still when the next one is. */
static void region_that_leaves(void **state)
{
	struct fake *fake = *state;
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_memory *memory;

	program_allocates(65536);
	add_region(fake, "p2pmem3");
	fake_file(fake, "class/p2pmem/p2pmem0/state", "draining");
	memory = take(fake, CHUNK, 65536);
	assert_int_equal(donard_memory_info(memory, &info), 0);
	assert_string_equal(info.region, "p2pmem3");
	donard_memory_free(memory);
	gpu.sync = asked = 0;
	fake_file(fake, "class/p2pmem/p2pmem3/state", "draining");
	refused(fake, -ENODEV, "region-gone", "is being taken away");
	fake_file(fake, "class/p2pmem/p2pmem0/kind", "pci-bar");
	fake_file(fake, "class/p2pmem/p2pmem3/kind", "pci-bar");
	refused(fake, -ENODEV, "no-such-device", "has no region to pin its memory in");
	assert_int_equal(asked, 0);
}

/* For two of these a region could not be added. */
static void no_region(void **state)
{
	struct fake *fake = *state;

	program_allocates(65536);
	fake_file(fake, "class/p2pmem/p2pmem0/kind", "pci-bar");
	fake_pci(fake, BDF, "pci0000:00", "0x030000", "0x0000004000000000 0x000000400fffffff 0x000000000014220c\n");
	fake_driver(fake, BDF, "nvidia");
	fake_folder(fake, "module/nv");
	fake_link(fake, "bus/pci/drivers/nvidia/module", "module/nv");
	fake_file(fake, "module/nv/taint", "POE");
	refused(fake, -EOPNOTSUPP, "unsupported", "apt install nvidia-open-kernel-dkms");
	fake_file(fake, "module/nv/taint", "OE");
	refused(fake, -ENODEV, "no-such-device", "has no region to pin its memory in");
	fake_file(fake, "bus/pci/devices/" BDF "/resource", FAKE_NO_BAR);
	refused(fake, -EOPNOTSUPP, "unsupported", "Above 4G decoding");
	assert_int_equal(asked, 0);
}

/* --- allocated here --- */

static struct donard_memory *allocate_memory(struct fake *fake, uint64_t bytes, uint64_t *address)
{
	struct donard_memory *memory = NULL;
	int rc = donard_memory_alloc_cuda(fake->ctx, 0, bytes, address, &memory);

	if (rc)
		print_message("  %s\n", donard_error(fake->ctx));
	assert_int_equal(rc, 0);
	assert_int_equal(gpu.retained, 1);
	assert_int_equal(gpu.depth, 0);
	return memory;
}

/* Another's bytes in the same page would exclude one of the two memories. */
static void small_memory_has_its_pages(void **state)
{
	struct donard_memory *memory;
	uint64_t address;
	uint8_t byte;

	gpu.skew = 512;
	memory = allocate_memory(*state, 100, &address);
	assert_int_equal(address % 65536, 0);
	assert_true(address >= CHUNK + gpu.skew);
	assert_true(address + 65536 <= CHUNK + gpu.skew + gpu.allocated);
	assert_int_equal(pinned_at, address);
	assert_int_equal(pinned_bytes, 65536);
	assert_int_equal(dnd_gpu_load(memory, 0, &byte, 1), 0);
	assert_int_equal(byte, (uint8_t)(address >> 16));
	donard_memory_free(memory);
	assert_int_equal(gpu.frees, gpu.allocations);
	gpu.skew = 0;
	gpu.allocations = gpu.frees = 0;
	donard_memory_free(allocate_memory(*state, 65536, &address));
	assert_int_equal(gpu.allocations, 1);
}

static void memory_that_is_free_soon(void **state)
{
	uint64_t address;

	gpu.out_of_memory = 3;
	donard_memory_free(allocate_memory(*state, 65536, &address));
	gpu.out_of_memory = UINT32_MAX;
	alloc_refused(*state, -ENOSPC, "no-space", "nvidia-smi lists them");
}

/* cudaDeviceReset() took it, and CUDA has given the address out again. */
static void strangers_memory_stays(void **state)
{
	struct donard_memory *memory;
	uint64_t address;

	memory = allocate_memory(*state, 65536, &address);
	gpu.identity++;
	donard_memory_free(memory);
	assert_int_equal(gpu.frees, 0);
	memory = allocate_memory(*state, 65536, &address);
	gpu.push = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	donard_memory_free(memory);
	assert_int_equal(gpu.frees, 0);
}

static void each_step_of_allocating_fails(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = NULL;
	uint64_t address = 5;

	gpu.retain = CUDA_ERROR_DEVICE_UNAVAILABLE;
	alloc_refused(fake, -EBUSY, "busy", "nvidia-smi -c DEFAULT");
	gpu.retain = CUDA_ERROR_OUT_OF_MEMORY;
	alloc_refused(fake, -ENOSPC, "no-space", "nvidia-smi");
	gpu.retain = CUDA_SUCCESS;
	gpu.push = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	alloc_refused(fake, -EIO, "device", "context was destroyed");
	gpu.push = CUDA_SUCCESS;
	gpu.alloc = CUDA_ERROR_ECC_UNCORRECTABLE;
	alloc_refused(fake, -EIO, "device", "see the kernel log");
	gpu.alloc = CUDA_SUCCESS;
	pin_errno[0] = ENOSPC;
	alloc_refused(fake, -ENOSPC, "no-space", "the module's reason");
	gpu.set = CUDA_ERROR_INVALID_VALUE;
	alloc_refused(fake, -EINVAL, "bad-option", "SYNC_MEMOPS");
	gpu.bdf = "?";
	alloc_refused(fake, -EOPNOTSUPP, "unsupported", "not the address of a PCI device");
	says(fake, -ENODEV, donard_memory_alloc_cuda(fake->ctx, 1, 1, &address, &memory), "no-such-device",
	     "CUDA sees 1, numbered from 0");
	says(fake, -ENODEV, donard_memory_alloc_cuda(fake->ctx, UINT32_MAX, 1, &address, &memory), "no-such-device",
	     "no GPU has such a number");
	says(fake, -EINVAL, donard_memory_alloc_cuda(fake->ctx, 0, 0, &address, &memory), "bad-option", "at least one byte");
	assert_int_equal(address, 5);
}

/* --- what peers wrote --- */

static void unordered_writes(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory;
	uint64_t address;

	gpu.ordering = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE;
	memory = allocate_memory(fake, 65536, &address);
	assert_int_equal(donard_memory_sync(memory, 0), 0);
	assert_int_equal(gpu.flushed, 1);
	assert_ptr_equal(gpu.flushed_in, &primary);
	gpu.flush = CUDA_ERROR_LAUNCH_FAILED;
	says(fake, -EIO, donard_memory_sync(memory, 0), "device", "what its peers wrote cannot be made visible");
	gpu.flush = CUDA_SUCCESS;
	donard_memory_free(memory);
	program_allocates(65536);
	memory = take(fake, CHUNK, 65536);
	assert_int_equal(gpu.flushed, 1);
	assert_int_equal(donard_memory_sync(memory, 0), 0);
	assert_int_equal(gpu.flushed, 2);
	assert_ptr_equal(gpu.flushed_in, &programs);
	gpu.allocated = 0;
	says(fake, -EINVAL, donard_memory_sync(memory, 0), "bad-option", "it was freed");
	donard_memory_free(memory);
}

/* Writes to a GPU that orders them, to one that no process can flush, and with a CUDA that does not say. */
static void ordered_writes(void **state)
{
	struct donard_memory *memories[3];

	program_allocates(3 * 65536);
	memories[0] = take(*state, CHUNK, 65536);
	gpu.ordering = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE;
	gpu.options = 0;
	memories[1] = take(*state, CHUNK + 65536, 65536);
	gpu.order_rc = CUDA_ERROR_INVALID_VALUE;
	memories[2] = take(*state, CHUNK + 2 * 65536, 65536);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(donard_memory_sync(memories[i], 0), 0);
		donard_memory_free(memories[i]);
	}
	assert_int_equal(gpu.flushed, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Its region gives out no memory, and is no disk either. */
static void region_has_no_free_memory(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory;

	says(fake, -EOPNOTSUPP, donard_memory_claim(fake->ctx, "p2pmem0", 0, 65536, &memory), "unsupported", "gpu:0000:af:00.0");
	says(fake, -EOPNOTSUPP, donard_memory_alloc(fake->ctx, "p2pmem0", 65536, &memory), "unsupported", "gpu:0000:af:00.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(no_library), CASE(missing_symbol), CASE(without_flush), CASE(start_errors),
	};
	const struct CMUnitTest found[] = {
		CASE(thread_without_context), CASE(thread_with_context), CASE(older_cuda_needs_no_context),
		CASE(no_context_can_be_made), CASE(memory_of_pools), CASE(other_memory), CASE(addresses_of_functions),
		CASE(module_refuses), CASE(interrupted), CASE(region_that_leaves), CASE(no_region),
		CASE(small_memory_has_its_pages), CASE(memory_that_is_free_soon), CASE(strangers_memory_stays), CASE(each_step_of_allocating_fails),
		CASE(region_has_no_free_memory), CASE(unordered_writes), CASE(ordered_writes),
	};
	int rc = cmocka_run_group_tests_name("gpu, libcuda", tests, NULL, NULL);

	return rc ? rc : cmocka_run_group_tests_name("gpu", found, NULL, NULL);
}
