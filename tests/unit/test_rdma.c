// SPDX-License-Identifier: Apache-2.0
/* The parts of RDMA that need no device: messages, test data, percentiles, addresses. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "unit.h"
#include "rdma/address.h"
#include "rdma/flow.h"
#include "rdma/heard.h"
#include "rdma/protocol.h"
#include "tool/rdma/latency.h"
#include "tool/rdma/pass.h"
#include "tool/rdma/pattern.h"

static const struct dnd_offer sound_offer = {
	.status = DND_STATUS_OK,
	.rights = DONARD_RDMA_WRITE,
	.rkey = 0x01020304,
	.address = 0x7f0011223344ULL,
	.length = 1ULL << 40,
	.nonce = 0xfedcba9876543210ULL,
	.silence_ms = 10000,
	.services = 5,
	.persistent = true,
	.target = "p2pmem0",
};

static void offers_survive(void **state)
{
	uint8_t bytes[DND_OFFER_BYTES + 100] = { 0 };	/* some transports pad */
	struct dnd_offer seen;

	(void)state;
	dnd_offer_encode(&sound_offer, bytes);
	assert_int_equal(dnd_offer_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_int_equal(seen.rights, sound_offer.rights);
	assert_int_equal(seen.rkey, sound_offer.rkey);
	assert_int_equal(seen.address, sound_offer.address);
	assert_int_equal(seen.length, sound_offer.length);
	assert_int_equal(seen.nonce, sound_offer.nonce);
	assert_int_equal(seen.silence_ms, sound_offer.silence_ms);
	assert_int_equal(seen.services, 5);
	assert_false(seen.dmabuf);
	assert_true(seen.persistent);
	assert_string_equal(seen.target, "p2pmem0");
}

static int decode_changed(void (*change)(struct dnd_offer *))
{
	struct dnd_offer offer = sound_offer, seen;
	uint8_t bytes[DND_OFFER_BYTES];

	change(&offer);
	dnd_offer_encode(&offer, bytes);
	return dnd_offer_decode(&seen, bytes, sizeof(bytes));
}

static void no_rights(struct dnd_offer *offer) { offer->rights = 0; }
static void more_rights(struct dnd_offer *offer) { offer->rights = 4; }
static void no_length(struct dnd_offer *offer) { offer->length = 0; }
static void wraps(struct dnd_offer *offer) { offer->address = UINT64_MAX - 5; }
static void too_quick(struct dnd_offer *offer) { offer->silence_ms = 0; }
static void never(struct dnd_offer *offer) { offer->silence_ms = UINT32_MAX; }
static void nameless(struct dnd_offer *offer) { offer->target[0] = '\0'; }
static void no_way_to_read_back(struct dnd_offer *offer) { offer->read_back = true; }
static void escapes(struct dnd_offer *offer) { strcpy(offer->target, "\033[2Jp2pmem0"); }
static void unknown_status(struct dnd_offer *offer) { offer->status = DND_STATUS_COUNT; }

