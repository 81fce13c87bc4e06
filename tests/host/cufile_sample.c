// SPDX-License-Identifier: Apache-2.0
/*
 * A program of cuFile: compiled against the packaged header, linked with the packaged
 * library, and run with ours in its place.  It makes every call that the header
 * declares, and says what it expected where it saw something else.
 *
 *	cufile_sample host FILE		host memory, straight
 *	cufile_sample compat FILE	the same, as cufile.json allows
 *	cufile_sample refused FILE	without leave, and without the module
 *	cufile_sample gpu FILE		GPU memory of whatever libcuda.so.1 there is, straight
 *	cufile_sample gpu-compat FILE	the same, where it is allowed
 *	cufile_sample gpu-refused FILE	the same without leave, where it has no region
 *	cufile_sample theirs FILE	as gpu-compat, where the library is NVIDIA's: what differs is told
 *	cufile_sample gpu-removed FILE	the same, while its region is removed by $REGION_REMOVE, and added by $REGION_ADD
 *	cufile_sample grown DRIVE	a drive that $GROW doubles, while it is registered
 *	cufile_sample claim DRIVE	what is registered for writing cannot be mounted
 *	cufile_sample claim-part DRIVE	the same, where its first partition is registered, too
 *	cufile_sample foreign FILE	memory of a device that is not CUDA's: a mapping of p2pmem0
 *	cufile_sample foreign-compat FILE	the same, where it is allowed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cufile.h>

#include "donard-cufile.h"

#define BYTES	(4UL << 20)

static int failures;

static void check(long long seen, long long expected, const char *what, int line)
{
	if (seen == expected)
		return;
	printf("line %d: %s: expected %lld, seen %lld (errno %d: %s)\n", line, what, expected, seen, errno,
	       strerror(errno));
	failures++;
}

#define CHECK(seen, expected) check((long long)(seen), (long long)(expected), #seen, __LINE__)

/* ---- memory: of the host, or of the GPU ---- */

static struct {
	CUresult (*init)(unsigned int flags);
	CUresult (*device_get)(int *device, int ordinal);
	CUresult (*context_create)(void **context, unsigned int flags, int device);
	CUresult (*allocate)(uint64_t *pointer, size_t bytes);
	CUresult (*free)(uint64_t pointer);
	CUresult (*to_device)(uint64_t to, const void *from, size_t bytes);
	CUresult (*to_host)(void *to, uint64_t from, size_t bytes);
	CUresult (*stream_create)(CUstream *stream, unsigned int flags);
	CUresult (*stream_destroy)(CUstream stream);
	CUresult (*stream_wait)(CUstream stream);
} cuda;

static const struct {
	const char *name;
	void *place;
} names[] = {
	{ "cuInit", &cuda.init },
	{ "cuDeviceGet", &cuda.device_get },
	{ "cuCtxCreate_v2", &cuda.context_create },
	{ "cuMemAlloc_v2", &cuda.allocate },
	{ "cuMemFree_v2", &cuda.free },
	{ "cuMemcpyHtoD_v2", &cuda.to_device },
	{ "cuMemcpyDtoH_v2", &cuda.to_host },
	{ "cuStreamCreate", &cuda.stream_create },
	{ "cuStreamDestroy_v2", &cuda.stream_destroy },
	{ "cuStreamSynchronize", &cuda.stream_wait },
};

static int has_gpu, is_theirs;

static int open_gpu(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int device;

	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		if (!symbol) {
			printf("libcuda.so.1 has no %s\n", names[i].name);
			return 1;
		}
		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	CHECK(cuda.init(0), 0);
	CHECK(cuda.device_get(&device, 0), 0);
	CHECK(cuda.context_create(&context, 0, device), 0);
	has_gpu = 1;
	return failures;
}

