// SPDX-License-Identifier: Apache-2.0
/* The calls of later headers for settings by number; they can be set only before the driver is opened. */
#include <string.h>

#include "cufile/calls.h"
#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/settings.h"

static bool is_one(int parameter, int count)
{
	return parameter >= 0 && parameter < count;
}

CUF_PUBLIC struct cuf_error cuFileGetParameterSizeT(int parameter, size_t *value)
{
	if (!value || !is_one(parameter, CUF_SIZE_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	cuf_driver_lock();
	*value = cuf_size((enum cuf_size)parameter);
	cuf_driver_unlock();
	return cuf_error(CUF_SUCCESS);
}

CUF_PUBLIC struct cuf_error cuFileGetParameterBool(int parameter, bool *value)
{
	if (!value || !is_one(parameter, CUF_FLAG_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	cuf_driver_lock();
	*value = cuf_flag((enum cuf_flag)parameter);
	cuf_driver_unlock();
	return cuf_error(CUF_SUCCESS);
}

static int give_text(const char *from, char *text, size_t bytes)
{
	size_t length = strlen(from) + 1;

	if (length > bytes)
		return CUF_INVALID_VALUE;
	memcpy(text, from, length);
	return 0;
}

CUF_PUBLIC struct cuf_error cuFileGetParameterString(int parameter, char *text, int bytes)
{
	int rc;

	if (!text || bytes <= 0 || !is_one(parameter, CUF_TEXT_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	cuf_driver_lock();
	rc = give_text(cuf_text((enum cuf_text)parameter), text, (size_t)bytes);
	cuf_driver_unlock();
	return cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileSetParameterSizeT(int parameter, size_t value)
{
	int rc;

	if (!is_one(parameter, CUF_SIZE_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	cuf_driver_lock();
	rc = cuf_driver_is_open() ? CUF_DRIVER_ALREADY_OPEN : cuf_size_stage((enum cuf_size)parameter, value);
	cuf_driver_unlock();
	return cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileSetParameterBool(int parameter, bool value)
{
	int rc;

	if (!is_one(parameter, CUF_FLAG_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	cuf_driver_lock();
	rc = cuf_driver_is_open() ? CUF_DRIVER_ALREADY_OPEN : cuf_flag_stage((enum cuf_flag)parameter, value);
	cuf_driver_unlock();
	return cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileSetParameterString(int parameter, const char *text)
{
	int rc;

	if (!text || !is_one(parameter, CUF_TEXT_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	cuf_driver_lock();
	rc = cuf_driver_is_open() ? CUF_DRIVER_ALREADY_OPEN : cuf_text_stage((enum cuf_text)parameter, text);
	cuf_driver_unlock();
	return cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileGetParameterMinMaxValue(int parameter, size_t *least, size_t *most)
{
	struct cuf_limits limits;

	if (!least || !most || !is_one(parameter, CUF_SIZE_COUNT))
		return cuf_error(CUF_INVALID_VALUE);
	limits = cuf_size_limits((enum cuf_size)parameter);
	*least = limits.least;
	*most = limits.most;
	return cuf_error(CUF_SUCCESS);
}
