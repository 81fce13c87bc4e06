// SPDX-License-Identifier: Apache-2.0
/* See settings.h.  The caller holds the driver's lock, except to read numbers and flags. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cufile/json.h"
#include "cufile/log.h"
#include "cufile/settings.h"

#define DEFAULT_PATH	"/etc/cufile.json"
#define KIB_MOST	(1ULL << 40)	/* 1 PiB */

/*
 * A size is a multiple of its unit; 4 (KiB) stands for whole pages.  @other: what the packaged libraries read, of 11.8 and 12.4,
 * where cufile.h names the parameter by @key.
 */
static const struct {
	const char *key;
	size_t value, least, most, unit;
	const char *other;
} sizes[CUF_SIZE_COUNT] = {
	[CUF_SIZE_STATS] = { "profile.cufile_stats", 0, 0, 3, 1 },
	[CUF_SIZE_QUEUE_DEPTH] = { "execution.max_io_queue_depth", 128, 1, 4096, 1 },
	[CUF_SIZE_THREADS] = { "execution.max_io_threads", 4, 0, 256, 1 },
	[CUF_SIZE_THRESHOLD_KIB] = { "execution.min_io_threshold_size_kb", 8192, 0, KIB_MOST, 1 },
	[CUF_SIZE_PARALLELISM] = { "execution.max_request_parallelism", 4, 0, 256, 1 },
	[CUF_SIZE_MAX_DIRECT_KIB] = { "properties.max_direct_io_size_kb", 16384, 4, 1 << 20, 4 },
	[CUF_SIZE_MAX_CACHE_KIB] = { "properties.max_device_cache_size_kb", 131072, 64, UINT32_MAX - 3, 4 },
	[CUF_SIZE_PER_BUFFER_CACHE_KIB] = { "properties.per_buffer_cache_size_kb", 1024, 64, 1 << 20, 4 },
	[CUF_SIZE_MAX_PINNED_KIB] = { "properties.max_device_pinned_mem_size_kb", 33554432, 4, SIZE_MAX - 3, 4 },
	[CUF_SIZE_BATCH] = { "properties.io_batchsize", 128, 1, 4096, 1 },
	[CUF_SIZE_POLL_KIB] = { "properties.poll_mode_max_size_kb", 4, 4, KIB_MOST, 4 },
	[CUF_SIZE_BATCH_TIMEOUT_MS] = { "properties.batch_io_timeout_ms", 0, 0, UINT32_MAX, 1,
					"properties.max_batch_io_timeout_msecs" },
};

static const struct {
	const char *key, *variable;
	bool value;
	const char *other;
} flags[CUF_FLAG_COUNT] = {
	[CUF_FLAG_POLL] = { "properties.use_poll_mode", NULL, false },
	[CUF_FLAG_ALLOW_COMPAT] = { "properties.allow_compat_mode", "CUFILE_ALLOW_COMPAT_MODE", false },
	[CUF_FLAG_FORCE_COMPAT] = { "properties.force_compat_mode", "CUFILE_FORCE_COMPAT_MODE", false },
	[CUF_FLAG_CHECK_AGGRESSIVE] = { "fs.misc_api_check_aggressive", NULL, false, "miscellaneous.api_check_aggressive" },
	[CUF_FLAG_PARALLEL] = { "execution.parallel_io", NULL, true },
	[CUF_FLAG_NVTX] = { "profile.nvtx", NULL, false },
	[CUF_FLAG_SYSTEM_MEMORY] = { "properties.allow_system_memory", NULL, true },
	[CUF_FLAG_P2PDMA] = { "properties.use_pci_p2pdma", NULL, false },
	[CUF_FLAG_IO_URING] = { "properties.prefer_iouring", NULL, true },
	[CUF_FLAG_FORCE_DIRECT] = { "properties.force_odirect_mode", NULL, true },
	[CUF_FLAG_SKIP_TOPOLOGY] = { "properties.skip_topology_detection", NULL, false,
				     "miscellaneous.skip_topology_detection" },
	[CUF_FLAG_MEMOPS_BYPASS] = { "properties.stream_memops_bypass", NULL, false,
				     "miscellaneous.stream_memops_bypass" },
};

