// SPDX-License-Identifier: Apache-2.0
/*
 * lib/cufile/abi.h compared with the packaged cufile.h, whose cuda.h is
 * tests/host/cuda/cuda.h.  Compiling is the test.  -DCUFILE_STREAMS: the header
 * has them.
 */
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cufile.h>

#include "cufile/abi.h"

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_PLACE(ours, member, theirs, other) \
	SAME(offsetof(ours, member), offsetof(theirs, other)); \
	SAME_SIZE(((ours *)0)->member, ((theirs *)0)->other)

SAME(CUF_SUCCESS, CU_FILE_SUCCESS);
#define CODE(name) SAME(CUF_##name, CU_FILE_##name)
CODE(DRIVER_NOT_INITIALIZED);
CODE(DRIVER_INVALID_PROPS);
CODE(DRIVER_UNSUPPORTED_LIMIT);
CODE(DRIVER_VERSION_MISMATCH);
CODE(DRIVER_VERSION_READ_ERROR);
CODE(DRIVER_CLOSING);
CODE(PLATFORM_NOT_SUPPORTED);
CODE(IO_NOT_SUPPORTED);
CODE(DEVICE_NOT_SUPPORTED);
CODE(NVFS_DRIVER_ERROR);
CODE(CUDA_DRIVER_ERROR);
CODE(CUDA_POINTER_INVALID);
CODE(CUDA_MEMORY_TYPE_INVALID);
CODE(CUDA_POINTER_RANGE_ERROR);
CODE(CUDA_CONTEXT_MISMATCH);
CODE(INVALID_MAPPING_SIZE);
CODE(INVALID_MAPPING_RANGE);
CODE(INVALID_FILE_TYPE);
CODE(INVALID_FILE_OPEN_FLAG);
CODE(DIO_NOT_SET);
CODE(INVALID_VALUE);
CODE(MEMORY_ALREADY_REGISTERED);
CODE(MEMORY_NOT_REGISTERED);
CODE(PERMISSION_DENIED);
CODE(DRIVER_ALREADY_OPEN);
CODE(HANDLE_NOT_REGISTERED);
CODE(HANDLE_ALREADY_REGISTERED);
CODE(DEVICE_NOT_FOUND);
CODE(INTERNAL_ERROR);
CODE(GETNEWFD_FAILED);
CODE(NVFS_SETUP_ERROR);
CODE(IO_DISABLED);
CODE(BATCH_SUBMIT_FAILED);
CODE(GPU_MEMORY_PINNING_FAILED);

SAME_SIZE(struct cuf_error, CUfileError_t);
SAME_PLACE(struct cuf_error, code, CUfileError_t, err);
SAME_PLACE(struct cuf_error, cuda, CUfileError_t, cu_err);

SAME_SIZE(struct cuf_properties, CUfileDrvProps_t);
SAME_PLACE(struct cuf_properties, driver.major, CUfileDrvProps_t, nvfs.major_version);
SAME_PLACE(struct cuf_properties, driver.minor, CUfileDrvProps_t, nvfs.minor_version);
SAME_PLACE(struct cuf_properties, driver.poll_threshold_kib, CUfileDrvProps_t, nvfs.poll_thresh_size);
SAME_PLACE(struct cuf_properties, driver.max_direct_kib, CUfileDrvProps_t, nvfs.max_direct_io_size);
SAME_PLACE(struct cuf_properties, driver.file_systems, CUfileDrvProps_t, nvfs.dstatusflags);
SAME_PLACE(struct cuf_properties, driver.controls, CUfileDrvProps_t, nvfs.dcontrolflags);
SAME_PLACE(struct cuf_properties, features, CUfileDrvProps_t, fflags);
SAME_PLACE(struct cuf_properties, max_cache_kib, CUfileDrvProps_t, max_device_cache_size);
SAME_PLACE(struct cuf_properties, per_buffer_cache_kib, CUfileDrvProps_t, per_buffer_cache_size);
SAME_PLACE(struct cuf_properties, max_pinned_kib, CUfileDrvProps_t, max_device_pinned_mem_size);
SAME_PLACE(struct cuf_properties, max_batch, CUfileDrvProps_t, max_batch_io_size);
SAME_PLACE(struct cuf_properties, max_batch_timeout_ms, CUfileDrvProps_t, max_batch_io_timeout_msecs);
SAME(CUF_FS_NVME, CU_FILE_NVME_SUPPORTED);
SAME(CUF_CONTROL_POLL, CU_FILE_USE_POLL_MODE);
SAME(CUF_CONTROL_COMPAT, CU_FILE_ALLOW_COMPAT_MODE);
SAME(CUF_FEATURE_BATCH, CU_FILE_BATCH_IO_SUPPORTED);
SAME(CUF_FEATURE_STREAMS, CU_FILE_STREAMS_SUPPORTED);