static void *take_memory(void)
{
	uint64_t pointer = 0;

	if (!has_gpu)
		return aligned_alloc(65536, BYTES);
	CHECK(cuda.allocate(&pointer, BYTES), 0);
	return (void *)(uintptr_t)pointer;
}

static void give_memory(void *memory)
{
	if (has_gpu)
		CHECK(cuda.free((uintptr_t)memory), 0);
	else
		free(memory);
}

static void put(void *memory, const void *from, size_t bytes)
{
	if (has_gpu)
		CHECK(cuda.to_device((uintptr_t)memory, from, bytes), 0);
	else
		memcpy(memory, from, bytes);
}

static void check_bytes(const void *memory, const void *expected, size_t bytes, int line)
{
	unsigned char *seen = malloc(bytes);

	if (has_gpu)
		CHECK(cuda.to_host(seen, (uintptr_t)memory, bytes), 0);
	else
		memcpy(seen, memory, bytes);
	for (size_t i = 0; i < bytes; i++) {
		if (seen[i] == ((const unsigned char *)expected)[i])
			continue;
		printf("line %d: byte %zu: expected %#x, seen %#x\n", line, i, ((const unsigned char *)expected)[i],
		       seen[i]);
		failures++;
		break;
	}
	free(seen);
}

/* ---- the samples ---- */

static unsigned char data[BYTES];	/* what the file has */
static void *zeros;

static CUfileHandle_t register_file(int fd)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	CUfileHandle_t handle = NULL;

	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_HANDLE_ALREADY_REGISTERED);
	return handle;
}

/* What no packaged header declares: a program that may run with another library looks it up. */
static void *younger(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found) {
		printf("no %s\n", name);
		exit(1);
	}
	return found;
}

enum { BATCH_SIZE = 9, NVTX = 5, LOG_LEVEL = 0 };

