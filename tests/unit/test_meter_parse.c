// SPDX-License-Identifier: Apache-2.0
/* Output of measuring tools (captured/, and worse) is turned into counts or into reasons. */
#include "unit.h"
#include "comma.h"
#include "meter/kind.h"
#include "says.h"

#define CAPTURED	"tests/unit/captured/"

static const struct dnd_perf_event xeon[] = {
	{ DONARD_DRAM_READ, "uncore_imc_0/cas_count_read/" },
	{ DONARD_DRAM_WRITTEN, "uncore_imc_0/cas_count_write/" },
	{ DONARD_DRAM_READ, "uncore_imc_1/cas_count_read/" },
	{ DONARD_DRAM_WRITTEN, "uncore_imc_1/cas_count_write/" },
};

static void read_captured(const char *name, char *text, size_t text_bytes)
{
	char path[128];
	size_t used;
	FILE *file;

	snprintf(path, sizeof(path), CAPTURED "%s", name);
	file = fopen(path, "r");
	assert_non_null(file);
	used = fread(text, 1, text_bytes - 1, file);
	text[used] = '\0';
	fclose(file);
}

static struct donard_measurement parse_likwid(const char *name, unsigned int sockets)
{
	struct donard_measurement result = { .size = sizeof(result) };
	char text[8192];

	read_captured(name, text, sizeof(text));
	dnd_likwid_parse(text, sockets, &result);
	return result;
}

static struct donard_measurement parse_perf(const char *name, const struct dnd_perf_event *events,
					    size_t count)
{
	struct donard_measurement result = { .size = sizeof(result) };
	char text[8192];

	read_captured(name, text, sizeof(text));
	dnd_perf_parse(text, events, count, &result);
	return result;
}

static void likwid_volumes(void **state)
{
	struct donard_measurement result = parse_likwid("likwid-zen2.csv", 1);

	(void)state;
	assert_int_equal(result.count[DONARD_DRAM_READ], 5595700000);
	assert_int_equal(result.count[DONARD_DRAM_WRITTEN], 5372700000);
	assert_int_equal(result.count[DONARD_DRAM_TOTAL], 10968400000);
	assert_string_equal(result.missing, "");
	result = parse_likwid("likwid-two-sockets.csv", 2);
	assert_int_equal(result.count[DONARD_DRAM_READ], 34935800000);
	assert_int_equal(result.count[DONARD_DRAM_WRITTEN], 44916100000);
	assert_int_equal(result.count[DONARD_DRAM_TOTAL], 79851900000);
	assert_int_equal(result.known, 1U << DONARD_DRAM_READ | 1U << DONARD_DRAM_WRITTEN |
			 1U << DONARD_DRAM_TOTAL);
}

static void likwid_without_volumes(void **state)
{
	struct donard_measurement result = parse_likwid("likwid-nan.csv", 1);

	(void)state;
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "'Memory data volume [GBytes]' is not a number.");
	result = parse_likwid("likwid-zeros.csv", 2);
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "is 0, which no running machine moves");
	result = parse_likwid("likwid-unsupported.stdout", 1);
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "printed no data volumes");
	/* One socket less than there are. */
	result = parse_likwid("likwid-zen2.csv", 2);
	assert_int_equal(result.known, 0);
}

static void likwid_rows(void **state)
{
	static const struct { const char *csv, *says; } rows[] = {
		{ "Memory data volume [GBytes],1.0,-,\n", "not measured on every socket" },
		{ "Memory data volume [GBytes],1.0\n", "not given for every socket" },
		{ "Memory data volume [GBytes],1.0,2.", "ends too early" },
		{ "Memory data volume [GBytes],", "ends too early" },
		{ "Memory data volume [GBytes],inf,1,\n", "not a number" },
		{ "Memory data volume [GBytes],1.88e+10,1,\n", "beyond what memory can move" },
		{ "Memory data volume [GBytes],-3,1,\n", "beyond what memory can move" },
	};
	struct donard_measurement result;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		result = (struct donard_measurement){ .size = sizeof(result) };
		dnd_likwid_parse(rows[i].csv, 2, &result);
		assert_int_equal(result.known, 0);
		assert_says(result.missing, rows[i].says);
	}
	result = (struct donard_measurement){ .size = sizeof(result) };
	dnd_likwid_parse("Memory data volume [GBytes],1e-05,2,\n", 2, &result);
	assert_int_equal(result.known, 1U << DONARD_DRAM_TOTAL);
	assert_int_equal(result.count[DONARD_DRAM_TOTAL], 2000010000);
	assert_says(result.missing, "does not tell reads from writes");
}

static void perf_counts(void **state)
{
	static const struct dnd_perf_event client[] = {
		{ DONARD_DRAM_READ, "uncore_imc_free_running_0/data_read/" },
		{ DONARD_DRAM_WRITTEN, "uncore_imc_free_running_0/data_write/" },
	};
	static const struct dnd_perf_event amd[] = {
		{ DONARD_DRAM_READ, "amd_umc_0/event=0x0a,rdwrmask=0x1/" },
		{ DONARD_DRAM_WRITTEN, "amd_umc_0/event=0x0a,rdwrmask=0x2/" },
	};
	struct donard_measurement result = parse_perf("perf-imc-sockets.csv", xeon, 4);

	(void)state;
	assert_int_equal(result.count[DONARD_DRAM_READ], 517409341);	/* 493.44 MiB */
	assert_int_equal(result.count[DONARD_DRAM_WRITTEN], 331423416);	/* 316.07 MiB */
	assert_int_equal(result.count[DONARD_DRAM_TOTAL], 517409341 + 331423416);
	assert_string_equal(result.missing, "");
	result = parse_perf("perf-client.csv", client, 2);
	assert_int_equal(result.count[DONARD_DRAM_READ], 268297767485);
	assert_int_equal(result.count[DONARD_DRAM_WRITTEN], 31457);
	result = parse_perf("perf-umc.csv", amd, 2);
	assert_int_equal(result.count[DONARD_DRAM_READ], 5602648 * 64);
	assert_int_equal(result.count[DONARD_DRAM_WRITTEN], 1024027 * 64);
}

