/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of programs that were built for cuFile: our own names for its
 * numbers and layouts.  tests/host/cufile_abi.c compares them with the header that
 * Debian packages.
 *
 * The structures have no size member, so they cannot grow.
 */
#ifndef CUF_ABI_H
#define CUF_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Version 1.9, of CUDA 12.4: 1000 times the major number plus 10 times the minor one. */
#define CUF_VERSION	1090

enum cuf_code {
	CUF_SUCCESS = 0,
	CUF_DRIVER_NOT_INITIALIZED = 5001,
	CUF_DRIVER_INVALID_PROPS = 5002,
	CUF_DRIVER_UNSUPPORTED_LIMIT = 5003,
	CUF_DRIVER_VERSION_MISMATCH = 5004,
	CUF_DRIVER_VERSION_READ_ERROR = 5005,
	CUF_DRIVER_CLOSING = 5006,
	CUF_PLATFORM_NOT_SUPPORTED = 5007,
	CUF_IO_NOT_SUPPORTED = 5008,
	CUF_DEVICE_NOT_SUPPORTED = 5009,
	CUF_NVFS_DRIVER_ERROR = 5010,
	CUF_CUDA_DRIVER_ERROR = 5011,
	CUF_CUDA_POINTER_INVALID = 5012,
	CUF_CUDA_MEMORY_TYPE_INVALID = 5013,
	CUF_CUDA_POINTER_RANGE_ERROR = 5014,
	CUF_CUDA_CONTEXT_MISMATCH = 5015,
	CUF_INVALID_MAPPING_SIZE = 5016,
	CUF_INVALID_MAPPING_RANGE = 5017,
	CUF_INVALID_FILE_TYPE = 5018,
	CUF_INVALID_FILE_OPEN_FLAG = 5019,
	CUF_DIO_NOT_SET = 5020,
	CUF_INVALID_VALUE = 5022,
	CUF_MEMORY_ALREADY_REGISTERED = 5023,
	CUF_MEMORY_NOT_REGISTERED = 5024,
	CUF_PERMISSION_DENIED = 5025,
	CUF_DRIVER_ALREADY_OPEN = 5026,
	CUF_HANDLE_NOT_REGISTERED = 5027,
	CUF_HANDLE_ALREADY_REGISTERED = 5028,
	CUF_DEVICE_NOT_FOUND = 5029,
	CUF_INTERNAL_ERROR = 5030,
	CUF_GETNEWFD_FAILED = 5031,
	CUF_NVFS_SETUP_ERROR = 5033,
	CUF_IO_DISABLED = 5034,
	CUF_BATCH_SUBMIT_FAILED = 5035,
	CUF_GPU_MEMORY_PINNING_FAILED = 5036,
	CUF_BATCH_FULL = 5037,
	CUF_ASYNC_NOT_SUPPORTED = 5038,
};

/* Returned by value, in one register. */
struct cuf_error {
	int code;		/* enum cuf_code */
	int cuda;		/* the CUresult, if code is CUF_CUDA_DRIVER_ERROR */
};

/* ---- the driver ---- */

/* Numbers of the bits in file_systems, controls and features. */
enum { CUF_FS_NVME = 4 };
enum { CUF_CONTROL_POLL = 0, CUF_CONTROL_COMPAT = 1 };
enum { CUF_FEATURE_BATCH = 1, CUF_FEATURE_STREAMS = 2 };

struct cuf_properties {
	struct {
		unsigned int major, minor;
		size_t poll_threshold_kib, max_direct_kib;
		unsigned int file_systems, controls;
	} driver;
	unsigned int features;
	unsigned int max_cache_kib, per_buffer_cache_kib, max_pinned_kib;
	unsigned int max_batch, max_batch_timeout_ms;
};

/* The numbers of settings in later headers than the packaged one; cufile.json has the names. */
enum cuf_size {
	CUF_SIZE_STATS,
	CUF_SIZE_QUEUE_DEPTH,
	CUF_SIZE_THREADS,
	CUF_SIZE_THRESHOLD_KIB,
	CUF_SIZE_PARALLELISM,
	CUF_SIZE_MAX_DIRECT_KIB,
	CUF_SIZE_MAX_CACHE_KIB,
	CUF_SIZE_PER_BUFFER_CACHE_KIB,
	CUF_SIZE_MAX_PINNED_KIB,
	CUF_SIZE_BATCH,
	CUF_SIZE_POLL_KIB,
	CUF_SIZE_BATCH_TIMEOUT_MS,
	CUF_SIZE_COUNT,
};

enum cuf_flag {
	CUF_FLAG_POLL,
	CUF_FLAG_ALLOW_COMPAT,
	CUF_FLAG_FORCE_COMPAT,
	CUF_FLAG_CHECK_AGGRESSIVE,
	CUF_FLAG_PARALLEL,
	CUF_FLAG_NVTX,
	CUF_FLAG_SYSTEM_MEMORY,
	CUF_FLAG_P2PDMA,
	CUF_FLAG_IO_URING,
	CUF_FLAG_FORCE_DIRECT,
	CUF_FLAG_SKIP_TOPOLOGY,
	CUF_FLAG_MEMOPS_BYPASS,
	CUF_FLAG_COUNT,
};

enum cuf_text {
	CUF_TEXT_LOG_LEVEL,
	CUF_TEXT_LOG_FILE,
	CUF_TEXT_LOG_FOLDER,
	CUF_TEXT_COUNT,
};

/* ---- files and buffers ---- */

enum cuf_descriptor_type {
	CUF_DESCRIPTOR_FD = 1,
	CUF_DESCRIPTOR_WINDOWS = 2,
	CUF_DESCRIPTOR_USERSPACE = 3,
};

struct cuf_descriptor {
	int type;		/* enum cuf_descriptor_type */
	union {
		int fd;
		void *pointer;
	} file;
	const void *operations;	/* for CUF_DESCRIPTOR_USERSPACE */
};

#define CUF_BUFFER_RDMA		1U
#define CUF_BUFFER_RELAXED	2U

/* ---- batches ---- */

enum cuf_operation {
	CUF_READ = 0,
	CUF_WRITE = 1,
};

enum cuf_status {
	CUF_WAITING = 0x01,
	CUF_PENDING = 0x02,
	CUF_INVALID = 0x04,
	CUF_CANCELED = 0x08,
	CUF_COMPLETE = 0x10,
	CUF_TIMEOUT = 0x20,
	CUF_FAILED = 0x40,
};

#define CUF_MODE_BATCH	1

struct cuf_batch_request {
	int mode;		/* CUF_MODE_BATCH */
	void *base;
	off_t file_offset;
	off_t offset;		/* from base */
	size_t bytes;
	void *handle;
	int operation;		/* enum cuf_operation */
	void *cookie;
};

struct cuf_batch_event {
	void *cookie;
	int status;		/* enum cuf_status */
	size_t result;		/* bytes, -errno, or minus a code */
};

/* ---- streams: arguments that do not change between the call and its turn ---- */

#define CUF_STREAM_FIXED_OFFSET		1U
#define CUF_STREAM_FIXED_FILE_OFFSET	2U
#define CUF_STREAM_FIXED_BYTES		4U
#define CUF_STREAM_ALIGNED		8U

#endif /* CUF_ABI_H */
