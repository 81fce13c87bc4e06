// SPDX-License-Identifier: Apache-2.0
/*
 * Copies to and from gpu:N with a file in place of the region, and the GPU's
 * memory in that file.  CUDA and the kernel's ioctls are played by this program,
 * in place of lib/gpu/driver.c.  Needs ext4 or xfs under /var/tmp.
 */
#include <fcntl.h>
#include <liburing.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "place.h"
#include "unit.h"
#include "fake_sysfs.h"
#include "play_ioctl.h"
#include "donard/file.h"
#include "gpu/driver.h"
#include "memory/memory.h"

#define VRAM_BYTES	(4U << 20)
#define VRAM_ADDRESS	0x300000000ULL
#define BDF		"0000:03:00.0"

/* --- the GPU: one allocation at a time, at the start of its memory --- */

static int vram_fd = -1;
static size_t allocated_bytes;
static unsigned int retained;
static bool played_no_cuda, played_other_bytes, played_lost;
static uint8_t vram_before[VRAM_BYTES];	/* what no drive has written to yet */

static CUresult play_device_get(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult play_device_count(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult play_device_bdf(char *text, int bytes, CUdevice device)
{
	assert_int_equal(device, 0);
	snprintf(text, (size_t)bytes, "00000000:03:00.0");
	return CUDA_SUCCESS;
}

static CUresult play_device_bytes(size_t *bytes, CUdevice device)
{
	assert_int_equal(device, 0);
	*bytes = VRAM_BYTES;
	return CUDA_SUCCESS;
}

static CUresult play_retain(CUcontext *context, CUdevice device)
{
	assert_int_equal(device, 0);
	*context = (CUcontext)&retained;
	retained++;
	return CUDA_SUCCESS;
}

static CUresult play_release(CUdevice device)
{
	assert_int_equal(device, 0);
	retained--;
	return CUDA_SUCCESS;
}

static unsigned int pushed;

static CUresult play_push(CUcontext context)
{
	assert_ptr_equal(context, &retained);
	pushed++;
	return CUDA_SUCCESS;
}

static CUresult play_pop(CUcontext *context)
{
	*context = (CUcontext)&retained;
	pushed--;
	return CUDA_SUCCESS;
}

static CUresult play_alloc(CUdeviceptr *address, size_t bytes)
{
	assert_int_equal(pushed, 1);
	assert_int_equal(allocated_bytes, 0);
	if (bytes > VRAM_BYTES)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocated_bytes = bytes;
	assert_int_equal(syscall(SYS_pread64, vram_fd, vram_before, VRAM_BYTES, 0), VRAM_BYTES);
	*address = VRAM_ADDRESS;
	return CUDA_SUCCESS;
}

static CUresult play_free(CUdeviceptr address)
{
	assert_int_equal(address, VRAM_ADDRESS);
	allocated_bytes = 0;
	return CUDA_SUCCESS;
}

static void assert_allocated(CUdeviceptr address, size_t bytes)
{
	assert_int_equal(pushed, 1);
	assert_true(address >= VRAM_ADDRESS && address + bytes <= VRAM_ADDRESS + allocated_bytes);
}

static CUresult play_to_host(void *to, CUdeviceptr from, size_t bytes)
{
	assert_allocated(from, bytes);
	assert_int_equal(syscall(SYS_pread64, vram_fd, to, bytes, from - VRAM_ADDRESS), bytes);
	if (played_lost)
		memcpy(to, vram_before + (from - VRAM_ADDRESS), bytes);
	if (played_other_bytes)
		((uint8_t *)to)[bytes - 1] ^= 1;
	return CUDA_SUCCESS;
}

static CUresult play_from_host(CUdeviceptr to, const void *from, size_t bytes)
{
	assert_allocated(to, bytes);
	assert_int_equal(syscall(SYS_pwrite64, vram_fd, from, bytes, to - VRAM_ADDRESS), bytes);
	memcpy(vram_before + (to - VRAM_ADDRESS), from, bytes);
	return CUDA_SUCCESS;
}

static CUresult play_set_attribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	assert_int_equal(*(const unsigned int *)value, 1);
	assert_int_equal(attribute, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
	assert_int_equal(address, VRAM_ADDRESS);
	return CUDA_SUCCESS;
}

static CUresult play_get_attribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	unsigned long long identity = 1;

	assert_int_equal(attribute, CU_POINTER_ATTRIBUTE_BUFFER_ID);
	assert_int_equal(address, VRAM_ADDRESS);
	memcpy(value, &identity, sizeof(identity));
	return CUDA_SUCCESS;
}

static CUresult play_capture_mode(CUstreamCaptureMode *mode)
{
	*mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	return CUDA_SUCCESS;
}

static const struct dnd_cuda played = {
	.device_get = play_device_get,
	.device_count = play_device_count,
	.device_bdf = play_device_bdf,
	.device_bytes = play_device_bytes,
	.retain = play_retain,
	.release = play_release,
	.push = play_push,
	.pop = play_pop,
	.alloc = play_alloc,
	.free = play_free,
	.to_host = play_to_host,
	.from_host = play_from_host,
	.set_attribute = play_set_attribute,
	.get_attribute = play_get_attribute,
	.capture_mode = play_capture_mode,
};

int dnd_cuda_open(struct donard_context *ctx, const struct dnd_cuda **cuda)
{
	*cuda = &played;
	return played_no_cuda ? dnd_fail(ctx, DND_E_UNSUPPORTED, "there is no libcuda.so.1") : 0;
}

int dnd_cuda_failed(struct donard_context *ctx, const struct dnd_cuda *cuda, CUresult rc, const char *format, ...)
{
	(void)cuda;
	return dnd_fail(ctx, rc == CUDA_ERROR_OUT_OF_MEMORY ? DND_E_NO_SPACE : DND_E_DEVICE, "%s (%d).", format, (int)rc);
}

/* --- the kernel --- */

static unsigned int pins;
static bool played_small_bar1;
static uint32_t played_flags;	/* of the region */

/* Memory that a ring was to pin. */
static unsigned int registered;

int __wrap_io_uring_register_buffers_update_tag(struct io_uring *ring, unsigned int slot, const struct iovec *vectors,
						const __u64 *tags, unsigned int count);
int __wrap_io_uring_register_buffers_update_tag(struct io_uring *ring, unsigned int slot, const struct iovec *vectors,
						const __u64 *tags, unsigned int count)
{
	(void)ring;
	(void)slot;
	(void)tags;
	(void)count;
	registered += vectors->iov_base != NULL;
	return -EOPNOTSUPP;
}

static void play_info(int fd, struct p2pmem_info *info)
{
	fake_info_name(fd, info);
	info->region_bytes = VRAM_BYTES;
	info->granule_bytes = 4096;
	info->kind = P2PMEM_KIND_GPU_NVIDIA;
	info->page_type = P2PMEM_PAGES_GENERIC;
	info->flags = played_flags;
	info->pci_bus = 3;
	info->state = P2PMEM_STATE_READY;
}

static int play_pin(struct p2pmem_pin_gpu *pin)
{
	assert_int_equal(pin->va, VRAM_ADDRESS);
	assert_int_equal(pin->length % 65536, 0);
	assert_true(pin->length >= allocated_bytes);
	pins++;
	if (!played_small_bar1)
		return 0;
	strcpy(pin->reason, "BAR1 is too small");
	errno = ENOSPC;
	return -1;
}

static int play_copy(int fd, const struct p2pmem_copy *copy)
{
	uint8_t bytes[65536];

	assert_true(copy->length <= sizeof(bytes));
	assert_int_equal(pread(copy->from_fd, bytes, copy->length, (off_t)copy->from_offset), copy->length);
	assert_int_equal(pwrite(fd, bytes, copy->length, (off_t)copy->to_offset), copy->length);
	return 0;
}

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	switch (request) {
	case FS_IOC_GETFLAGS:
	case FS_IOC_FIEMAP:
		return ASK_THE_KERNEL;
	case P2PMEM_IOC_INFO:
		play_info(fd, argument);
		break;
	case P2PMEM_IOC_PROBE_PEER:
		((struct p2pmem_probe *)argument)->route = P2PMEM_ROUTE_SWITCH;
		break;
	case P2PMEM_IOC_PIN_GPU:
		return play_pin(argument);
	case P2PMEM_IOC_COPY:
		return play_copy(fd, argument);
	case P2PMEM_IOC_CLAIM:
		fail_msg("such a region has no memory of its own");
	}
	return 0;
}