/* What is set before the driver is opened. */
static void the_parameters(void)
{
	CUfileError_t (*set_size)(int, size_t) = younger("cuFileSetParameterSizeT");
	CUfileError_t (*get_size)(int, size_t *) = younger("cuFileGetParameterSizeT");
	CUfileError_t (*set_bool)(int, bool) = younger("cuFileSetParameterBool");
	CUfileError_t (*get_bool)(int, bool *) = younger("cuFileGetParameterBool");
	CUfileError_t (*set_text)(int, const char *) = younger("cuFileSetParameterString");
	CUfileError_t (*get_text)(int, char *, int) = younger("cuFileGetParameterString");
	CUfileError_t (*get_limits)(int, size_t *, size_t *) = younger("cuFileGetParameterMinMaxValue");
	size_t least = 0, most = 0;
	char text[16] = "";
	bool flag = false;

	CHECK(get_limits(BATCH_SIZE, &least, &most).err, CU_FILE_SUCCESS);
	CHECK(least == 1 && most >= 128, 1);
	CHECK(set_size(BATCH_SIZE, most + 1).err, CU_FILE_INVALID_VALUE);
	CHECK(set_size(BATCH_SIZE, 64).err, CU_FILE_SUCCESS);
	CHECK(get_size(BATCH_SIZE, &most).err, CU_FILE_SUCCESS);
	CHECK(most, 64);
	CHECK(set_bool(NVTX, true).err, CU_FILE_SUCCESS);
	CHECK(get_bool(NVTX, &flag).err, CU_FILE_SUCCESS);
	CHECK(flag, true);
	CHECK(set_text(LOG_LEVEL, "WARN").err, CU_FILE_SUCCESS);
	CHECK(get_text(LOG_LEVEL, text, sizeof(text)).err, CU_FILE_SUCCESS);
	CHECK(strcmp(text, "WARN"), 0);
	CHECK(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	CHECK(set_size(BATCH_SIZE, 32).err, CU_FILE_DRIVER_ALREADY_OPEN);
}

static void the_driver(void)
{
	CUfileDrvProps_t properties;

	if (is_theirs && !dlsym(RTLD_DEFAULT, "cuFileSetParameterSizeT"))
		CHECK(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	else
		the_parameters();
	CHECK(cuFileUseCount(), 1);
	CHECK(cuFileDriverSetPollMode(true, 4).err, CU_FILE_SUCCESS);
	CHECK(cuFileDriverSetMaxDirectIOSize(1024).err, CU_FILE_SUCCESS);
	CHECK(cuFileDriverSetMaxCacheSize(65536).err, CU_FILE_SUCCESS);
	CHECK(cuFileDriverSetMaxPinnedMemSize(65536).err, CU_FILE_SUCCESS);
	CHECK(cuFileDriverSetMaxPinnedMemSize(1).err, CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
	CHECK(cuFileDriverGetProperties(&properties).err, CU_FILE_SUCCESS);
	CHECK(properties.max_batch_io_size, 64);
	CHECK(properties.nvfs.max_direct_io_size, 1024);
	CHECK(properties.max_device_cache_size, 65536);
	CHECK(properties.max_device_pinned_mem_size, 65536);
	CHECK(properties.nvfs.dcontrolflags & 1U << CU_FILE_USE_POLL_MODE, 1U << CU_FILE_USE_POLL_MODE);
	CHECK(cuFileDriverSetPollMode(false, 4).err, CU_FILE_SUCCESS);
}

/* Other bytes than the file has, so that a write that does nothing shows. */
static void put_others(void *memory, size_t bytes, off_t at, off_t offset)
{
	for (size_t i = 0; i < bytes; i++)
		data[at + i] = (unsigned char)(data[at + i] * 7 + i);
	put((char *)memory + offset, data + at, bytes);
}

static void read_and_write(CUfileHandle_t handle, void *memory, size_t bytes, off_t at, off_t offset)
{
	CHECK(cuFileRead(handle, memory, bytes, at, offset), bytes);
	check_bytes((char *)memory + offset, data + at, bytes, __LINE__);
	put_others(memory, bytes, at, offset);
	CHECK(cuFileWrite(handle, memory, bytes, at, offset), bytes);
	put(memory, zeros, BYTES);
	CHECK(cuFileRead(handle, memory, bytes, at, offset), bytes);
	check_bytes((char *)memory + offset, data + at, bytes, __LINE__);
}

static void of_all_alignments(CUfileHandle_t handle, void *memory)
{
	read_and_write(handle, memory, 1 << 20, 0, 0);
	read_and_write(handle, memory, 65536, 4096, 8192);
	read_and_write(handle, memory, 3000, 77, 5);
	read_and_write(handle, memory, 1500000, 4096, 0);
	read_and_write(handle, memory, 2000001, 1, 1);
}

static int is_drive;

/* A file ends where it was written to; a drive goes on. */
static void at_the_end(CUfileHandle_t handle, void *memory)
{
	CHECK(cuFileRead(handle, memory, 65536, BYTES - 100, 0), is_drive ? 65536 : 100);
	CHECK(cuFileRead(handle, memory, 65536, is_drive ? 1LL << 50 : (off_t)BYTES, 0), 0);
	CHECK(cuFileRead((CUfileHandle_t)0x77777, memory, 65536, 0, 0), -CU_FILE_HANDLE_NOT_REGISTERED);
}

/* Of CUDA's chunk, in which an allocation of the library's must not share its page: no read would be staged. */
static void a_small_buffer(CUfileHandle_t handle)
{
	uint64_t small = 0;

	CHECK(cuda.allocate(&small, 4096), 0);
	CHECK(cuFileBufRegister((void *)(uintptr_t)small, 4096, 0).err, CU_FILE_SUCCESS);
	CHECK(cuFileRead(handle, (void *)(uintptr_t)small, 100, 1, 0), 100);
	check_bytes((void *)(uintptr_t)small, data + 1, 100, __LINE__);
	CHECK(cuFileBufDeregister((void *)(uintptr_t)small).err, CU_FILE_SUCCESS);
	CHECK(cuda.free(small), 0);
}

static void with_buffers(CUfileHandle_t handle, void *memory)
{
	of_all_alignments(handle, memory);
	CHECK(cuFileBufRegister(memory, BYTES, 0).err, CU_FILE_SUCCESS);
	CHECK(cuFileBufRegister(memory, BYTES, 0).err, CU_FILE_MEMORY_ALREADY_REGISTERED);
	of_all_alignments(handle, memory);
	at_the_end(handle, memory);
	CHECK(cuFileRead(handle, memory, BYTES, 0, 4096), -CU_FILE_INVALID_MAPPING_RANGE);
	CHECK(cuFileBufDeregister(memory).err, CU_FILE_SUCCESS);
	CHECK(cuFileBufDeregister(memory).err, CU_FILE_INVALID_VALUE);
}

static CUfileIOParams_t entry(CUfileHandle_t handle, void *memory, unsigned int i)
{
	CUfileIOParams_t request = { .mode = CUFILE_BATCH, .fh = handle, .opcode = CUFILE_READ };

	request.u.batch.devPtr_base = memory;
	request.u.batch.file_offset = (off_t)i * 65536;
	request.u.batch.devPtr_offset = (off_t)i * 65536;
	request.u.batch.size = 65536;
	request.cookie = &data[i];
	return request;
}

static void take_events(CUfileBatchHandle_t batch, unsigned int missing)
{
	struct timespec timeout = { .tv_sec = 600 };
	CUfileIOEvents_t events[16];
	unsigned int count;
	int failed = 0;

	while (missing && !failed) {
		count = 16;
		failed = cuFileBatchIOGetStatus(batch, 1, &count, events, &timeout).err;
		CHECK(failed, CU_FILE_SUCCESS);
		for (unsigned int i = 0; i < count; i++) {
			CHECK(events[i].status, CUFILE_COMPLETE);
			CHECK(events[i].ret, 65536);
		}
		missing -= count;
	}
}

static void a_batch(CUfileHandle_t handle, void *memory)
{
	CUfileIOParams_t requests[16];
	CUfileBatchHandle_t batch;

	CHECK(cuFileBufRegister(memory, BYTES, 0).err, CU_FILE_SUCCESS);
	put(memory, zeros, BYTES);
	for (unsigned int i = 0; i < 16; i++)
		requests[i] = entry(handle, memory, i);
	CHECK(cuFileBatchIOSetUp(&batch, 16).err, CU_FILE_SUCCESS);
	CHECK(cuFileBatchIOSubmit(batch, 16, requests, 0).err, CU_FILE_SUCCESS);
	take_events(batch, 16);
	check_bytes(memory, data, 16 * 65536, __LINE__);
	put_others(memory, 16 * 65536, 0, 0);
	for (unsigned int i = 0; i < 16; i++)
		requests[i].opcode = CUFILE_WRITE;
	CHECK(cuFileBatchIOSubmit(batch, 16, requests, 0).err, CU_FILE_SUCCESS);
	take_events(batch, 16);
	CHECK(cuFileBatchIOSubmit(batch, 16, requests, 0).err, CU_FILE_SUCCESS);
	CHECK(cuFileBatchIOCancel(batch).err, CU_FILE_SUCCESS);
	cuFileBatchIODestroy(batch);
	CHECK(cuFileBatchIOCancel(batch).err, CU_FILE_INVALID_VALUE);
	CHECK(cuFileBufDeregister(memory).err, CU_FILE_SUCCESS);
}

#ifdef CUFILE_STREAMS
static void a_stream(CUfileHandle_t handle, void *memory)
{
	size_t bytes = 65536;
	off_t at = 4096, to = 1 << 20, offset = 8192;
	ssize_t got = 0, put_back = 0;
	CUstream stream = NULL;
	int version = 0;

	CHECK(cuFileGetVersion(&version).err, CU_FILE_SUCCESS);
	CHECK(version, 1090);
	if (has_gpu) {
		CHECK(cuda.stream_create(&stream, 1), 0);
		CHECK(cuFileStreamRegister(stream, CU_FILE_STREAM_FIXED_FILE_SIZE).err, CU_FILE_SUCCESS);
	} else {
		/* There is no CUDA in this process: nothing is in its default stream. */
		CHECK(cuFileStreamRegister(stream, 0).err, CU_FILE_SUCCESS);
	}
	CHECK(cuFileReadAsync(handle, memory, &bytes, &at, &offset, &got, stream).err, CU_FILE_SUCCESS);
	/* CUDA waits for all streams to free memory, and copies nothing meanwhile. */
	give_memory(take_memory());
	CHECK(cuFileWriteAsync(handle, memory, &bytes, &to, &offset, &put_back, stream).err, CU_FILE_SUCCESS);
	if (has_gpu)
		CHECK(cuda.stream_wait(stream), 0);
	CHECK(got, 65536);
	CHECK(put_back, 65536);
	check_bytes((char *)memory + offset, data + at, bytes, __LINE__);
	memcpy(data + to, data + at, bytes);
	CHECK(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	CHECK(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);	/* registered or not */
	if (has_gpu)
		CHECK(cuda.stream_destroy(stream), 0);
}
#else
static void a_stream(CUfileHandle_t handle, void *memory)
{
	(void)handle;
	(void)memory;
}
#endif

static struct donard_cufile_counts counted(void)
{
	int (*counts_of)(struct donard_cufile_counts *) = younger("donard_cufile_counts");
	struct donard_cufile_counts counts = { .size = sizeof(counts) };

	CHECK(counts_of(&counts), 0);
	return counts;
}

/* By leave all of it is counted; on a GPU that is reached none of it happens. */
static void the_counts(int compat)
{
	struct donard_cufile_counts counts = counted();

	CHECK(counts.compat_bytes, compat ? counts.read_bytes + counts.written_bytes : 0);
	CHECK(counts.read_bytes > 9 * BYTES / 4, 1);
	if (!compat)
		CHECK(counts.staged_bytes > 0 && counts.staged_bytes < counts.read_bytes, 1);
}

/* Each call says so, until it is deregistered; its pages are not the program's any more. */
static void freed_while_registered(CUfileHandle_t handle)
{
	void *memory = take_memory();

	CHECK(cuFileBufRegister(memory, BYTES, 0).err, CU_FILE_SUCCESS);
	give_memory(memory);
	CHECK(cuFileRead(handle, memory, 65536, 0, 0), -CU_FILE_CUDA_POINTER_INVALID);
	CHECK(cuFileWrite(handle, memory, 65536, 0, 0), -CU_FILE_CUDA_POINTER_INVALID);
	CHECK(cuFileBufDeregister(memory).err, CU_FILE_SUCCESS);
}

/* The header makes one of the other; programs have either. */
static void close_by_name(const char *name)
{
	CUfileError_t (*close_driver)(void) = younger(name);

	CHECK(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	CHECK(close_driver().err, CU_FILE_SUCCESS);
	CHECK(cuFileUseCount(), 0);
}

static int open_file(const char *path)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	struct stat st;

	CHECK(fstat(fd, &st), 0);
	is_drive = S_ISBLK(st.st_mode);

	for (size_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 2654435761U >> 24);
	CHECK(write(fd, data, BYTES), BYTES);
	CHECK(fsync(fd), 0);
	close(fd);
	return open(path, O_RDWR | O_DIRECT);
}

static void all(const char *path, int compat)
{
	unsigned char *after = malloc(BYTES);
	void *memory = take_memory();
	int fd = open_file(path);
	CUfileHandle_t handle;

	zeros = calloc(1, BYTES);
	the_driver();
	handle = register_file(fd);
	if (!handle)		/* which has been told; another library may wait for ever for what has none */
		return;
	if (has_gpu && !is_theirs)
		a_small_buffer(handle);		/* before anything is staged */
	with_buffers(handle, memory);
	a_batch(handle, memory);
	a_stream(handle, memory);
	if (!is_theirs)
		the_counts(compat);
	if (has_gpu && !is_theirs)
		freed_while_registered(handle);
	cuFileHandleDeregister(handle);
	close(fd);
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	CHECK(cuFileDriverClose().err, CU_FILE_DRIVER_NOT_INITIALIZED);
	close_by_name("cuFileDriverClose");
	close_by_name("cuFileDriverClose_v2");
	give_memory(memory);
	fd = open(path, O_RDONLY);
	CHECK(read(fd, after, BYTES), BYTES);
	CHECK(memcmp(after, data, BYTES), 0);
	close(fd);
	if (!is_drive)
		unlink(path);
	free(after);
	free(zeros);
}

static void refused(const char *path)
{
	int fd = open_file(path);
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	CUfileHandle_t handle = NULL;

	CHECK(cuFileDriverOpen().err, CU_FILE_DRIVER_NOT_INITIALIZED);
	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_DRIVER_NOT_INITIALIZED);
	CHECK(cuFileUseCount(), 0);
	CHECK(handle == NULL, 1);
	close(fd);
	unlink(path);
}

/* Nothing moves by another way than the one that was asked for. */
static void refused_gpu(const char *path)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = open_file(path) };
	void *memory = take_memory(), *before = calloc(1, BYTES);
	CUfileHandle_t handle = NULL;

	put(memory, before, BYTES);
	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	CHECK(cuFileBufRegister(memory, BYTES, 0).err, CU_FILE_DEVICE_NOT_FOUND);
	CHECK(cuFileRead(handle, memory, 65536, 0, 0), -CU_FILE_GPU_MEMORY_PINNING_FAILED);
	CHECK(cuFileWrite(handle, memory, 65536, 0, 0), -CU_FILE_GPU_MEMORY_PINNING_FAILED);
	check_bytes(memory, before, BYTES, __LINE__);
	cuFileHandleDeregister(handle);
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	give_memory(memory);
	free(before);
}

static void run(const char *variable)
{
	const char *command = getenv(variable);

	CHECK(command && system(command) == 0, 1);
}

/* Memory for staging is pinned to the region that the GPU has, and not to one that it had. */
static void removed_gpu(const char *path)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = open_file(path) };
	void *memory = take_memory();
	CUfileHandle_t handle = NULL;

	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	CHECK(cuFileRead(handle, memory, 65536, 0, 0), 65536);
	check_bytes(memory, data, 65536, __LINE__);
	run("REGION_REMOVE");
	CHECK(cuFileRead(handle, memory, 65536, 1, 0), -CU_FILE_GPU_MEMORY_PINNING_FAILED);
	CHECK(cuFileWrite(handle, memory, 65536, 1, 0), -CU_FILE_GPU_MEMORY_PINNING_FAILED);
	run("REGION_ADD");
	CHECK(cuFileRead(handle, memory, 65536, 1, 0), 65536);
	check_bytes(memory, data + 1, 65536, __LINE__);
	run("REGION_REMOVE");
	run("REGION_ADD");
	CHECK(cuFileRead(handle, memory, 65536, 2, 0), 65536);
	check_bytes(memory, data + 2, 65536, __LINE__);
	cuFileHandleDeregister(handle);
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	give_memory(memory);
	close(descriptor.handle.fd);
	unlink(path);
}