static const struct {
	const char *key, *variable, *value;
} texts[CUF_TEXT_COUNT] = {
	[CUF_TEXT_LOG_LEVEL] = { "logging.level", "CUFILE_LOGGING_LEVEL", "ERROR" },
	[CUF_TEXT_LOG_FILE] = { NULL, "CUFILE_LOGFILE_PATH", "" },
	[CUF_TEXT_LOG_FOLDER] = { "logging.dir", NULL, "" },
};

static const char *const denied_keys[CUF_DENIED_COUNT] = {
	[CUF_DENIED_DEVICES] = "denylist.devices",
	[CUF_DENIED_MOUNTS] = "denylist.mounts",
	[CUF_DENIED_FILE_SYSTEMS] = "denylist.filesystems",
};

struct values {
	size_t sizes[CUF_SIZE_COUNT];
	bool flags[CUF_FLAG_COUNT];
	char texts[CUF_TEXT_COUNT][PATH_MAX];
};

static struct values now;
/* The values that the program set, and which ones it set. */
static struct values staged;
static struct {
	bool sizes[CUF_SIZE_COUNT], flags[CUF_FLAG_COUNT], texts[CUF_TEXT_COUNT];
} is_staged;
static bool loaded;
static char **denied[CUF_DENIED_COUNT];

static bool size_is_valid(size_t i, size_t value)
{
	return value >= sizes[i].least && value <= sizes[i].most && value % sizes[i].unit == 0;
}

/* ---- defaults, then cufile.json, then the environment, then what the program set ---- */

static void take_defaults(void)
{
	for (size_t i = 0; i < CUF_SIZE_COUNT; i++)
		__atomic_store_n(&now.sizes[i], sizes[i].value, __ATOMIC_RELAXED);
	for (size_t i = 0; i < CUF_FLAG_COUNT; i++)
		__atomic_store_n(&now.flags[i], flags[i].value, __ATOMIC_RELAXED);
	for (size_t i = 0; i < CUF_TEXT_COUNT; i++)
		snprintf(now.texts[i], sizeof(now.texts[i]), "%s", texts[i].value);
}

static int bad_value(const char *path, const char *key, const char *expected)
{
	cuf_log(CUF_LOG_ERROR, "%s: %s is not %s. Mend it, or leave it out.", path, key, expected);
	return CUF_DRIVER_INVALID_PROPS;
}

/* @failure: of the key; of -ENOTDIR its section is the cause. */
static int bad_key(const char *path, const char *key, int failure, const char *expected)
{
	char section[64];

	if (failure != -ENOTDIR)
		return bad_value(path, key, expected);
	snprintf(section, sizeof(section), "%.*s", (int)strcspn(key, "."), key);
	return bad_value(path, section, "an object");
}

static int take_size_by(const struct cuf_json *json, const char *path, size_t i, const char *key)
{
	char expected[96];
	uint64_t value;
	int rc = cuf_json_number(json, key, &value);

	if (rc == -ENOENT)
		return 0;
	if (!rc && size_is_valid(i, value)) {
		__atomic_store_n(&now.sizes[i], value, __ATOMIC_RELAXED);
		return 0;
	}
	snprintf(expected, sizeof(expected), "a multiple of %zu from %zu to %zu", sizes[i].unit, sizes[i].least,
		 sizes[i].most);
	return bad_key(path, key, rc, expected);
}

static int take_size(const struct cuf_json *json, const char *path, size_t i)
{
	int rc = take_size_by(json, path, i, sizes[i].key);

	return rc || !sizes[i].other ? rc : take_size_by(json, path, i, sizes[i].other);
}

static int take_flag_by(const struct cuf_json *json, const char *path, size_t i, const char *key)
{
	bool value;
	int rc = cuf_json_bool(json, key, &value);

	if (!rc)
		__atomic_store_n(&now.flags[i], value, __ATOMIC_RELAXED);
	return !rc || rc == -ENOENT ? 0 : bad_key(path, key, rc, "true or false");
}

static int take_flag(const struct cuf_json *json, const char *path, size_t i)
{
	int rc = take_flag_by(json, path, i, flags[i].key);

	return rc || !flags[i].other ? rc : take_flag_by(json, path, i, flags[i].other);
}