/* --- copies --- */

struct scene {
	struct fake *fake;
	char file[128];
	uint8_t data[300000], seen[300000];
	struct donard_copy_options options;
	struct donard_copy_result result;
};

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	char path[128], link[128];
	struct stat st;

	if (fake_setup((void **)&scene->fake) || stat(scene->fake->root, &st))
		return -1;
	fake_region(scene->fake, "p2pmem0", "gpu-nvidia", BDF);
	fake_nvme(scene->fake, 7, "0000:01:00.0");
	snprintf(link, sizeof(link), "dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	fake_link(scene->fake, link, "block/nvme7n1");
	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	vram_fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_int_equal(ftruncate(vram_fd, VRAM_BYTES), 0);
	snprintf(scene->file, sizeof(scene->file), "%s/file", scene->fake->files);
	dnd_nonce(scene->data, sizeof(scene->data));
	scene->options.size = sizeof(scene->options);
	scene->options.flags = DONARD_COPY_VERIFY;
	scene->options.block_bytes = 65536;
	scene->result.size = sizeof(scene->result);
	played_no_cuda = played_other_bytes = played_lost = played_small_bar1 = false;
	pins = registered = played_flags = 0;
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	void *fake = scene->fake;

	close(vram_fd);
	fake_teardown(&fake);
	free(scene);
	return 0;
}

