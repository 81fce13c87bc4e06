// SPDX-License-Identifier: Apache-2.0
/* Percentiles out of a histogram: never below the true one, and at most a sixteenth above. */
#include "unit.h"
#include "cache/tally.h"

static void is_near(uint64_t expected, uint64_t seen)
{
	assert_in_range(seen, expected, expected + expected / 16 + 1);
}

static void percentiles(void **state)
{
	struct donard_cache_latency latency;
	struct dnd_tally *tally = calloc(1, sizeof(*tally));

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		dnd_tally_time(tally, ((i * 617) % 1000 + 1) * 1000);
	dnd_tally_latency(tally, &latency);
	assert_int_equal(latency.count, 1000);
	is_near(500000, latency.p50_ns);
	is_near(900000, latency.p90_ns);
	is_near(990000, latency.p99_ns);
	is_near(999000, latency.p999_ns);
	assert_int_equal(latency.max_ns, 1000000);
	free(tally);
}

/* Each time by itself, from nothing to the longest there is. */
static void every_size(void **state)
{
	struct donard_cache_latency latency;
	struct dnd_tally *tally = calloc(1, sizeof(*tally));

	(void)state;
	for (uint64_t ns = 0; ns < UINT64_MAX / 3; ns = ns * 2 + 3) {
		memset(tally, 0, sizeof(*tally));
		dnd_tally_time(tally, ns);
		dnd_tally_time(tally, ns);
		dnd_tally_latency(tally, &latency);
		assert_int_equal(latency.p50_ns, ns);
		assert_int_equal(latency.max_ns, ns);
	}
	free(tally);
}

static void nothing_yet(void **state)
{
	struct donard_cache_latency latency;
	struct dnd_tally *tally = calloc(1, sizeof(*tally));

	(void)state;
	dnd_tally_latency(tally, &latency);
	assert_int_equal(latency.count, 0);
	assert_int_equal(latency.p999_ns, 0);
	free(tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles), cmocka_unit_test(every_size), cmocka_unit_test(nothing_yet),
	};

	return cmocka_run_group_tests_name("cache tally", tests, NULL, NULL);
}