static void bad_offers(void **state)
{
	void (*const changes[])(struct dnd_offer *) = {
		no_rights, more_rights, no_length, wraps, too_quick, never, nameless, escapes,
		no_way_to_read_back, unknown_status,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_int_equal(decode_changed(changes[i]), -EPROTO);
}

static void short_and_foreign_offers(void **state)
{
	uint8_t bytes[DND_OFFER_BYTES];
	struct dnd_offer seen;

	(void)state;
	dnd_offer_encode(&sound_offer, bytes);
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_int_equal(dnd_offer_decode(&seen, bytes, length), -EPROTO);
	assert_int_equal(dnd_offer_decode(&seen, NULL, 0), -EPROTO);
	bytes[5]++;
	assert_int_equal(dnd_offer_decode(&seen, bytes, sizeof(bytes)), -EPROTONOSUPPORT);
	bytes[0]++;
	assert_int_equal(dnd_offer_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
}

static void refusals_need_nothing_else(void **state)
{
	struct dnd_offer refusal = { .status = DND_STATUS_BUSY }, seen;
	uint8_t bytes[DND_OFFER_BYTES];

	(void)state;
	dnd_offer_encode(&refusal, bytes);
	assert_int_equal(dnd_offer_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_int_equal(seen.status, DND_STATUS_BUSY);
}

static void hellos(void **state)
{
	uint8_t bytes[DND_HELLO_BYTES + 40] = { 0 };
	struct dnd_hello seen;

	(void)state;
	dnd_hello_encode(&(struct dnd_hello){ 0 }, bytes);
	assert_int_equal(dnd_hello_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_false(seen.reads_optional);
	dnd_hello_encode(&(struct dnd_hello){ .reads_optional = true }, bytes);
	assert_int_equal(dnd_hello_decode(&seen, bytes, DND_HELLO_BYTES), 0);
	assert_true(seen.reads_optional);
	assert_int_equal(dnd_hello_decode(&seen, bytes, DND_HELLO_BYTES - 1), -EPROTO);
	assert_int_equal(dnd_hello_decode(&seen, NULL, 0), -EPROTO);
	bytes[DND_HELLO_BYTES - 1] = 1;
	assert_int_equal(dnd_hello_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
	bytes[DND_HELLO_BYTES - 1] = 0;
	bytes[7] = 2;	/* a flag that nobody knows */
	assert_int_equal(dnd_hello_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
	bytes[4] = 9;
	assert_int_equal(dnd_hello_decode(&seen, bytes, sizeof(bytes)), -EPROTONOSUPPORT);
}

static void messages(void **state)
{
	const struct dnd_message sent = {
		.type = DND_ASK, .status = DND_STATUS_STOPPED, .nonce = 7, .sequence = 9,
		.offset = 1ULL << 33, .length = UINT64_MAX, .value = 11, .word = 13, .durable = true, .resets = 17,
	};
	uint8_t bytes[DND_MESSAGE_BYTES], again[DND_MESSAGE_BYTES];
	struct dnd_message seen;

	(void)state;
	dnd_message_encode(&sent, bytes);
	assert_int_equal(dnd_message_decode(&seen, bytes, sizeof(bytes)), 0);
	assert_int_equal(seen.type, sent.type);
	assert_int_equal(seen.length, sent.length);
	assert_true(seen.durable);
	assert_int_equal(seen.resets, sent.resets);
	dnd_message_encode(&seen, again);
	assert_memory_equal(again, bytes, sizeof(bytes));
	assert_int_equal(dnd_message_decode(&seen, bytes, sizeof(bytes) - 1), -EPROTO);
	bytes[DND_MESSAGE_BYTES - 5] = 2;	/* a flag that nobody knows */
	assert_int_equal(dnd_message_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
	bytes[DND_MESSAGE_BYTES - 5] = 1;
	bytes[DND_MESSAGE_BYTES - 9] = 1;	/* reserved */
	assert_int_equal(dnd_message_decode(&seen, bytes, sizeof(bytes)), -EPROTO);
}

/* Neither end takes the other for its like. */
static void earlier_version(void **state)
{
	uint8_t hello[DND_HELLO_BYTES], offer[DND_OFFER_BYTES], message[DND_MESSAGE_BYTES];
	const struct dnd_message ping = { .type = DND_PING };
	struct dnd_message seen_message;
	struct dnd_offer seen_offer;
	struct dnd_hello seen_hello;

	(void)state;
	dnd_hello_encode(&(struct dnd_hello){ 0 }, hello);
	dnd_offer_encode(&sound_offer, offer);
	dnd_message_encode(&ping, message);
	hello[5] = offer[5] = message[5] = DND_RDMA_VERSION - 1;
	assert_int_equal(dnd_hello_decode(&seen_hello, hello, sizeof(hello)), -EPROTONOSUPPORT);
	assert_int_equal(dnd_offer_decode(&seen_offer, offer, sizeof(offer)), -EPROTONOSUPPORT);
	assert_int_equal(dnd_message_decode(&seen_message, message, sizeof(message)), -EPROTONOSUPPORT);
}

/* Any bytes are either refused or understood, and never read past their end. */
static void random_bytes(void **state)
{
	struct dnd_message message;
	struct dnd_offer offer;
	struct dnd_hello hello;
	uint8_t *bytes;

	(void)state;
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		size_t length = (size_t)random() % 100;

		bytes = malloc(length + 1);
		for (size_t i = 0; i < length; i++)
			bytes[i] = (uint8_t)(i < 6 && round % 2 ? "DNRD\0\5"[i] : random());
		dnd_hello_decode(&hello, bytes, length);
		dnd_message_decode(&message, bytes, length);
		if (!dnd_offer_decode(&offer, bytes, length) && offer.status == DND_STATUS_OK)
			assert_true(strnlen(offer.target, sizeof(offer.target)) <
				    sizeof(offer.target));
		free(bytes);
	}
}

static void ranges(void **state)
{
	(void)state;
	assert_true(dnd_range_fits(0, 10, 10));
	assert_true(dnd_range_fits(9, 1, 10));
	assert_false(dnd_range_fits(0, 0, 10));
	assert_false(dnd_range_fits(10, 1, 10));
	assert_false(dnd_range_fits(1, 10, 10));
	assert_false(dnd_range_fits(UINT64_MAX, 2, 10));
	assert_false(dnd_range_fits(2, UINT64_MAX, 10));
}

/* ---- how a server interprets messages ---- */

static int says(struct dnd_heard *heard, enum dnd_rdma_type type)
{
	const struct dnd_message message = { .type = type };

	return dnd_hear(heard, &message);
}

/* Does what the server does once it has answered. */
static void is_answered(struct dnd_heard *heard)
{
	heard->request.type = 0;
}

static void clients_take_and_leave(void **state)
{
	struct dnd_heard heard = { 0 };

	(void)state;
	assert_int_equal(dnd_heard_end(&heard), DONARD_RDMA_CLIENT_REFUSED);
	assert_int_equal(says(&heard, DND_PING), DND_HEARD_PING);
	assert_int_equal(says(&heard, DND_TAKE), 0);
	assert_int_equal(dnd_heard_end(&heard), DONARD_RDMA_CLIENT_LOST);
	assert_int_equal(says(&heard, DND_ASK), 0);
	assert_int_equal(heard.request.type, DND_ASK);
	assert_int_equal(says(&heard, DND_SYNC), -EPROTO);
	is_answered(&heard);
	assert_int_equal(says(&heard, DND_DONE), -EPROTO);
	assert_int_equal(says(&heard, DND_BYE), 0);
	is_answered(&heard);
	assert_int_equal(says(&heard, DND_SYNC), -EPROTO);
	assert_int_equal(says(&heard, DND_BYE), 0);
	assert_int_equal(dnd_heard_end(&heard), DONARD_RDMA_CLIENT_LEFT);
}

static void clients_leave_at_once(void **state)
{
	struct dnd_heard stranger = { 0 }, busy = { 0 };

	(void)state;
	assert_int_equal(says(&stranger, DND_ASK), -EPROTO);
	assert_int_equal(says(&stranger, DND_BYE), 0);
	assert_int_equal(dnd_heard_end(&stranger), DONARD_RDMA_CLIENT_REFUSED);
	says(&busy, DND_TAKE);
	says(&busy, DND_ASK);
	assert_int_equal(says(&busy, DND_BYE), -ECONNRESET);
	assert_int_equal(dnd_heard_end(&busy), DONARD_RDMA_CLIENT_LEFT);
}

/* A client without an answer gets none when the server takes its memory back, whatever is on its way. */
static void clients_are_cut_off(void **state)
{
	const enum dnd_rdma_type said[] = { DND_TAKE, DND_PING, DND_ASK, DND_BYE };
	struct dnd_heard late = { .took = true }, waits = { .took = true }, gone = { .took = true };

	(void)state;
	assert_true(dnd_heard_cut_off(&late));
	assert_false(dnd_heard_cut_off(&late));
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		assert_int_equal(says(&late, said[i]), 0);
	assert_int_equal(late.request.type, 0);
	assert_int_equal(dnd_heard_end(&late), DONARD_RDMA_CLIENT_LOST);
	says(&waits, DND_BYE);
	assert_true(dnd_heard_cut_off(&waits));
	assert_int_equal(dnd_heard_end(&waits), DONARD_RDMA_CLIENT_LOST);
	says(&gone, DND_BYE);
	is_answered(&gone);
	assert_false(dnd_heard_cut_off(&gone));
	assert_int_equal(dnd_heard_end(&gone), DONARD_RDMA_CLIENT_LEFT);
}

static void make(uint8_t *to, uint64_t seed, uint64_t position, size_t length)
{
	cli_rdma_pattern_make(to, (struct cli_rdma_pattern){ seed, position }, length);
}

/* A part of the pattern, made alone, is the part of the whole. */
static void pattern_has_positions(void **state)
{
	uint8_t whole[3 * 4096], part[3 * 4096];
	const size_t starts[] = { 0, 1, 7, 8, 4095, 4096, 5000 }, lengths[] = { 1, 3, 8, 13, 5000 };

	(void)state;
	make(whole, 42, 1000, sizeof(whole));
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			make(part, 42, 1000 + starts[i], lengths[j]);
			assert_memory_equal(part, whole + starts[i], lengths[j]);
		}
}

static void pattern_is_unlike(void **state)
{
	uint8_t one[4096], two[4096];

	(void)state;
	make(one, 1, 0, sizeof(one));
	make(two, 2, 0, sizeof(two));
	assert_memory_not_equal(one, two, 8);
	make(two, 1, 4096, sizeof(two));
	assert_memory_not_equal(one, two, 8);
	make(two, 1, 8, sizeof(two));
	assert_memory_not_equal(one, two, 8);
}

static int stop_it(void *user)
{
	(void)user;
	return -ECANCELED;
}

static void pattern_finds_the_byte(void **state)
{
	const size_t bytes = 200001, places[] = { 0, 1, 65535, 65536, 131071, 200000 };
	const struct cli_rdma_pattern pattern = { 5, 77 }, other = { 6, 77 };
	uint8_t *bytes_of = malloc(bytes);
	struct donard_memory *memory;
	struct donard_context *ctx;
	uint64_t where = 0;

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(donard_memory_from_host(ctx, bytes_of, bytes, &memory), 0);
	assert_int_equal(cli_rdma_pattern_fill(memory, 0, pattern, bytes, NULL, NULL), 0);
	assert_int_equal(cli_rdma_pattern_check(memory, 0, pattern, bytes, &where, NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		bytes_of[places[i]] ^= 0x10;
		assert_int_equal(cli_rdma_pattern_check(memory, 0, pattern, bytes, &where, NULL, NULL), 1);
		assert_int_equal(where, places[i]);
		bytes_of[places[i]] ^= 0x10;
	}
	assert_int_equal(cli_rdma_pattern_check(memory, 0, other, bytes, &where, NULL, NULL), 1);
	assert_int_equal(where, 0);
	assert_int_equal(cli_rdma_pattern_fill(memory, 0, pattern, bytes, stop_it, NULL), -ECANCELED);
	assert_int_equal(cli_rdma_pattern_fill(memory, 1, pattern, bytes, NULL, NULL), -ENXIO);
	donard_memory_free(memory);
	donard_close(ctx);
	free(bytes_of);
}

static void percentiles(void **state)
{
	struct cli_rdma_latency latency;
	uint64_t samples[1000];

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		samples[i] = (i * 617) % 1000 + 1;	/* 1 to 1000 in some order */
	cli_rdma_latency_summarise(samples, 1000, &latency);
	assert_int_equal(latency.min_ns, 1);
	assert_int_equal(latency.p50_ns, 500);
	assert_int_equal(latency.p90_ns, 900);
	assert_int_equal(latency.p99_ns, 990);
	assert_int_equal(latency.p999_ns, 999);
	assert_int_equal(latency.max_ns, 1000);
	samples[0] = 3;
	cli_rdma_latency_summarise(samples, 1, &latency);
	assert_int_equal(latency.min_ns, 3);
	assert_int_equal(latency.p999_ns, 3);
	cli_rdma_latency_summarise(samples, 0, &latency);
	assert_int_equal(latency.max_ns, 0);
}

static void requests_go_round(void **state)
{
	const struct cli_rdma_pass pass = { .length = 1000, .block = 300 };

	(void)state;
	assert_int_equal(cli_rdma_blocks(&pass), 4);
	assert_int_equal(cli_rdma_bytes(&pass, 0), 0);
	assert_int_equal(cli_rdma_bytes(&pass, 3), 900);
	assert_int_equal(cli_rdma_bytes(&pass, 4), 1000);
	assert_int_equal(cli_rdma_bytes(&pass, 5), 1300);
	assert_int_equal(cli_rdma_bytes(&pass, 8), 2000);
	for (uint64_t requests = 0; requests < 20; requests++)
		assert_int_equal(cli_rdma_requests(&pass, cli_rdma_bytes(&pass, requests)), requests);
	assert_int_equal(cli_rdma_requests(&pass, 899), 2);
	assert_int_equal(cli_rdma_requests(&pass, 999), 3);
}

#define MIB	(1ULL << 20)

/* The pieces of a request of @length bytes, in order: they cover it without a gap. */
static void takes_pieces(struct dnd_flow *flow, uint64_t length)
{
	const struct dnd_flow_request request = { .local = 1000, .remote = 5, .length = length, .lkey = 3, .reads = true };
	uint64_t at = 0, number = flow->pieces_posted;
	struct dnd_flow_piece piece;

	dnd_flow_add(flow, &request);
	while (at < length) {
		assert_true(flow->pieces_added > flow->pieces_posted);
		assert_int_equal(dnd_flow_next_length(flow), dnd_min(length - at, MIB));
		piece = dnd_flow_next(flow);
		assert_int_equal(piece.local, 1000 + at);
		assert_int_equal(piece.remote, 5 + at);
		assert_int_equal(piece.length, dnd_min(length - at, MIB));
		assert_int_equal(piece.lkey, 3);
		assert_true(piece.reads);
		assert_int_equal(piece.number, ++number);
		at += piece.length;
	}
	assert_int_equal(flow->pieces_added, flow->pieces_posted);
	assert_int_equal(flow->bytes_added, flow->bytes_posted);
}

static void large_requests_go_in_pieces(void **state)
{
	const uint64_t lengths[] = { 1, 300, MIB - 1, MIB, MIB + 1, 10 * MIB + 5 };
	struct dnd_flow flow;

	(void)state;
	assert_int_equal(dnd_flow_open(&flow, 12), 0);
	for (size_t i = 0; i < 3 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		takes_pieces(&flow, lengths[i % 6]);
		assert_false(dnd_flow_is_idle(&flow));
		dnd_flow_done(&flow, flow.pieces_posted);
		assert_true(dnd_flow_is_idle(&flow));
		assert_int_equal(flow.bytes_done, flow.bytes_added);
	}
	dnd_flow_close(&flow);
}

/* A request has completed when its last piece has; one completion speaks for all before it. */
static void completions_cover_what_came_before(void **state)
{
	struct dnd_flow flow;

	(void)state;
	assert_int_equal(dnd_flow_open(&flow, 5), 0);
	takes_pieces(&flow, 2 * MIB);
	takes_pieces(&flow, 10);
	takes_pieces(&flow, 20);
	dnd_flow_done(&flow, 1);
	assert_int_equal(flow.finished, 0);
	assert_int_equal(flow.bytes_done, MIB);
	dnd_flow_done(&flow, 3);
	assert_int_equal(flow.finished, 2);
	assert_int_equal(flow.bytes_done, 2 * MIB + 10);
	/* A request of which only a part was posted. */
	dnd_flow_add(&flow, &(struct dnd_flow_request){ .length = 2 * MIB });
	dnd_flow_next(&flow);
	dnd_flow_done(&flow, 5);
	assert_int_equal(flow.finished, 3);
	assert_false(dnd_flow_is_full(&flow));
	for (int i = 0; i < 4; i++)
		dnd_flow_add(&flow, &(struct dnd_flow_request){ .length = 1 });
	assert_true(dnd_flow_is_full(&flow));
	dnd_flow_close(&flow);
}

/* Slots of the queue pair: requests, or the parts of few large ones, within bounds. */
static void slots_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(cli_rdma_depth(65536, 16), 16);
	assert_int_equal(cli_rdma_depth(4 << 20, 16), 64);
	assert_int_equal(cli_rdma_depth(1 << 30, 16), 256);
	assert_int_equal(cli_rdma_depth(1 << 30, 4096), 4096);
}

static void default_range_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(cli_rdma_round_bytes(65536, 16), 1 << 20);
	assert_int_equal(cli_rdma_round_bytes(1 << 30, 4096), 1 << 30);
	assert_int_equal(cli_rdma_round_bytes(300 << 20, 16), 900 << 20);
}

static void addresses(void **state)
{
	struct donard_context *ctx;
	struct sockaddr_storage address;
	char text[DND_PEER_BYTES];

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	assert_int_equal(dnd_address_resolve(ctx, "127.0.0.1", 7077, &address), 0);
	assert_true(dnd_address_is_loopback((struct sockaddr *)&address));
	dnd_address_text((struct sockaddr *)&address, text);
	assert_string_equal(text, "127.0.0.1:7077");
	assert_int_equal(dnd_address_resolve(ctx, "::1", 1, &address), 0);
	assert_true(dnd_address_is_loopback((struct sockaddr *)&address));
	dnd_address_text((struct sockaddr *)&address, text);
	assert_string_equal(text, "[::1]:1");
	assert_int_equal(dnd_address_resolve(ctx, "192.0.2.1", 1, &address), 0);
	assert_false(dnd_address_is_loopback((struct sockaddr *)&address));
	assert_false(dnd_address_is_local((struct sockaddr *)&address));
	assert_int_equal(dnd_address_resolve(ctx, "::1%nosuch0", 1, &address), -EINVAL);
	assert_int_equal(dnd_address_resolve(ctx, "fe80::1%lo", 1, &address), 0);
	assert_int_equal(dnd_address_resolve(ctx, "fe80::1", 1, &address), -EINVAL);
	assert_non_null(strstr(donard_error(ctx), "fe80::1: it is a link-local address"));
	donard_close(ctx);
}

static void bad_options(void **state)
{
	const struct donard_rdma_connect_options good = {
		.size = sizeof(good), .address = "127.0.0.1", .rights = DONARD_RDMA_READ,
	};
	struct donard_rdma_client *client = NULL;
	struct donard_rdma_connect_options options;
	struct donard_context *ctx;

	(void)state;
	assert_int_equal(donard_open(&ctx, NULL), 0);
	options = good;
	options.rights = 0;
	assert_int_equal(donard_rdma_connect(ctx, &options, &client), -EINVAL);
	options = good;
	options.rights = DONARD_RDMA_LOCAL_WRITE;
	assert_int_equal(donard_rdma_connect(ctx, &options, &client), -EINVAL);
	options = good;
	options.address = NULL;
	assert_int_equal(donard_rdma_connect(ctx, &options, &client), -EINVAL);
	options = good;
	options.size = 0;
	assert_int_equal(donard_rdma_connect(ctx, &options, &client), -EINVAL);
	options = good;
	options.depth = 1000000;
	assert_int_equal(donard_rdma_connect(ctx, &options, &client), -EINVAL);
	assert_string_equal(donard_error_code(ctx), "bad-option");
	assert_null(client);
	donard_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offers_survive), cmocka_unit_test(bad_offers),
		cmocka_unit_test(short_and_foreign_offers),
		cmocka_unit_test(refusals_need_nothing_else), cmocka_unit_test(hellos),
		cmocka_unit_test(messages), cmocka_unit_test(earlier_version), cmocka_unit_test(random_bytes),
		cmocka_unit_test(clients_take_and_leave), cmocka_unit_test(clients_leave_at_once),
		cmocka_unit_test(clients_are_cut_off), cmocka_unit_test(ranges), cmocka_unit_test(pattern_has_positions),
		cmocka_unit_test(pattern_is_unlike), cmocka_unit_test(pattern_finds_the_byte),
		cmocka_unit_test(percentiles), cmocka_unit_test(requests_go_round),
		cmocka_unit_test(large_requests_go_in_pieces), cmocka_unit_test(completions_cover_what_came_before),
		cmocka_unit_test(slots_are_bounded), cmocka_unit_test(default_range_is_bounded),
		cmocka_unit_test(addresses), cmocka_unit_test(bad_options),
	};

	return cmocka_run_group_tests_name("rdma", tests, NULL, NULL);
}