/* Runs a copy, and asserts that the GPU's memory is freed whether it succeeds or fails. */
static int copy(struct scene *scene, const char *src, const char *dst)
{
	struct donard_copy_options options = scene->options;
	char from[32], to[32];
	int rc;

	src = name_of_place(src, from, &options.src_offset_bytes);
	dst = name_of_place(dst, to, &options.dst_offset_bytes);
	needs_supported_file_system(scene->fake->files);
	rc = donard_copy(scene->fake->ctx, src, dst, &options, &scene->result);
	assert_int_equal(allocated_bytes, 0);
	assert_int_equal(retained, 0);
	assert_int_equal(pushed, 0);
	if (rc)
		print_message("  %s\n", donard_error(scene->fake->ctx));
	return rc;
}

static void assert_refused(struct scene *scene, const char *src, const char *dst, int rc, const char *words)
{
	assert_int_equal(copy(scene, src, dst), rc);
	assert_non_null(strstr(donard_error(scene->fake->ctx), words));
}

static void write_file(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

static const size_t sizes[] = { 100, 4096, 65536, 300000 };

static void into_gpu(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(scene->file, scene->data, sizes[i]);
		assert_int_equal(copy(scene, scene->file, "gpu:0+64K"), 0);
		assert_true(scene->result.verified);
		assert_int_equal(scene->result.bounced_bytes, 0);
		assert_int_equal(scene->result.bytes, sizes[i]);
		assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
		assert_int_equal(pread(vram_fd, scene->seen, sizes[i], 65536), sizes[i]);
		assert_memory_equal(scene->seen, scene->data, sizes[i]);
	}
}

/* A pattern comes out, and what the file has behind it stays. */
static void out_of_gpu(void **state)
{
	struct scene *scene = *state;
	int fd;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(scene->file, scene->data, sizeof(scene->data));
		scene->options.length_bytes = sizes[i];
		assert_int_equal(copy(scene, "gpu:0", scene->file), 0);
		assert_true(scene->result.verified);
		fd = open(scene->file, O_RDONLY);
		assert_int_equal(read(fd, scene->seen, sizeof(scene->seen)), sizeof(scene->seen));
		close(fd);
		assert_memory_not_equal(scene->seen, scene->data, sizes[i]);
		assert_memory_not_equal(scene->seen, scene->seen + 8, 8);
		assert_memory_equal(scene->seen + sizes[i], scene->data + sizes[i], sizeof(scene->data) - sizes[i]);
	}
}

/* A copy may take longer than the driver waits for its pins. */
static void revocable_is_not_pinned(void **state)
{
	struct scene *scene = *state;
	unsigned int takes;

	write_file(scene->file, scene->data, 300000);
	played_flags = P2PMEM_REGION_FOLIOS;
	assert_int_equal(copy(scene, scene->file, "gpu:0"), 0);
	takes = registered;
	if (!takes)
		skip();		/* no io_uring is allowed here */
	played_flags |= P2PMEM_REGION_REVOCABLE;
	assert_int_equal(copy(scene, scene->file, "gpu:0"), 0);
	assert_int_equal(registered, takes);
}