/* Of a drive of the size of the data, the thread that has read it sees what is behind its old end. */
static void grown(const char *path)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = open_file(path) };
	void *memory = take_memory();
	CUfileHandle_t handle = NULL;

	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	CHECK(cuFileRead(handle, memory, 65536, BYTES - 4096, 0), 4096);
	CHECK(cuFileRead(handle, memory, 65536, BYTES, 0), 0);
	CHECK(cuFileWrite(handle, memory, 65536, BYTES, 0), -1);
	run("GROW");
	put(memory, data, 65536);
	CHECK(cuFileWrite(handle, memory, 65536, BYTES - 4096, 0), 65536);
	CHECK(cuFileRead(handle, memory, 65536, BYTES + 4096, 0), 65536);
	CHECK(cuFileRead(handle, memory, 65536, BYTES - 4096, 0), 65536);
	check_bytes(memory, data, 65536, __LINE__);
	CHECK(cuFileRead(handle, memory, 65536, 2 * BYTES - 4096, 0), 4096);
	cuFileHandleDeregister(handle);
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	give_memory(memory);
	close(descriptor.handle.fd);
}

/* Asked as mount() asks. */
static int may_be_mounted(const char *path)
{
	int fd = open(path, O_RDONLY | O_EXCL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The program has the file open no more.  The number remains in use, because a registered one cannot be registered again. */
static CUfileHandle_t register_and_leave(int fd)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	CUfileHandle_t handle = NULL;
	int null = open("/dev/null", O_RDONLY);

	CHECK(fd >= 0, 1);
	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	dup2(null, fd);
	close(null);
	return handle;
}

static void come_and_go(const char *path)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = open(path, O_RDWR | O_DIRECT) };
	CUfileHandle_t handle = NULL;

	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	cuFileHandleDeregister(handle);
	close(descriptor.handle.fd);
}

