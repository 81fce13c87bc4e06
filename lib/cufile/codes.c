// SPDX-License-Identifier: Apache-2.0
/* See codes.h. */
#include "cufile/codes.h"

bool cuf_is_unsupported(ssize_t failure)
{
	switch (-failure) {
	case EBADMSG:
	case EHOSTUNREACH:
	case EMEDIUMTYPE:
	case ENOTBLK:
	case EOPNOTSUPP:
	case CUF_CUDA_MEMORY_TYPE_INVALID:
	case CUF_DEVICE_NOT_FOUND:
	case CUF_DEVICE_NOT_SUPPORTED:
	case CUF_GPU_MEMORY_PINNING_FAILED:
	case CUF_IO_NOT_SUPPORTED:
		return true;
	}
	return false;
}

bool cuf_is_passing(int failure)
{
	return failure == -EMFILE || failure == -ENFILE || failure == -ENOMEM || failure == -EINTR;
}

ssize_t cuf_returned(ssize_t result)
{
	if (result >= 0 || cuf_is_code(result))
		return result;
	errno = (int)-result;
	return -1;
}

int cuf_code_of_file(int failure)
{
	switch (-failure) {
	case EACCES:
	case EBUSY:
	case EPERM:
	case EROFS:
		return CUF_PERMISSION_DENIED;
	case EMFILE:
	case ENFILE:
		return CUF_GETNEWFD_FAILED;
	case EINVAL:
		return CUF_INVALID_FILE_OPEN_FLAG;
	case ENOMEM:
		return CUF_INTERNAL_ERROR;
	}
	return CUF_IO_NOT_SUPPORTED;
}

int cuf_code_of_buffer(int failure)
{
	switch (-failure) {
	case EACCES:
	case EPERM:
		return CUF_PERMISSION_DENIED;
	case EMFILE:
	case ENFILE:
		return CUF_GETNEWFD_FAILED;
	case EINVAL:
		return CUF_CUDA_POINTER_INVALID;
	case ENODEV:
	case EXDEV:	/* no region has that part of the GPU's memory */
		return CUF_DEVICE_NOT_FOUND;
	case ENOMEM:
	case ENOSPC:
		return CUF_GPU_MEMORY_PINNING_FAILED;
	case ENXIO:
		return CUF_CUDA_POINTER_RANGE_ERROR;
	case EOPNOTSUPP:
		return CUF_DEVICE_NOT_SUPPORTED;
	}
	return CUF_NVFS_DRIVER_ERROR;
}