/* @path and @key: where the value comes from. */
static int check_text(const char *path, const char *key, size_t i)
{
	return i != CUF_TEXT_LOG_LEVEL || cuf_log_level_of(now.texts[i]) >= 0 ? 0 :
	       bad_value(path, key, "NOTICE, ERROR, WARN, INFO, DEBUG or TRACE");
}

static int take_text(const struct cuf_json *json, const char *path, size_t i)
{
	int rc = texts[i].key ? cuf_json_text(json, texts[i].key, now.texts[i], sizeof(now.texts[i])) : -ENOENT;

	if (!rc)
		return check_text(path, texts[i].key, i);
	return rc == -ENOENT ? 0 : bad_key(path, texts[i].key, rc, "a text");
}

static int take_denied(const struct cuf_json *json, const char *path, size_t i)
{
	int rc = cuf_json_list(json, denied_keys[i], &denied[i]);

	return !rc || rc == -ENOENT ? 0 : bad_key(path, denied_keys[i], rc, "a list of texts");
}

/* Refuses a list of what cannot be denied: if it were ignored, users would believe that it works. */
static int refuse_list(const struct cuf_json *json, const char *path, const char *key, const char *expected)
{
	char **list = NULL;
	int rc = cuf_json_list(json, key, &list);
	bool empty = rc == -ENOENT || (!rc && !list[0]);

	cuf_json_free_list(list);
	return empty ? 0 : bad_key(path, key, rc, expected);
}

static int take_all(const struct cuf_json *json, const char *path)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < CUF_SIZE_COUNT; i++)
		rc = take_size(json, path, i);
	for (size_t i = 0; !rc && i < CUF_FLAG_COUNT; i++)
		rc = take_flag(json, path, i);
	for (size_t i = 0; !rc && i < CUF_TEXT_COUNT; i++)
		rc = take_text(json, path, i);
	for (size_t i = 0; !rc && i < CUF_DENIED_COUNT; i++)
		rc = take_denied(json, path, i);
	if (!rc)
		rc = refuse_list(json, path, "denylist.drivers", "empty, and drivers cannot be denied here: denylist.devices names drives");
	return rc ? rc : refuse_list(json, path, "denylist.fsids", "empty, and identifiers of file systems cannot be denied here: "
				     "denylist.mounts names file systems");
}

/* NULL: it is not set, or empty, which many scripts do instead. */
static const char *variable(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && value[0] ? value : NULL;
}

/* A file that the environment names must exist; the default one need not. */
static int take_file(void)
{
	const char *named = variable("CUFILE_ENV_PATH_JSON");
	const char *path = named ? named : DEFAULT_PATH;
	char fault[256];
	struct cuf_json *json;
	int rc = cuf_json_open(path, &json, fault, sizeof(fault));

	if (rc == -ENOENT && path != named)
		return 0;
	if (rc) {
		cuf_log(CUF_LOG_ERROR, "%s: %s. Mend it, or let CUFILE_ENV_PATH_JSON name another file.", path,
			fault);
		return CUF_DRIVER_INVALID_PROPS;
	}
	rc = take_all(json, path);
	cuf_json_close(json);
	return rc;
}

static int take_variable_flag(size_t i)
{
	const char *value = variable(flags[i].variable);

	if (!value)
		return 0;
	if (strcmp(value, "true") && strcmp(value, "false"))
		return bad_value("environment", flags[i].variable, "true or false");
	__atomic_store_n(&now.flags[i], !strcmp(value, "true"), __ATOMIC_RELAXED);
	return 0;
}

static void take_variable_text(size_t i)
{
	const char *value = variable(texts[i].variable);

	if (value)
		snprintf(now.texts[i], sizeof(now.texts[i]), "%s", value);
}

static int take_environment(void)
{
	int rc = 0;

	for (size_t i = 0; i < CUF_TEXT_COUNT; i++)
		take_variable_text(i);
	for (size_t i = 0; !rc && i < CUF_FLAG_COUNT; i++)
		rc = take_variable_flag(i);
	for (size_t i = 0; !rc && i < CUF_TEXT_COUNT; i++)
		rc = check_text("environment", texts[i].variable, i);
	return rc;
}