SAME_SIZE(struct cuf_descriptor, CUfileDescr_t);
SAME_PLACE(struct cuf_descriptor, type, CUfileDescr_t, type);
SAME_PLACE(struct cuf_descriptor, file.fd, CUfileDescr_t, handle.fd);
SAME_PLACE(struct cuf_descriptor, operations, CUfileDescr_t, fs_ops);
SAME(CUF_DESCRIPTOR_FD, CU_FILE_HANDLE_TYPE_OPAQUE_FD);
SAME(CUF_DESCRIPTOR_WINDOWS, CU_FILE_HANDLE_TYPE_OPAQUE_WIN32);
SAME(CUF_DESCRIPTOR_USERSPACE, CU_FILE_HANDLE_TYPE_USERSPACE_FS);
SAME(CUF_BUFFER_RDMA, CU_FILE_RDMA_REGISTER);
SAME(CUF_BUFFER_RELAXED, CU_FILE_RDMA_RELAXED_ORDERING);

SAME_SIZE(struct cuf_batch_request, CUfileIOParams_t);
SAME_PLACE(struct cuf_batch_request, mode, CUfileIOParams_t, mode);
SAME_PLACE(struct cuf_batch_request, base, CUfileIOParams_t, u.batch.devPtr_base);
SAME_PLACE(struct cuf_batch_request, file_offset, CUfileIOParams_t, u.batch.file_offset);
SAME_PLACE(struct cuf_batch_request, offset, CUfileIOParams_t, u.batch.devPtr_offset);
SAME_PLACE(struct cuf_batch_request, bytes, CUfileIOParams_t, u.batch.size);
SAME_PLACE(struct cuf_batch_request, handle, CUfileIOParams_t, fh);
SAME_PLACE(struct cuf_batch_request, operation, CUfileIOParams_t, opcode);
SAME_PLACE(struct cuf_batch_request, cookie, CUfileIOParams_t, cookie);
SAME_SIZE(struct cuf_batch_event, CUfileIOEvents_t);
SAME_PLACE(struct cuf_batch_event, cookie, CUfileIOEvents_t, cookie);
SAME_PLACE(struct cuf_batch_event, status, CUfileIOEvents_t, status);
SAME_PLACE(struct cuf_batch_event, result, CUfileIOEvents_t, ret);
SAME(CUF_MODE_BATCH, CUFILE_BATCH);
SAME(CUF_READ, CUFILE_READ);
SAME(CUF_WRITE, CUFILE_WRITE);
SAME(CUF_WAITING, CUFILE_WAITING);
SAME(CUF_PENDING, CUFILE_PENDING);
SAME(CUF_INVALID, CUFILE_INVALID);
SAME(CUF_CANCELED, CUFILE_CANCELED);
SAME(CUF_COMPLETE, CUFILE_COMPLETE);
SAME(CUF_TIMEOUT, CUFILE_TIMEOUT);
SAME(CUF_FAILED, CUFILE_FAILED);

/* Of 11.8 these two numbers mean something else: a full batch was no case of its own. */
#ifdef CUFILE_STREAMS
CODE(BATCH_FULL);
CODE(ASYNC_NOT_SUPPORTED);
SAME(CUF_STREAM_FIXED_OFFSET, CU_FILE_STREAM_FIXED_BUF_OFFSET);
SAME(CUF_STREAM_FIXED_FILE_OFFSET, CU_FILE_STREAM_FIXED_FILE_OFFSET);
SAME(CUF_STREAM_FIXED_BYTES, CU_FILE_STREAM_FIXED_FILE_SIZE);
SAME(CUF_STREAM_ALIGNED, CU_FILE_STREAM_PAGE_ALIGNED_INPUTS);
#endif
