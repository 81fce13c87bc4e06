// SPDX-License-Identifier: Apache-2.0
/* cuFile's calls about the driver as a whole. */
#include <limits.h>

#include "cufile/batches.h"
#include "cufile/calls.h"
#include "cufile/codes.h"
#include "cufile/counts.h"
#include "cufile/driver.h"
#include "cufile/engine.h"
#include "cufile/pool.h"
#include "cufile/settings.h"
#include "cufile/streams.h"

/* Programs may check the interface version of cuFile's driver, in whose place the module is. */
#define DRIVER_MAJOR	2
#define DRIVER_MINOR	0

CUF_PUBLIC struct cuf_error cuFileDriverOpen(void)
{
	return cuf_error(cuf_driver_open());
}

/* Ends the requests before the things that they use. */
static void end_all(void)
{
	cuf_streams_end();
	cuf_batches_end();
	cuf_pool_end();
	cuf_engines_forget_all();
	cuf_buffers_end();
	cuf_files_end();
	cuf_counts_end();
}

CUF_PUBLIC struct cuf_error cuFileDriverClose_v2(void)
{
	return cuf_error(cuf_driver_close(end_all));
}

/* For programs that were built for the first releases. */
CUF_PUBLIC struct cuf_error cuFileDriverClose(void)
{
	return cuFileDriverClose_v2();
}

CUF_PUBLIC long cuFileUseCount(void)
{
	return cuf_driver_users();
}

CUF_PUBLIC struct cuf_error cuFileGetVersion(int *version)
{
	if (!version)
		return cuf_error(CUF_INVALID_VALUE);
	*version = CUF_VERSION;
	return cuf_error(CUF_SUCCESS);
}

static unsigned int short_size(enum cuf_size parameter)
{
	size_t value = cuf_size(parameter);

	return value > UINT_MAX ? UINT_MAX : (unsigned int)value;
}

static unsigned int controls(void)
{
	bool compat = cuf_flag(CUF_FLAG_ALLOW_COMPAT) || cuf_flag(CUF_FLAG_FORCE_COMPAT);

	return (unsigned int)cuf_flag(CUF_FLAG_POLL) << CUF_CONTROL_POLL |
	       (unsigned int)compat << CUF_CONTROL_COMPAT;
}

CUF_PUBLIC struct cuf_error cuFileDriverGetProperties(struct cuf_properties *properties)
{
	int rc = properties ? cuf_driver_need() : CUF_INVALID_VALUE;

	if (rc)
		return cuf_error(rc);
	*properties = (struct cuf_properties){
		.driver = {
			.major = DRIVER_MAJOR,
			.minor = DRIVER_MINOR,
			.poll_threshold_kib = cuf_size(CUF_SIZE_POLL_KIB),
			.max_direct_kib = cuf_size(CUF_SIZE_MAX_DIRECT_KIB),
			.file_systems = 1U << CUF_FS_NVME,
			.controls = controls(),
		},
		.features = 1U << CUF_FEATURE_BATCH | 1U << CUF_FEATURE_STREAMS,
		.max_cache_kib = short_size(CUF_SIZE_MAX_CACHE_KIB),
		.per_buffer_cache_kib = short_size(CUF_SIZE_PER_BUFFER_CACHE_KIB),
		.max_pinned_kib = short_size(CUF_SIZE_MAX_PINNED_KIB),
		.max_batch = short_size(CUF_SIZE_BATCH),
		.max_batch_timeout_ms = short_size(CUF_SIZE_BATCH_TIMEOUT_MS),
	};
	cuf_driver_leave();
	return cuf_error(CUF_SUCCESS);
}

static struct cuf_error change(enum cuf_size parameter, size_t value)
{
	int rc = cuf_driver_need();

	if (rc)
		return cuf_error(rc);
	rc = cuf_size_change(parameter, value);
	cuf_driver_leave();
	return cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileDriverSetPollMode(bool poll, size_t threshold_kib)
{
	struct cuf_error error = change(CUF_SIZE_POLL_KIB, threshold_kib);

	if (!error.code)
		cuf_flag_change(CUF_FLAG_POLL, poll);
	return error;
}

CUF_PUBLIC struct cuf_error cuFileDriverSetMaxDirectIOSize(size_t kib)
{
	return change(CUF_SIZE_MAX_DIRECT_KIB, kib);
}

CUF_PUBLIC struct cuf_error cuFileDriverSetMaxCacheSize(size_t kib)
{
	return change(CUF_SIZE_MAX_CACHE_KIB, kib);
}

CUF_PUBLIC struct cuf_error cuFileDriverSetMaxPinnedMemSize(size_t kib)
{
	return change(CUF_SIZE_MAX_PINNED_KIB, kib);
}