/* The number that the next descriptor gets: it grows with each that is left open. */
static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/*
 * The program's own O_EXCL lasts as long as any registration of the drive, whichever is the first, and whichever ends first.
 * Nothing stays open of the others that come and go meanwhile.
 */
static void claimed_by_program(const char *path)
{
	for (int way = 0; way < 4; way++) {
		int fds[2] = { open(path, O_RDWR | O_DIRECT | O_EXCL), open(path, O_RDWR | O_DIRECT) };
		int first = way % 2, ends_first = way / 2, next;
		CUfileHandle_t handles[2];

		handles[first] = register_and_leave(fds[first]);
		handles[!first] = register_and_leave(fds[!first]);
		next = next_descriptor();
		for (int i = 0; i < 3; i++)
			come_and_go(path);
		CHECK(next_descriptor(), next);
		CHECK(may_be_mounted(path), 0);
		cuFileHandleDeregister(handles[ends_first]);
		CHECK(may_be_mounted(path), 0);
		cuFileHandleDeregister(handles[!ends_first]);
		CHECK(may_be_mounted(path), 1);
		close(fds[0]);
		close(fds[1]);
	}
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
}

/* From the first registration to the last deregistration, whoever reads or writes it meanwhile, or does not. */
static void claim(const char *path)
{
	CUfileDescr_t descriptors[2];
	CUfileHandle_t handles[2];

	for (int i = 0; i < 2; i++) {
		descriptors[i] = (CUfileDescr_t){ .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = open(path, O_RDWR | O_DIRECT) };
		CHECK(may_be_mounted(path), !i);
		CHECK(cuFileHandleRegister(&handles[i], &descriptors[i]).err, CU_FILE_SUCCESS);
		CHECK(may_be_mounted(path), 0);
	}
	for (int i = 0; i < 2; i++) {
		cuFileHandleDeregister(handles[i]);
		close(descriptors[i].handle.fd);
		CHECK(may_be_mounted(path), i);
	}
	CHECK(cuFileHandleRegister(&handles[0], &(CUfileDescr_t){ .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD,
								   .handle.fd = open(path, O_RDWR | O_DIRECT) }).err, CU_FILE_SUCCESS);
	CHECK(may_be_mounted(path), 0);
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	CHECK(may_be_mounted(path), 1);
	claimed_by_program(path);
}

