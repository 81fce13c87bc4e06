// SPDX-License-Identifier: Apache-2.0
/*
 * A plugin of nbdkit: the drive behind a write cache, as a network block device.
 *
 *	nbdkit donard-cache server=192.0.2.1
 *
 * Each NBD connection is a client of the cache, with a thread (worker.h) and a window of its own.  A flush on
 * one covers what completed on all: writes are durable in the server's NVRAM when they complete.
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "donard/version.h"
#include "worker.h"

#define THREAD_MODEL		NBDKIT_THREAD_MODEL_PARALLEL
#define DEFAULT_DEPTH		64
#define PREFERRED_BYTES		4096
#define REQUEST_BYTES_MAX	(32U << 20)

static struct donard_cache_options options = { .size = sizeof(options), .depth = DEFAULT_DEPTH };
static const char *server;

/* ---- parameters ---- */

static int parse(const char *key, const char *value, unsigned int low, unsigned int high, unsigned int *number)
{
	if (nbdkit_parse_unsigned(key, value, number))
		return -1;
	if (*number >= low && *number <= high)
		return 0;
	nbdkit_error("%s=%s: from %u to %u", key, value, low, high);
	return -1;
}

static int config(const char *key, const char *value)
{
	unsigned int number = 0;
	int rc = 0;

	if (!strcmp(key, "server")) {
		server = value;
	} else if (!strcmp(key, "port")) {
		rc = parse(key, value, 1, 65535, &number);
		options.port = (uint16_t)number;
	} else if (!strcmp(key, "depth")) {
		rc = parse(key, value, 1, 1024, &number);
		options.depth = number;
	} else if (!strcmp(key, "timeout")) {
		rc = parse(key, value, 1, 3600, &number);
		options.timeout_ms = number * 1000;
	} else {
		nbdkit_error("%s: no such parameter; there are server, port, depth and timeout", key);
		rc = -1;
	}
	return rc;
}

static int config_complete(void)
{
	options.address = server;
	if (server)
		return 0;
	nbdkit_error("which cache? Give server=ADDRESS, at which 'donard-cli cache serve' listens");
	return -1;
}

/* ---- connections ---- */

/* NBD has few errors.  nbdkit sends any other as EINVAL, as if the request were at fault. */
static int error_of_nbd(int error_number)
{
	switch (error_number) {
	case EPERM:
	case ENOMEM:
	case EINVAL:
	case ENOSPC:
	case EROFS:
	case ESHUTDOWN:
		return error_number;
	default:
		return EIO;
	}
}

static int failed(const struct nbd_failure *failure)
{
	nbdkit_error("%s", failure->text);
	nbdkit_set_error(error_of_nbd(failure->error_number));
	return -1;
}

static void tell(const char *text)
{
	nbdkit_error("%s", text);
}

/* This sleep ends with an error when the thread's connection has ended, and when nbdkit is told to end. */
static bool gone(void)
{
	return nbdkit_nanosleep(0, 1000) < 0;
}

static void *open_cache(int readonly)
{
	struct nbd_failure failure = { 0 };
	struct nbd_worker *worker = nbd_worker_start(&options, tell, gone, &failure);

	(void)readonly;
	if (!worker)
		failed(&failure);
	return worker;
}

static void close_cache(void *handle)
{
	nbd_worker_stop(handle);
}

static int64_t get_size(void *handle)
{
	return (int64_t)nbd_worker_info(handle)->drive_bytes;
}

static int block_size(void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	*minimum = nbd_worker_info(handle)->block_bytes;
	*preferred = *minimum > PREFERRED_BYTES ? *minimum : PREFERRED_BYTES;
	*maximum = REQUEST_BYTES_MAX;
	return 0;
}

static int yes(void *handle)
{
	(void)handle;
	return 1;
}

static int no(void *handle)
{
	(void)handle;
	return 0;
}

static int can_fua(void *handle)
{
	(void)handle;
	return NBDKIT_FUA_NATIVE;
}

/* ---- requests ---- */

/* Part of a block would have to be read first, and somebody may write it meanwhile. */
static int refuse_part(void *handle, uint64_t offset, uint64_t length)
{
	uint32_t block = nbd_worker_info(handle)->block_bytes;

	if (!((offset | length) % block))
		return 0;
	nbdkit_error("%llu bytes at %llu are no whole blocks of %u bytes. Use nbdkit's --filter=blocksize with minblock=%u, "
		     "which reads the rest of a block and writes it back", (unsigned long long)length,
		     (unsigned long long)offset, block, block);
	nbdkit_set_error(EINVAL);
	return -1;
}

static int request(void *handle, enum nbd_kind kind, uint64_t offset, void *buffer, uint64_t length)
{
	struct nbd_failure failure;

	if (kind != NBD_FLUSH && refuse_part(handle, offset, length))
		return -1;
	return nbd_worker_do(handle, kind, offset, buffer, length, &failure) ? failed(&failure) : 0;
}

static int flush(void *handle, uint32_t flags)
{
	(void)flags;
	return request(handle, NBD_FLUSH, 0, NULL, 0);
}

/* In durable NVRAM it is so when it completes. */
static int force(void *handle, uint32_t flags)
{
	return flags & NBDKIT_FLAG_FUA && !nbd_worker_info(handle)->durable ? flush(handle, 0) : 0;
}

static int read_blocks(void *handle, void *buffer, uint32_t length, uint64_t offset, uint32_t flags)
{
	(void)flags;
	return request(handle, NBD_READ, offset, buffer, length);
}

static int write_blocks(void *handle, const void *buffer, uint32_t length, uint64_t offset, uint32_t flags)
{
	return request(handle, NBD_WRITE, offset, (void *)buffer, length) || force(handle, flags) ? -1 : 0;
}

static int trim(void *handle, uint32_t length, uint64_t offset, uint32_t flags)
{
	return request(handle, NBD_TRIM, offset, NULL, length) || force(handle, flags) ? -1 : 0;
}

static struct nbdkit_plugin plugin = {
	.name = "donard-cache",
	.longname = "donard write cache",
	.version = DONARD_VERSION,
	.description = "The drive behind a write cache that is reached by RDMA",
	.config = config,
	.config_complete = config_complete,
	.config_help = "server=ADDRESS     (required) The address at which 'donard-cli cache serve' listens.\n"
		       "port=N             Its port; default 7078.\n"
		       "depth=N            Requests in flight on each connection, 1 to 1024; default 64.\n"
		       "timeout=SECONDS    How long the server may be silent, and a new connection wait for a free part\n"
		       "                   of its log, 1 to 3600; default 10.",
	.magic_config_key = "server",
	.open = open_cache,
	.close = close_cache,
	.get_size = get_size,
	.block_size = block_size,
	.can_write = yes,
	.can_flush = yes,
	.can_trim = yes,
	.can_multi_conn = yes,
	.can_fua = can_fua,
	.is_rotational = no,
	.pread = read_blocks,
	.pwrite = write_blocks,
	.flush = flush,
	.trim = trim,
};

NBDKIT_REGISTER_PLUGIN(plugin)