static int take_back(void *user, const struct donard_interval *interval)
{
	(void)interval;
	(void)user;
	return ftruncate(vram_fd, 0);
}

/* The kernel says EFAULT for either direction, and the drive is not to blame. */
static void freed_meanwhile(void **state)
{
	struct scene *scene = *state;

	scene->options.begin_fn = take_back;
	write_file(scene->file, scene->data, sizeof(scene->data));
	assert_refused(scene, scene->file, "gpu:0", -ENODEV, "p2pmem0: its memory was freed");
	assert_string_equal(donard_error_code(scene->fake->ctx), "region-gone");
	assert_int_equal(ftruncate(vram_fd, VRAM_BYTES), 0);
	scene->options.length_bytes = 65536;
	assert_refused(scene, "gpu:0", scene->file, -ENODEV, "p2pmem0: its memory was freed");
}

/* The bytes are in the region, but the GPU reads others there. */
static void verified_by_gpu(void **state)
{
	struct scene *scene = *state;

	write_file(scene->file, scene->data, 65536);
	played_other_bytes = true;
	assert_refused(scene, scene->file, "gpu:0", -EBADMSG, "gpu:0 differ");
}

/* CUDA gives the memory of the last copy out again, and it holds what that copy brought. */
static void lost_writes_are_seen(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(scene->file, scene->data, sizes[i]);
		played_lost = false;
		assert_int_equal(copy(scene, scene->file, "gpu:0"), 0);
		played_lost = true;
		assert_refused(scene, scene->file, "gpu:0", -EBADMSG, "gpu:0 differ");
	}
}

/* A drive that dropped the second one's writes would hold the first one's bytes. */
static void no_two_copies_are_alike(void **state)
{
	struct scene *scene = *state;
	uint8_t first[4096];

	scene->options.length_bytes = sizeof(first);
	for (int i = 0; i < 2; i++) {
		int fd;

		assert_int_equal(copy(scene, "gpu:0", scene->file), 0);
		fd = open(scene->file, O_RDONLY);
		assert_int_equal(read(fd, scene->seen, sizeof(first)), sizeof(first));
		close(fd);
		if (!i)
			memcpy(first, scene->seen, sizeof(first));
	}
	for (size_t at = 0; at < sizeof(first); at += 8)
		assert_memory_not_equal(first + at, scene->seen + at, 8);
}

/* Bytes of GPU memory that nobody set never reach a drive, not even behind the end of a file. */
static void last_block_is_the_copys_own(void **state)
{
	struct scene *scene = *state;
	static const uint8_t stranger[4096] = { [0 ... 4095] = 0x77 };

	for (uint64_t at = 0; at < VRAM_BYTES; at += sizeof(stranger))
		assert_int_equal(pwrite(vram_fd, stranger, sizeof(stranger), (off_t)at), sizeof(stranger));
	scene->options.length_bytes = 100;
	assert_int_equal(copy(scene, "gpu:0", scene->file), 0);
	assert_int_equal(pread(vram_fd, scene->seen, sizeof(stranger), 0), sizeof(stranger));
	for (size_t at = 100; at < 512; at++)
		if (scene->seen[at] != 0x77)
			return;
	fail_msg("behind byte 100 the memory is what it was: expected the pattern");
}

/* CUDA writes it in capitals, and with a domain of eight digits. */
static void by_address(void **state)
{
	struct scene *scene = *state;

	write_file(scene->file, scene->data, 65536);
	assert_int_equal(copy(scene, scene->file, "gpu:0000:03:00.0+64K"), 0);
	assert_string_equal(scene->result.src_gpu, "");
	assert_string_equal(scene->result.dst_gpu, BDF);
	assert_int_equal(pread(vram_fd, scene->seen, 65536, 65536), 65536);
	assert_memory_equal(scene->seen, scene->data, 65536);
	assert_int_equal(copy(scene, scene->file, "gpu:03:00.0"), 0);
	assert_refused(scene, scene->file, "gpu:0000:04:00.0", -ENODEV, "none of CUDA's 1 GPUs has this address");
	assert_refused(scene, scene->file, "gpu:0000:04:00.0x", -EINVAL, "no GPU is named like this");
	assert_refused(scene, scene->file, "gpu:", -EINVAL, "no GPU is named like this");
	assert_refused(scene, scene->file, "gpu:0x1", -EINVAL, "no GPU is named like this");
	assert_refused(scene, scene->file, "gpu:4294967296", -EINVAL, "no GPU is named like this");
	assert_refused(scene, scene->file, "gpu:00000000000000000:03:00.0", -EINVAL, "no GPU is named like this");
}

