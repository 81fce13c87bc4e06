/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that programs find by name, declared with our own types (abi.h). */
#ifndef CUF_CALLS_H
#define CUF_CALLS_H

#include <time.h>

#include "cufile/abi.h"

#define CUF_PUBLIC	__attribute__((visibility("default")))

struct cuf_error cuFileDriverOpen(void);
struct cuf_error cuFileDriverClose(void);
struct cuf_error cuFileDriverClose_v2(void);
long cuFileUseCount(void);
struct cuf_error cuFileDriverGetProperties(struct cuf_properties *properties);
struct cuf_error cuFileDriverSetPollMode(bool poll, size_t threshold_kib);
struct cuf_error cuFileDriverSetMaxDirectIOSize(size_t kib);
struct cuf_error cuFileDriverSetMaxCacheSize(size_t kib);
struct cuf_error cuFileDriverSetMaxPinnedMemSize(size_t kib);
struct cuf_error cuFileGetVersion(int *version);

struct cuf_error cuFileGetParameterSizeT(int parameter, size_t *value);
struct cuf_error cuFileGetParameterBool(int parameter, bool *value);
struct cuf_error cuFileGetParameterString(int parameter, char *text, int bytes);
struct cuf_error cuFileSetParameterSizeT(int parameter, size_t value);
struct cuf_error cuFileSetParameterBool(int parameter, bool value);
struct cuf_error cuFileSetParameterString(int parameter, const char *text);
struct cuf_error cuFileGetParameterMinMaxValue(int parameter, size_t *least, size_t *most);

struct cuf_error cuFileHandleRegister(void **handle, const struct cuf_descriptor *descriptor);
void cuFileHandleDeregister(void *handle);
struct cuf_error cuFileBufRegister(const void *base, size_t bytes, int flags);
struct cuf_error cuFileBufDeregister(const void *base);

ssize_t cuFileRead(void *handle, void *base, size_t bytes, off_t file_offset, off_t offset);
ssize_t cuFileWrite(void *handle, const void *base, size_t bytes, off_t file_offset, off_t offset);

struct cuf_error cuFileBatchIOSetUp(void **batch, unsigned int most);
struct cuf_error cuFileBatchIOSubmit(void *batch, unsigned int count, struct cuf_batch_request *requests,
				     unsigned int flags);
struct cuf_error cuFileBatchIOGetStatus(void *batch, unsigned int least, unsigned int *count,
					struct cuf_batch_event *events, struct timespec *timeout);
struct cuf_error cuFileBatchIOCancel(void *batch);
void cuFileBatchIODestroy(void *batch);

struct cuf_error cuFileStreamRegister(void *stream, unsigned int flags);
struct cuf_error cuFileStreamDeregister(void *stream);
struct cuf_error cuFileReadAsync(void *handle, void *base, size_t *bytes, off_t *file_offset,
				 off_t *offset, ssize_t *done, void *stream);
struct cuf_error cuFileWriteAsync(void *handle, void *base, size_t *bytes, off_t *file_offset,
				  off_t *offset, ssize_t *done, void *stream);

#endif /* CUF_CALLS_H */