/* A drive and its partition exclude each other: whichever goes last is claimed, although it could not be at first. */
static void claim_beside_part(const char *drive)
{
	char part[64];
	const char *paths[2] = { part, drive };

	struct blkpg_partition place = { .start = 1 << 20, .length = 1 << 20, .pno = 1 };
	struct blkpg_ioctl_arg request = { .op = BLKPG_ADD_PARTITION, .datalen = sizeof(place), .data = &place };
	int fd = open(drive, O_RDONLY);

	CHECK(ioctl(fd, BLKPG, &request), 0);
	snprintf(part, sizeof(part), "%sp1", drive);
	for (int first = 0; first < 2; first++) {
		const char *last = paths[!first];
		CUfileHandle_t handles[2] = { NULL, NULL };

		for (int i = 0; i < 2; i++) {
			CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD,
						     .handle.fd = open(i ? last : paths[first], O_RDWR | O_DIRECT) };

			CHECK(cuFileHandleRegister(&handles[i], &descriptor).err, CU_FILE_SUCCESS);
			close(descriptor.handle.fd);
		}
		CHECK(may_be_mounted(paths[first]), 0);
		cuFileHandleDeregister(handles[0]);
		CHECK(may_be_mounted(last), 0);
		cuFileHandleDeregister(handles[1]);
		CHECK(may_be_mounted(last), 1);
	}
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	request.op = BLKPG_DEL_PARTITION;
	CHECK(ioctl(fd, BLKPG, &request), 0);
	close(fd);
}