/* Memory that the program has allocated keeps its other bytes, and still belongs to the program afterwards. */
static void memory_of_the_program(void **state)
{
	struct scene *scene = *state;
	struct donard_context *ctx = scene->fake->ctx;
	struct donard_copy_end memory = { .size = sizeof(memory) }, file = memory;
	uint64_t address;
	int fd;

	write_file(scene->file, scene->data, sizeof(scene->data));
	assert_int_equal(copy(scene, scene->file, "gpu:0"), 0);	/* or skipped */
	assert_int_equal(donard_memory_alloc_cuda(ctx, 0, sizeof(scene->data), &address, &memory.memory), 0);
	assert_int_equal(donard_file_open(ctx, scene->file, DONARD_FILE_WRITE, &file.file), 0);
	assert_int_equal(donard_copy_between(&file, &memory, &scene->options, &scene->result), 0);
	assert_true(scene->result.verified);
	assert_string_equal(scene->result.dst_gpu, BDF);
	assert_int_equal(pread(vram_fd, scene->seen, sizeof(scene->data), 0), sizeof(scene->data));
	assert_memory_equal(scene->seen, scene->data, sizeof(scene->data));
	scene->options.src_offset_bytes = 65536;
	scene->options.length_bytes = 65536;
	assert_int_equal(donard_copy_between(&memory, &file, &scene->options, &scene->result), 0);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PREDICTED);
	fd = open(scene->file, O_RDONLY);
	assert_int_equal(read(fd, scene->seen, 65536), 65536);
	close(fd);
	assert_memory_equal(scene->seen, scene->data + 65536, 65536);
	played_other_bytes = true;	/* it is the GPU that is asked */
	assert_int_equal(donard_copy_between(&memory, &file, &scene->options, &scene->result), -EBADMSG);
	donard_file_close(file.file);
	donard_memory_free(memory.memory);
	assert_int_equal(allocated_bytes, 0);
}

static void refusals(void **state)
{
	struct scene *scene = *state;

	write_file(scene->file, scene->data, sizeof(scene->data));
	assert_refused(scene, "gpu:0", scene->file, -EINVAL, "options.length_bytes");
	assert_refused(scene, scene->file, "gpu:1", -ENODEV, "no such GPU");
	scene->options.dst_offset_bytes = 100;
	assert_refused(scene, scene->file, "gpu:0", -EINVAL, "is not a multiple of");
	scene->options.dst_offset_bytes = 4 << 20;
	assert_refused(scene, scene->file, "gpu:0", -ENXIO, "past the end");
	scene->options.dst_offset_bytes = 0;
	scene->options.length_bytes = VRAM_BYTES;
	assert_refused(scene, "gpu:0", scene->file, -ENOSPC, "bytes of its memory are not free");
	scene->options.length_bytes = 0;
	assert_int_equal(pins, 0);
	played_small_bar1 = true;
	assert_refused(scene, scene->file, "gpu:0", -ENOSPC, "BAR1 is too small");
	fake_file(scene->fake, "class/p2pmem/p2pmem0/kind", "pci-bar");
	assert_refused(scene, scene->file, "gpu:0", -ENODEV, "donard_region_add(gpu-nvidia, " BDF ")");
	played_no_cuda = true;
	assert_refused(scene, scene->file, "gpu:0", -EOPNOTSUPP, "libcuda.so.1");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(into_gpu), CASE(out_of_gpu), CASE(verified_by_gpu), CASE(lost_writes_are_seen),
		CASE(no_two_copies_are_alike), CASE(last_block_is_the_copys_own), CASE(by_address), CASE(refusals),
		CASE(memory_of_the_program), CASE(revocable_is_not_pinned), CASE(freed_meanwhile),
	};

	return cmocka_run_group_tests_name("copy-gpu", tests, NULL, NULL);
}
