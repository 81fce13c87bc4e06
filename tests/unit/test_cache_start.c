// SPDX-License-Identifier: Apache-2.0
/* What a server asks before it starts: what lies in the NVRAM and in other regions, and which drive it is. */
#include <errno.h>

#include "unit.h"
#include "cache/backing.h"
#include "cache/others.h"

#define BLOCK		4096U
#define NVRAM_BYTES	(512U << 10)
#define DRIVE_BYTES	(64U << 20)

struct nvram {
	struct dnd_cache_store store;
	uint8_t bytes[NVRAM_BYTES];
	unsigned int writes, barriers;
	struct donard_context *ctx;
	struct dnd_cache_log log;
};

static int nvram_read(struct dnd_cache_store *store, uint64_t at, void *to, size_t length)
{
	memcpy(to, ((struct nvram *)store)->bytes + at, length);
	return 0;
}

static int nvram_write(struct dnd_cache_store *store, uint64_t at, const void *from, size_t length)
{
	struct nvram *nvram = (struct nvram *)store;

	nvram->writes++;
	memcpy(nvram->bytes + at, from, length);
	return 0;
}

static int nvram_barrier(struct dnd_cache_store *store)
{
	((struct nvram *)store)->barriers++;
	return 0;
}

static const struct dnd_cache_geometry geometry = {
	.length_bytes = NVRAM_BYTES, .windows = 2, .block_bytes = BLOCK,
	.drive_bytes = DRIVE_BYTES, .drive_id = "eui.0025385b71b00001",
};

static int set_up(void **state)
{
	struct nvram *nvram = calloc(1, sizeof(*nvram));

	assert_non_null(nvram);
	nvram->store = (struct dnd_cache_store){
		.length_bytes = NVRAM_BYTES, .read = nvram_read, .write = nvram_write,
		.barrier = nvram_barrier,
	};
	assert_int_equal(donard_open(&nvram->ctx, NULL), 0);
	*state = nvram;
	return 0;
}

static int tear_down(void **state)
{
	struct nvram *nvram = *state;

	dnd_cache_close(&nvram->log);
	donard_close(nvram->ctx);
	free(nvram);
	return 0;
}

static void open_new(struct nvram *nvram)
{
	assert_int_equal(dnd_cache_format(nvram->ctx, &nvram->store, &geometry), 0);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
}

static void put(struct nvram *nvram, uint64_t block)
{
	uint8_t *data = nvram->bytes + dnd_cache_window_at(&nvram->log, 0);
	struct dnd_cache_entry entry = {
		.type = DND_CACHE_WRITE, .drive_offset = block * BLOCK, .length_bytes = BLOCK,
	};
	uint64_t sequence;

	memset(data, 1, BLOCK);
	entry.checksum = dnd_cache_checksum(0, data, BLOCK);
	assert_int_equal(dnd_cache_append(&nvram->log, &entry, &sequence), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
}

/* ---- what lies there ---- */

/* Not only where most things have their first bytes. */
static void other_data_at_the_end(void **state)
{
	struct nvram *nvram = *state;
	struct dnd_cache_super super;
	enum dnd_cache_found found;

	nvram->bytes[NVRAM_BYTES - 1] = 1;
	assert_int_equal(dnd_cache_look(nvram->ctx, &nvram->store, &super, &found), 0);
	assert_int_equal(found, DND_CACHE_FOUND_OTHER);
}

/* ---- logs of other regions ---- */

static int claims(struct nvram *nvram, const char *drive_id)
{
	int rc;

	dnd_cache_close(&nvram->log);
	nvram->writes = nvram->barriers = 0;
	rc = dnd_cache_claims_drive(nvram->ctx, &nvram->store, drive_id);
	assert_int_equal(nvram->writes + nvram->barriers, 0);
	return rc;
}

static void records_of_another_log(void **state)
{
	struct nvram *nvram = *state;

	assert_int_equal(claims(nvram, geometry.drive_id), 0);
	open_new(nvram);
	assert_int_equal(claims(nvram, geometry.drive_id), 0);
	open_new(nvram);
	put(nvram, 20);
	assert_int_equal(claims(nvram, "eui.0025385b71b00002"), 0);
	assert_int_equal(claims(nvram, geometry.drive_id), 1);
}

/* It may have had any. */
static void another_log_is_damaged(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++)
		nvram->bytes[DND_CACHE_TAIL_AT(copy)] ^= 1;
	assert_int_equal(claims(nvram, geometry.drive_id), 1);
}

/* ---- names of drives ---- */

static void long_names(void **state)
{
	char one[DND_CACHE_DRIVE_ID_BYTES], other[DND_CACHE_DRIVE_ID_BYTES], text[200];

	(void)state;
	dnd_backing_fit(geometry.drive_id, one);
	assert_string_equal(one, geometry.drive_id);
	memset(text, 'a', sizeof(text));
	text[DND_CACHE_DRIVE_ID_BYTES - 1] = '\0';
	dnd_backing_fit(text, one);
	assert_string_equal(one, text);
	text[DND_CACHE_DRIVE_ID_BYTES - 1] = 'a';
	strcpy(text + 190, "-00000001");
	dnd_backing_fit(text, one);
	text[198] = '2';
	dnd_backing_fit(text, other);
	assert_int_equal(strlen(one), DND_CACHE_DRIVE_ID_BYTES - 1);
	assert_int_equal(strlen(other), DND_CACHE_DRIVE_ID_BYTES - 1);
	assert_string_not_equal(one, other);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(other_data_at_the_end), TEST(records_of_another_log), TEST(another_log_is_damaged), TEST(long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