static void take_staged(void)
{
	for (size_t i = 0; i < CUF_SIZE_COUNT; i++)
		if (is_staged.sizes[i])
			__atomic_store_n(&now.sizes[i], staged.sizes[i], __ATOMIC_RELAXED);
	for (size_t i = 0; i < CUF_FLAG_COUNT; i++)
		if (is_staged.flags[i])
			__atomic_store_n(&now.flags[i], staged.flags[i], __ATOMIC_RELAXED);
	for (size_t i = 0; i < CUF_TEXT_COUNT; i++)
		if (is_staged.texts[i])
			snprintf(now.texts[i], sizeof(now.texts[i]), "%s", staged.texts[i]);
}

static void begin_log(void)
{
	int level = cuf_log_level_of(now.texts[CUF_TEXT_LOG_LEVEL]);

	cuf_log_set(level < 0 ? CUF_LOG_ERROR : (enum cuf_level)level, now.texts[CUF_TEXT_LOG_FILE],
		    now.texts[CUF_TEXT_LOG_FOLDER]);
}

int cuf_settings_load(void)
{
	int rc;

	take_defaults();
	for (size_t i = 0; i < CUF_TEXT_COUNT; i++)
		take_variable_text(i);		/* so that a failure is written to the right log */
	take_staged();
	begin_log();
	rc = take_file();
	if (!rc)
		rc = take_environment();
	take_staged();
	begin_log();
	loaded = !rc;
	if (rc)
		cuf_settings_unload();
	return rc;
}

void cuf_settings_forget(void)
{
	memset(&is_staged, 0, sizeof(is_staged));
	cuf_settings_unload();
}

void cuf_settings_unload(void)
{
	for (size_t i = 0; i < CUF_DENIED_COUNT; i++) {
		cuf_json_free_list(denied[i]);
		denied[i] = NULL;
	}
	loaded = false;
}

/* ---- reading ---- */

size_t cuf_size(enum cuf_size parameter)
{
	if (!loaded && is_staged.sizes[parameter])
		return staged.sizes[parameter];
	return loaded ? __atomic_load_n(&now.sizes[parameter], __ATOMIC_RELAXED) : sizes[parameter].value;
}

bool cuf_flag(enum cuf_flag parameter)
{
	if (!loaded && is_staged.flags[parameter])
		return staged.flags[parameter];
	return loaded ? __atomic_load_n(&now.flags[parameter], __ATOMIC_RELAXED) : flags[parameter].value;
}

const char *cuf_text(enum cuf_text parameter)
{
	if (!loaded && is_staged.texts[parameter])
		return staged.texts[parameter];
	return loaded ? now.texts[parameter] : texts[parameter].value;
}

struct cuf_limits cuf_size_limits(enum cuf_size parameter)
{
	return (struct cuf_limits){ sizes[parameter].least, sizes[parameter].most };
}

char *const *cuf_settings_denied(enum cuf_denied list)
{
	return denied[list];
}

/* ---- changing ---- */

int cuf_size_change(enum cuf_size parameter, size_t value)
{
	if (!size_is_valid(parameter, value))
		return CUF_DRIVER_UNSUPPORTED_LIMIT;
	__atomic_store_n(&now.sizes[parameter], value, __ATOMIC_RELAXED);
	return 0;
}

void cuf_flag_change(enum cuf_flag parameter, bool value)
{
	__atomic_store_n(&now.flags[parameter], value, __ATOMIC_RELAXED);
}

int cuf_size_stage(enum cuf_size parameter, size_t value)
{
	if (!size_is_valid(parameter, value))
		return CUF_INVALID_VALUE;
	staged.sizes[parameter] = value;
	is_staged.sizes[parameter] = true;
	return 0;
}

int cuf_flag_stage(enum cuf_flag parameter, bool value)
{
	staged.flags[parameter] = value;
	is_staged.flags[parameter] = true;
	return 0;
}

int cuf_text_stage(enum cuf_text parameter, const char *text)
{
	if (strlen(text) >= PATH_MAX || (parameter == CUF_TEXT_LOG_LEVEL && cuf_log_level_of(text) < 0))
		return CUF_INVALID_VALUE;
	snprintf(staged.texts[parameter], sizeof(staged.texts[parameter]), "%s", text);
	is_staged.texts[parameter] = true;
	return 0;
}