/* An estimate is no count. */
static void perf_estimates(void **state)
{
	struct donard_measurement result = parse_perf("perf-multiplexed.csv", xeon, 2);

	(void)state;
	assert_int_equal(result.known, 1U << DONARD_DRAM_WRITTEN);
	assert_says(result.missing, "dram_read_bytes during 75 % of the time only");
	assert_null(strstr(result.missing, "dram_written_bytes"));
}

static void perf_without_counts(void **state)
{
	static const struct dnd_perf_event vm[] = {
		{ DONARD_DRAM_READ, "instructions" }, { DONARD_DRAM_WRITTEN, "cycles" },
	};
	static const struct dnd_perf_event idle[] = {
		{ DONARD_DRAM_READ, "cs" }, { DONARD_DRAM_WRITTEN, "task-clock" },
	};
	struct donard_measurement result = parse_perf("perf-vm.csv", vm, 2);

	(void)state;
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "dram_read_bytes is not supported");
	result = parse_perf("perf-not-counted.csv", idle, 2);
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "dram_written_bytes was not counted");
}

static void perf_rows(void **state)
{
	static const struct { const char *csv, *says; } rows[] = {
		{ "", "was not printed" },
		{ "1,MiB,uncore_imc_1/cas_count_read/,7,100.00,,\n", "was not printed" },
		{ "1,KiB,uncore_imc_0/cas_count_read/,7,100.00,,\n", "unknown unit" },
		{ "0,MiB,uncore_imc_0/cas_count_read/,7,100.00,,\n", "is 0" },
		{ "nan,MiB,uncore_imc_0/cas_count_read/,7,100.00,,\n", "not a number" },
		{ "1,MiB,uncore_imc_0/cas_count_read/,7,10", "ends too early" },
		{ "1,MiB,uncore_imc_0/cas_count_read/\n2,,x,7,100.00,,\n", "ends too early" },
		{ "ack\n\nack\n1,\nMiB,uncore_imc_0/cas_count_read/,7,100.00,,\n", "was not" },
		{ "garbage\n\xff,,\n", "was not printed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct donard_measurement result = { .size = sizeof(result) };

		dnd_perf_parse(rows[i].csv, xeon, 1, &result);
		assert_int_equal(result.known, 0);
		assert_says(result.missing, rows[i].says);
	}
}

static void missing_text_is_cut(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };

	(void)state;
	for (int i = 0; i < 100; i++)
		dnd_missing(&result, "%s", "Ninety-nine sentences.");
	assert_int_equal(strlen(result.missing), sizeof(result.missing) - 1);
}

static struct dnd_events parse_events(const char *text)
{
	FILE *stat = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct dnd_events events;

	assert_non_null(stat);
	events = dnd_events_parse(stat);
	fclose(stat);
	return events;
}

static void interrupts_and_switches(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct dnd_events start, now;

	(void)state;
	start = parse_events("cpu  1 2 3\nintr 1000 9 0 0 7\nctxt 50\nbtime 5\n");
	now = parse_events("intr 1300 9\nsoftirq 77 1\nctxt 61\n");
	dnd_events_measured(&start, &now, &result);
	assert_int_equal(result.known, 1U << DONARD_INTERRUPTS | 1U << DONARD_CONTEXT_SWITCHES);
	assert_int_equal(result.count[DONARD_INTERRUPTS], 300);
	assert_int_equal(result.count[DONARD_CONTEXT_SWITCHES], 11);
	assert_string_equal(result.missing, "");
}

static void no_interrupts(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct dnd_events start = parse_events("intr 1000\nctxt 50\n");
	struct dnd_events now = parse_events("ctxt 61\nintr many\n");

	(void)state;
	dnd_events_measured(&start, &now, &result);
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "Interrupts cannot be counted");
}

/* The tools print in the C locale, whatever the program has. */
#define IN_COMMAS(function)	cmocka_unit_test_setup_teardown(function, comma_setup, comma_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(likwid_volumes), cmocka_unit_test(likwid_without_volumes),
		cmocka_unit_test(likwid_rows), cmocka_unit_test(perf_counts),
		cmocka_unit_test(perf_estimates), cmocka_unit_test(perf_without_counts),
		cmocka_unit_test(perf_rows), cmocka_unit_test(missing_text_is_cut),
		cmocka_unit_test(interrupts_and_switches), cmocka_unit_test(no_interrupts),
		IN_COMMAS(likwid_volumes), IN_COMMAS(likwid_without_volumes), IN_COMMAS(likwid_rows),
		IN_COMMAS(perf_counts), IN_COMMAS(perf_estimates), IN_COMMAS(perf_without_counts), IN_COMMAS(perf_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