/* No byte goes to another device as if it were the host's memory; where that is allowed the CPU moves it, and that is counted. */
static void foreign(const char *path, int compat)
{
	CUfileDescr_t descriptor = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = open_file(path) };
	int region = open("/dev/p2pmem0", O_RDWR);
	unsigned char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
	CUfileHandle_t handle = NULL;

	CHECK(memory == MAP_FAILED, 0);
	CHECK(cuFileHandleRegister(&handle, &descriptor).err, CU_FILE_SUCCESS);
	CHECK(cuFileBufRegister(memory, 1 << 20, 0).err, CU_FILE_CUDA_MEMORY_TYPE_INVALID);
	CHECK(cuFileRead(handle, memory, 65536, 0, 0), compat ? 65536 : -CU_FILE_CUDA_MEMORY_TYPE_INVALID);
	CHECK(cuFileWrite(handle, memory, 65536, 65536, 0), compat ? 65536 : -CU_FILE_CUDA_MEMORY_TYPE_INVALID);
	CHECK(memcmp(memory, data, 65536) == 0, compat);
	CHECK(counted().read_bytes + counted().written_bytes, compat ? 131072 : 0);
	CHECK(counted().compat_bytes, compat ? 131072 : 0);
	cuFileHandleDeregister(handle);
	CHECK(cuFileDriverClose().err, CU_FILE_SUCCESS);
	munmap(memory, 1 << 20);
	close(region);
	close(descriptor.handle.fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	is_theirs = !strcmp(argv[1], "theirs");
	if ((strstr(argv[1], "gpu") || is_theirs) && open_gpu())
		return 1;
	if (!strcmp(argv[1], "refused"))
		refused(argv[2]);
	else if (!strcmp(argv[1], "gpu-refused"))
		refused_gpu(argv[2]);
	else if (!strcmp(argv[1], "gpu-removed"))
		removed_gpu(argv[2]);
	else if (!strcmp(argv[1], "grown"))
		grown(argv[2]);
	else if (!strcmp(argv[1], "claim"))
		claim(argv[2]);
	else if (!strcmp(argv[1], "claim-part"))
		claim_beside_part(argv[2]);
	else if (!strncmp(argv[1], "foreign", 7))
		foreign(argv[2], !!strstr(argv[1], "compat"));
	else
		all(argv[2], is_theirs || strstr(argv[1], "compat"));
	printf("%d failures\n", failures);
	return failures != 0;
}
