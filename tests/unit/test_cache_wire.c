// SPDX-License-Identifier: Apache-2.0
/* Messages between a client of a write cache and its server survive encoding, and wrong ones are refused. */
#include "unit.h"
#include "cache/wire.h"

#define NONCE 0xfedcba9876543210ULL

static const struct dnd_wire_offer sound_offer = {
	.flags = DND_WIRE_VOLATILE | DND_WIRE_READ_BACK, .depth = 64, .nonce = NONCE,
	.window_address = 0x7f0011223000ULL, .window_bytes = 1 << 20, .window_rkey = 0x01020304,
	.silence_ms = 10000, .block_bytes = 4096, .request_bytes_max = 256 << 10,
	.drive_bytes = 1ULL << 40, .identity = 0x1122334455667788ULL,
	.drive = "nvme1n1", .nvram = "p2pmem2",
};

static void offers_survive(void **state)
{
	uint8_t bytes[DND_WIRE_OFFER_BYTES + 20] = { 0 };	/* some transports pad */
	struct dnd_wire_offer seen;

	(void)state;
	dnd_wire_offer_encode(&sound_offer, bytes);
	assert_int_equal(dnd_wire_offer_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_int_equal(seen.flags, sound_offer.flags);
	assert_int_equal(seen.depth, 64);
	assert_true(seen.nonce == NONCE && seen.window_address == sound_offer.window_address);
	assert_int_equal(seen.window_bytes, 1 << 20);
	assert_int_equal(seen.window_rkey, 0x01020304);
	assert_int_equal(seen.silence_ms, 10000);
	assert_int_equal(seen.block_bytes, 4096);
	assert_int_equal(seen.request_bytes_max, 256 << 10);
	assert_true(seen.drive_bytes == 1ULL << 40 && seen.identity == sound_offer.identity);
	assert_string_equal(seen.drive, "nvme1n1");
	assert_string_equal(seen.nvram, "p2pmem2");
}

typedef void (*change_offer)(struct dnd_wire_offer *offer);

static void more_flags(struct dnd_wire_offer *offer) { offer->flags = 4; }
static void no_depth(struct dnd_wire_offer *offer) { offer->depth = 0; }
static void too_deep(struct dnd_wire_offer *offer) { offer->depth = DND_WIRE_DEPTH_MAX + 1; }
static void wraps(struct dnd_wire_offer *offer) { offer->window_address = UINT64_MAX - 5; }
static void no_window(struct dnd_wire_offer *offer) { offer->window_bytes = 0; }
static void part_window(struct dnd_wire_offer *offer) { offer->window_bytes += 512; }
static void too_quick(struct dnd_wire_offer *offer) { offer->silence_ms = 0; }
static void never(struct dnd_wire_offer *offer) { offer->silence_ms = UINT32_MAX; }
static void no_block(struct dnd_wire_offer *offer) { offer->block_bytes = 0; }
static void odd_block(struct dnd_wire_offer *offer) { offer->block_bytes = 4095; }
static void huge_block(struct dnd_wire_offer *offer) { offer->block_bytes = 1 << 20; }
static void no_request(struct dnd_wire_offer *offer) { offer->request_bytes_max = 0; }
static void part_request(struct dnd_wire_offer *offer) { offer->request_bytes_max = 4097; }
static void long_request(struct dnd_wire_offer *offer) { offer->request_bytes_max = 2 << 20; }
static void no_drive(struct dnd_wire_offer *offer) { offer->drive_bytes = 0; }
static void part_drive(struct dnd_wire_offer *offer) { offer->drive_bytes += 512; }
static void nameless(struct dnd_wire_offer *offer) { offer->drive[0] = '\0'; }
static void escapes(struct dnd_wire_offer *offer) { strcpy(offer->nvram, "\033[2Jp2pmem0"); }
static void unknown_status(struct dnd_wire_offer *offer) { offer->status = DND_WIRE_STATUS_COUNT; }

static void bad_offers(void **state)
{
	static const change_offer changes[] = {
		more_flags, no_depth, too_deep, wraps, no_window, part_window, too_quick, never, no_block,
		odd_block, huge_block, no_request, part_request, long_request, no_drive, part_drive,
		nameless, escapes, unknown_status,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct dnd_wire_offer offer = sound_offer, seen;
		uint8_t bytes[DND_WIRE_OFFER_BYTES];

		changes[i](&offer);
		dnd_wire_offer_encode(&offer, bytes);
		if (dnd_wire_offer_decode(&seen, bytes, sizeof(bytes)) != -EPROTO)
			fail_msg("change %zu of an offer was taken", i);
	}
}

static void short_and_foreign_offers(void **state)
{
	uint8_t bytes[DND_WIRE_OFFER_BYTES];
	struct dnd_wire_offer seen;

	(void)state;
	dnd_wire_offer_encode(&sound_offer, bytes);
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_int_equal(dnd_wire_offer_decode(&seen, bytes, length), -EPROTO);
	assert_int_equal(dnd_wire_offer_decode(&seen, NULL, 0), -EPROTO);
	bytes[5]++;
	assert_int_equal(dnd_wire_offer_decode(&seen, bytes, sizeof(bytes)), -EPROTONOSUPPORT);
	bytes[0]++;
	assert_int_equal(dnd_wire_offer_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
}

static void refusals_need_nothing_else(void **state)
{
	struct dnd_wire_offer refusal = { .status = DND_WIRE_BUSY }, seen;
	uint8_t bytes[DND_WIRE_OFFER_BYTES];

	(void)state;
	dnd_wire_offer_encode(&refusal, bytes);
	assert_int_equal(dnd_wire_offer_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_int_equal(seen.status, DND_WIRE_BUSY);
}

static void hellos(void **state)
{
	const struct dnd_wire_hello sent = { .depth = 77 };
	uint8_t bytes[DND_WIRE_HELLO_BYTES + 40] = { 0 };
	struct dnd_wire_hello seen;

	(void)state;
	dnd_wire_hello_encode(&sent, bytes);
	assert_int_equal(dnd_wire_hello_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_int_equal(seen.depth, 77);
	assert_int_equal(dnd_wire_hello_decode(&seen, bytes, DND_WIRE_HELLO_BYTES - 1), -EPROTO);
	assert_int_equal(dnd_wire_hello_decode(&seen, NULL, 0), -EPROTO);
	bytes[DND_WIRE_HELLO_BYTES - 1] = 1;
	assert_int_equal(dnd_wire_hello_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
	bytes[DND_WIRE_HELLO_BYTES - 1] = 0;
	bytes[5] = 9;
	assert_int_equal(dnd_wire_hello_decode(&seen, bytes, sizeof(bytes)), -EPROTONOSUPPORT);
	bytes[0] = 9;
	assert_int_equal(dnd_wire_hello_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
}

/* One of each type, with all that it may have. */
static const struct dnd_wire_message sound[] = {
	{ .type = DND_WIRE_WRITE, .id = 1, .drive_offset = 1ULL << 33, .length = 4096, .address = 8192,
	  .key = 0xdeadbeef },
	{ .type = DND_WIRE_READ, .id = 2, .drive_offset = 512, .length = 4096,
	  .address = 0x7f0011223344ULL, .key = 9 },
	{ .type = DND_WIRE_TRIM, .id = 3, .drive_offset = 512, .length = UINT64_MAX },
	{ .type = DND_WIRE_FLUSH, .id = 4, .flags = DND_WIRE_TO_DRIVE },
	{ .type = DND_WIRE_PING }, { .type = DND_WIRE_GOT }, { .type = DND_WIRE_BYE, .id = UINT32_MAX },
	{ .type = DND_WIRE_DONE, .id = 5, .status = DND_WIRE_MISMATCH, .flags = DND_WIRE_VOLATILE,
	  .released = UINT64_MAX },
	{ .type = DND_WIRE_ALIVE }, { .type = DND_WIRE_RELEASED, .released = 7, .status = DND_WIRE_DRIVE_FAILED },
	{ .type = DND_WIRE_WITHDRAWN, .status = DND_WIRE_REGION_GONE },
};

#define SOUND_COUNT (sizeof(sound) / sizeof(sound[0]))

static void messages_survive(void **state)
{
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES], again[DND_WIRE_MESSAGE_BYTES];
	struct dnd_wire_message sent, seen;

	(void)state;
	assert_int_equal(SOUND_COUNT, DND_WIRE_TYPE_END - 1);
	for (size_t i = 0; i < SOUND_COUNT; i++) {
		sent = sound[i];
		sent.nonce = NONCE;
		dnd_wire_encode(&sent, bytes);
		assert_int_equal(dnd_wire_decode(&seen, NONCE, bytes, sizeof(bytes)), 0);
		assert_int_equal(seen.type, sent.type);
		assert_int_equal(seen.status, sent.status);
		assert_int_equal(seen.id, sent.id);
		assert_int_equal(seen.flags, sent.flags);
		assert_true(seen.drive_offset == sent.drive_offset && seen.length == sent.length);
		assert_true(seen.address == sent.address && seen.released == sent.released);
		assert_int_equal(seen.key, sent.key);
		dnd_wire_encode(&seen, again);
		assert_memory_equal(again, bytes, sizeof(bytes));
	}
}

static int decode(struct dnd_wire_message message)
{
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES];
	struct dnd_wire_message seen;

	message.nonce = NONCE;
	dnd_wire_encode(&message, bytes);
	return dnd_wire_decode(&seen, NONCE, bytes, sizeof(bytes));
}

/* Sets one member that the type of @message, as sound[] shows, does not have. */
static void refuse_more(struct dnd_wire_message message)
{
	const struct dnd_wire_message has = message;

#define REFUSE(member, value) do {							\
		message = has;								\
		message.member = value;							\
		if (!has.member && decode(message) != -EPROTO)				\
			fail_msg("type %d was taken with " #member, has.type);		\
	} while (0)
	REFUSE(id, 1);
	REFUSE(drive_offset, 1);
	REFUSE(length, 1);
	REFUSE(address, 1);
	REFUSE(key, 1);
	REFUSE(status, DND_WIRE_BUSY);
	REFUSE(released, 1);
#undef REFUSE
}

static void bad_messages(void **state)
{
	struct dnd_wire_message message;

	(void)state;
	for (size_t i = 0; i < SOUND_COUNT; i++) {
		assert_int_equal(decode(sound[i]), 0);
		refuse_more(sound[i]);
		message = sound[i];
		message.flags ^= 2;
		assert_int_equal(decode(message), -EPROTO);
		message = sound[i];
		message.length = 0;
		assert_int_equal(decode(message), sound[i].length ? -EPROTO : 0);
		message = sound[i];
		message.status = DND_WIRE_STATUS_COUNT;
		assert_int_equal(decode(message), -EPROTO);
	}
	assert_int_equal(decode((struct dnd_wire_message){ .type = DND_WIRE_TYPE_END }), -EPROTO);
	assert_int_equal(decode((struct dnd_wire_message){ .id = 1 }), -EPROTO);
}

static void short_and_foreign_messages(void **state)
{
	struct dnd_wire_message message = { .type = DND_WIRE_PING, .nonce = NONCE }, seen;
	uint8_t bytes[DND_WIRE_MESSAGE_BYTES + 1] = { 0 };

	(void)state;
	dnd_wire_encode(&message, bytes);
	for (size_t length = 0; length <= sizeof(bytes); length++)
		assert_int_equal(dnd_wire_decode(&seen, NONCE, bytes, length),
				 length == DND_WIRE_MESSAGE_BYTES ? 0 : -EPROTO);
	assert_int_equal(dnd_wire_decode(&seen, NONCE, NULL, DND_WIRE_MESSAGE_BYTES), -EPROTO);
	assert_int_equal(dnd_wire_decode(&seen, NONCE + 1, bytes, DND_WIRE_MESSAGE_BYTES), -EPROTO);
	bytes[5]++;
	assert_int_equal(dnd_wire_decode(&seen, NONCE, bytes, DND_WIRE_MESSAGE_BYTES), -EPROTONOSUPPORT);
}

/* Any bytes are either refused or understood in full, and never read past their end. */
static void random_bytes(void **state)
{
	struct dnd_wire_message message;
	struct dnd_wire_hello hello;
	struct dnd_wire_offer offer;

	(void)state;
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		size_t length = (size_t)random() % 140;
		uint8_t *bytes = malloc(length + 1), again[DND_WIRE_MESSAGE_BYTES];

		for (size_t i = 0; i < length; i++)
			bytes[i] = (uint8_t)(i < 7 && round % 2 ? "DNWC\0\1\0"[i] : random() % 3 ? 0 : random());
		dnd_wire_hello_decode(&hello, bytes, length);
		if (!dnd_wire_offer_decode(&offer, bytes, length) && offer.status == DND_WIRE_OK)
			assert_true(offer.request_bytes_max <= offer.window_bytes);
		if (!dnd_wire_decode(&message, 0, bytes, length)) {
			dnd_wire_encode(&message, again);
			assert_memory_equal(again, bytes, length);
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offers_survive), cmocka_unit_test(bad_offers),
		cmocka_unit_test(short_and_foreign_offers),
		cmocka_unit_test(refusals_need_nothing_else), cmocka_unit_test(hellos),
		cmocka_unit_test(messages_survive), cmocka_unit_test(bad_messages),
		cmocka_unit_test(short_and_foreign_messages), cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests_name("cache wire", tests, NULL, NULL);
}
