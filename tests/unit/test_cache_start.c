// SPDX-License-Identifier: Apache-2.0
/* What a server asks before it starts: what lies in the NVRAM and in other regions, and which drive it is. */
#include "cache_nvram.h"
#include "cache/backing.h"
#include "cache/others.h"

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

	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 0);
	open_new(nvram);
	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 0);
	open_new(nvram);
	assert_int_equal(put(nvram, 20, 1), 0);
	assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	assert_int_equal(claims(nvram, "eui.0025385b71b00002"), 0);
	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 1);
}

/* It may have had any. */
static void another_log_is_damaged(void **state)
{
	struct nvram *nvram = *state;

	open_new(nvram);
	for (unsigned int copy = 0; copy < DND_CACHE_COPIES; copy++)
		nvram->bytes[DND_CACHE_TAIL_AT(copy)] ^= 1;
	assert_int_equal(claims(nvram, nvram_geometry.drive_id), 1);
}

/* ---- names of drives ---- */

static void long_names(void **state)
{
	char one[DND_CACHE_DRIVE_ID_BYTES], other[DND_CACHE_DRIVE_ID_BYTES], text[200];

	(void)state;
	dnd_backing_fit(nvram_geometry.drive_id, one);
	assert_string_equal(one, nvram_geometry.drive_id);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		NVRAM_TEST(other_data_at_the_end), NVRAM_TEST(records_of_another_log), NVRAM_TEST(another_log_is_damaged),
		NVRAM_TEST(long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
