// SPDX-License-Identifier: Apache-2.0
/* See cache_nvram.h. */
#include "cache_nvram.h"

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
	struct nvram *nvram = (struct nvram *)store;

	if (!nvram->barriers++)
		nvram->writes_of_first_barrier = nvram->writes;
	return 0;
}

const struct dnd_cache_geometry nvram_geometry = {
	.length_bytes = NVRAM_BYTES, .windows = 2, .block_bytes = BLOCK,
	.drive_bytes = DRIVE_BYTES, .drive_id = "eui.0025385b71b00001",
};

int nvram_set_up(void **state)
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

int nvram_tear_down(void **state)
{
	struct nvram *nvram = *state;

	dnd_cache_close(&nvram->log);
	donard_close(nvram->ctx);
	free(nvram);
	return 0;
}

void open_new(struct nvram *nvram)
{
	assert_int_equal(dnd_cache_format(nvram->ctx, &nvram->store, &nvram_geometry), 0);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
	assert_int_equal(dnd_cache_begin(&nvram->log), 0);
}

int put_at(struct nvram *nvram, unsigned int window, uint64_t at, uint64_t block, uint64_t blocks)
{
	struct dnd_cache_entry entry = {
		.type = DND_CACHE_WRITE, .drive_offset = block * BLOCK, .length_bytes = blocks * BLOCK,
		.window = window, .at = at,
	};
	uint8_t *data = nvram->bytes + dnd_cache_window_at(&nvram->log, window) + at;
	uint64_t sequence;

	if (at + entry.length_bytes <= nvram->log.super.window_bytes) {
		memset(data, (int)(block + 1), entry.length_bytes);
		entry.checksum = dnd_cache_checksum(0, data, entry.length_bytes);
	}
	return dnd_cache_append(&nvram->log, &entry, &sequence);
}

int put(struct nvram *nvram, uint64_t block, uint64_t blocks)
{
	return put_at(nvram, 0, nvram->log.windows[0].head, block, blocks);
}

void reopen(struct nvram *nvram)
{
	dnd_cache_close(&nvram->log);
	assert_int_equal(dnd_cache_open(nvram->ctx, &nvram->store, &nvram->log), 0);
}

void three_groups(struct nvram *nvram)
{
	open_new(nvram);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(put(nvram, 10 * i, 2), 0);
		assert_int_equal(dnd_cache_commit(&nvram->log), 0);
	}
}
