// SPDX-License-Identifier: Apache-2.0
/* cuFile's calls about files and buffers, and its synchronous reads and writes. */
#include "cufile/calls.h"
#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/engine.h"
#include "cufile/log.h"
#include "cufile/transfer.h"

/* ---- files ---- */

static int check_descriptor(const struct cuf_descriptor *descriptor)
{
	switch (descriptor->type) {
	case CUF_DESCRIPTOR_FD:
		return descriptor->file.fd < 0 ? CUF_INVALID_VALUE : 0;
	case CUF_DESCRIPTOR_WINDOWS:
		return CUF_INVALID_FILE_TYPE;
	case CUF_DESCRIPTOR_USERSPACE:
		cuf_log(CUF_LOG_ERROR, "a file system in userspace has no drive that donard could read. Register a "
			"descriptor of the kernel.");
		return CUF_IO_NOT_SUPPORTED;
	default:
		return CUF_INVALID_VALUE;
	}
}

static int register_file(int fd, uint64_t *number)
{
	int rc = cuf_driver_need();

	if (rc)
		return rc;
	rc = cuf_file_register(fd, number);
	cuf_driver_leave();
	return rc;
}

CUF_PUBLIC struct cuf_error cuFileHandleRegister(void **handle, const struct cuf_descriptor *descriptor)
{
	uint64_t number = 0;
	int rc = handle && descriptor ? check_descriptor(descriptor) : CUF_INVALID_VALUE;

	if (!rc)
		rc = register_file(descriptor->file.fd, &number);
	if (!rc)
		*handle = (void *)(uintptr_t)number;
	return cuf_error(rc);
}

CUF_PUBLIC void cuFileHandleDeregister(void *handle)
{
	struct cuf_file *file;

	if (cuf_driver_enter())
		return;		/* closing the driver deregistered it */
	file = cuf_file_take((uintptr_t)handle);
	if (file) {
		cuf_engines_forget_file(file->handle);
		cuf_file_free(file);
	} else {
		cuf_log(CUF_LOG_ERROR, "%p is no handle of a registered file", handle);
	}
	cuf_driver_leave();
}

/* ---- buffers ---- */

CUF_PUBLIC struct cuf_error cuFileBufRegister(const void *base, size_t bytes, int flags)
{
	unsigned int unknown = (unsigned int)flags & ~(CUF_BUFFER_RDMA | CUF_BUFFER_RELAXED);
	int cuda = 0, rc;

	if (!base || !bytes || unknown || bytes > UINTPTR_MAX - (uintptr_t)base)
		return cuf_error(CUF_INVALID_VALUE);
	rc = cuf_driver_need();
	if (rc)
		return cuf_error(rc);
	rc = cuf_buffer_register(base, bytes, &cuda);
	cuf_driver_leave();
	return cuda ? cuf_cuda_error(cuda) : cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileBufDeregister(const void *base)
{
	struct cuf_buffer *buffer;
	int rc = base ? cuf_driver_enter() : CUF_INVALID_VALUE;

	if (rc)
		return cuf_error(rc);
	buffer = cuf_buffer_take(base);
	if (buffer) {
		cuf_engines_forget_buffer(buffer);
		cuf_buffer_free(buffer);
	}
	cuf_driver_leave();
	return cuf_error(buffer ? CUF_SUCCESS : CUF_INVALID_VALUE);
}

/* ---- bytes ---- */

CUF_PUBLIC ssize_t cuFileRead(void *handle, void *base, size_t bytes, off_t file_offset, off_t offset)
{
	return cuf_returned(cuf_transfer(&(struct cuf_transfer){
		.handle = (uintptr_t)handle, .base = (uintptr_t)base, .bytes = bytes,
		.file_offset = file_offset, .offset = offset,
	}));
}

CUF_PUBLIC ssize_t cuFileWrite(void *handle, const void *base, size_t bytes, off_t file_offset, off_t offset)
{
	return cuf_returned(cuf_transfer(&(struct cuf_transfer){
		.handle = (uintptr_t)handle, .base = (uintptr_t)base, .bytes = bytes,
		.file_offset = file_offset, .offset = offset, .writes = true,
	}));
}
