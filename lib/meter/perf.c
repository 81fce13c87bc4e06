// SPDX-License-Identifier: Apache-2.0
/*
 * The memory controllers' traffic, by perf stat and the kernel's uncore events.
 *
 * perf starts with its counters off, and switches them on and off by commands that
 * it acknowledges (perf-stat(1), --delay=-1 and --control, since Linux 5.9).  So it
 * counts nothing before begin() or after end().
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/sysfs.h"
#include "meter/tool.h"

#define DEVICES		"bus/event_source/devices"
#define EVENTS_MAX	128
#define ACKNOWLEDGED	"ack\n"

/* Counters without a unit count transfers of one cache line. */
#define LINE_BYTES	64

/*
 * The events and their devices, which have this name, or this name and _NUMBER.
 * Only the first family found is used, since others would count the same bytes again.
 *
 * Intel servers: the kernel's arch/x86/events/intel/uncore_snbep.c; Granite
 * Rapids has two events, one for each sub-channel.  Intel clients: uncore_snb.c,
 * snb_uncore_imc_events and, since Tiger Lake, free running counters.  All
 * these have the unit MiB, and perf scales them.
 *
 * AMD since Zen 4: the device is in arch/x86/events/amd/uncore.c, the events are
 * umc_cas_cmd.rd and .wr in perf's pmu-events/arch/x86/amdzen4/memory-controller.json;
 * recommended.json there multiplies them by 64 to get bytes.
 *
 * AMD's Zen to Zen 3 (amd_df) are left out: perf itself calls their sum approximate,
 * for one setting of NPS, and the eight events share four counters.
 */
static const struct {
	int family;
	const char *device, *event;
	enum donard_quantity quantity;
	bool by_number;		/* numbers, for which the kernel has no file in events/ */
} known_events[] = {
	{ 1, "uncore_imc", "cas_count_read", DONARD_DRAM_READ, false },
	{ 1, "uncore_imc", "cas_count_read_sch0", DONARD_DRAM_READ, false },
	{ 1, "uncore_imc", "cas_count_read_sch1", DONARD_DRAM_READ, false },
	{ 1, "uncore_imc", "cas_count_write", DONARD_DRAM_WRITTEN, false },
	{ 1, "uncore_imc", "cas_count_write_sch0", DONARD_DRAM_WRITTEN, false },
	{ 1, "uncore_imc", "cas_count_write_sch1", DONARD_DRAM_WRITTEN, false },
	{ 2, "uncore_imc", "data_reads", DONARD_DRAM_READ, false },
	{ 2, "uncore_imc", "data_writes", DONARD_DRAM_WRITTEN, false },
	{ 3, "uncore_imc_free_running", "data_read", DONARD_DRAM_READ, false },
	{ 3, "uncore_imc_free_running", "data_write", DONARD_DRAM_WRITTEN, false },
	{ 4, "amd_umc", "event=0x0a,rdwrmask=0x1", DONARD_DRAM_READ, true },
	{ 4, "amd_umc", "event=0x0a,rdwrmask=0x2", DONARD_DRAM_WRITTEN, true },
};

#define KNOWN_EVENTS	(sizeof(known_events) / sizeof(known_events[0]))
#define FAMILIES	4

struct perf {
	struct dnd_tool tool;
	int family;
	struct dnd_perf_event events[EVENTS_MAX];
	size_t event_count;
	char list[EVENTS_MAX * 48];	/* all of @events, for perf's -e */
};

static bool is_named(const char *device, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(device, name, length))
		return false;
	device += length;
	return !*device || (*device == '_' && device[1] &&
			    !device[1 + strspn(device + 1, "0123456789")]);
}

static int add_event(struct donard_context *ctx, struct perf *perf, const char *device,
		     const char *event, enum donard_quantity quantity)
{
	struct dnd_perf_event *added = &perf->events[perf->event_count];
	size_t used = strlen(perf->list);

	if (perf->event_count == EVENTS_MAX)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "this machine has more than %d events of "
				"memory controllers.", EVENTS_MAX);
	perf->event_count++;
	added->quantity = quantity;
	snprintf(added->name, sizeof(added->name), "%s/%s/", device, event);
	if ((size_t)snprintf(perf->list + used, sizeof(perf->list) - used, "%s%s",
			     used ? "," : "", added->name) >= sizeof(perf->list) - used)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "the names of this machine's memory "
				"controllers' events are too long.");
	return 0;
}

struct search {
	struct donard_context *ctx;
	struct perf *perf;
};

static int add_device(void *user, const char *device)
{
	struct search *search = user;
	struct perf *perf = search->perf;
	int rc = 0;

	for (size_t i = 0; !rc && i < KNOWN_EVENTS; i++)
		if (known_events[i].family == perf->family &&
		    is_named(device, known_events[i].device) &&
		    (known_events[i].by_number ||
		     dnd_meter_exists(search->ctx, DEVICES "/%s/events/%s", device, known_events[i].event)))
			rc = add_event(search->ctx, perf, device, known_events[i].event,
				       known_events[i].quantity);
	return rc;
}

static int find_events(struct donard_context *ctx, struct perf *perf)
{
	struct search search = { .ctx = ctx, .perf = perf };
	int rc = 0;

	for (perf->family = 1; perf->family <= FAMILIES; perf->family++) {
		rc = dnd_meter_each(ctx, DEVICES, add_device, &search);
		if (rc || perf->event_count)
			return rc;
	}
	return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s/" DEVICES " has no events of memory "
			"controllers: virtual machines have none; else try 'modprobe intel_uncore' "
			"or 'modprobe amd_uncore'.", donard_sysfs_root(ctx));
}

/* The sum of what perf printed for the events of one quantity. */
struct sum {
	double bytes;
	unsigned int rows;
	double least_percent;
	const char *wrong;
};

/* @line is "value,unit,name...,run time,percentage,..."; @name points behind the comma of the unit. */
static void add_row(struct sum *sum, const char *line, const char *name, size_t name_bytes)
{
	double value, percent, factor;
	int run_time_bytes = 0;
	char *end;

	sum->rows++;
	value = dnd_tool_number(line, &end);
	if (end == line || *end != ',') {
		sum->wrong = strncmp(line, "<not supported>", 15) ? "was not counted" :
			     "is not supported by this machine";
		return;
	}
	factor = strncmp(end, ",MiB,", 5) == 0 ? 1 << 20 : LINE_BYTES;
	if (strncmp(end, ",MiB,", 5) && strncmp(end, ",,", 2))
		sum->wrong = "has an unknown unit";
	if (!isfinite(value) || value < 0)
		sum->wrong = "is not a number";
	/* A modifier may follow the name: "/u". */
	name += name_bytes + strcspn(name + name_bytes, ",\n");
	sscanf(name, ",%*u,%n", &run_time_bytes);
	percent = dnd_tool_number(name + run_time_bytes, &end);
	if (!run_time_bytes || end == name + run_time_bytes || !*end)
		sum->wrong = "ends too early";
	else if (percent < sum->least_percent)
		sum->least_percent = percent;
	sum->bytes += value * factor;
}

/* The name itself may hold commas, so this compares it at the start of the third field. */
static const char *find_name(const char *line, const char *name)
{
	for (int field = 0; field < 2; field++) {
		line += strcspn(line, ",\n");
		if (*line++ != ',')
			return NULL;
	}
	return strncmp(line, name, strlen(name)) == 0 ? line : NULL;
}

static void add_event_rows(struct sum *sum, const char *csv, const char *event)
{
	unsigned int before = sum->rows;
	const char *name;

	for (const char *line = csv; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		name = find_name(line, event);
		if (name)
			add_row(sum, line, name, strlen(event));
	}
	if (sum->rows == before)
		sum->wrong = "was not printed";
}

static void conclude(const struct sum *sum, enum donard_quantity quantity,
		     struct donard_measurement *result)
{
	const char *wrong = sum->wrong;

	if (!wrong && sum->bytes < 1)
		wrong = "is 0, which no running machine moves";
	if (wrong)
		dnd_missing(result, "perf's %s %s.", donard_quantity_name(quantity), wrong);
	else if (sum->least_percent < 100)	/* perf estimates the rest */
		dnd_missing(result, "perf had counters for %s during %.0f %% of the time only: end other users of them.",
			    donard_quantity_name(quantity), sum->least_percent);
	else
		dnd_measured(result, quantity, (uint64_t)(sum->bytes + 0.5));
}

void dnd_perf_parse(const char *csv, const struct dnd_perf_event *events, size_t event_count,
		    struct donard_measurement *result)
{
	static const enum donard_quantity quantities[] = { DONARD_DRAM_READ, DONARD_DRAM_WRITTEN };
	const uint32_t both = 1U << DONARD_DRAM_READ | 1U << DONARD_DRAM_WRITTEN;

	for (int i = 0; i < 2; i++) {
		struct sum sum = { .least_percent = 100 };

		for (size_t j = 0; j < event_count; j++)
			if (events[j].quantity == quantities[i])
				add_event_rows(&sum, csv, events[j].name);
		conclude(&sum, quantities[i], result);
	}
	if ((result->known & both) == both)
		dnd_measured(result, DONARD_DRAM_TOTAL, result->count[DONARD_DRAM_READ] +
			     result->count[DONARD_DRAM_WRITTEN]);
}

static int begin_perf(struct donard_context *ctx, struct donard_meter *meter)
{
	struct perf *perf = meter->state;
	const char *const argv[] = {
		"perf", "stat", "-a", "-x,", "--log-fd=1", "--delay=-1", "--control=fd:3,1",
		"-e", perf->list, "--", "cat", NULL,
	};
	int rc = dnd_tool_start(ctx, &perf->tool, argv);

	if (rc)
		return rc;
	dnd_tool_send(perf->tool.control, "enable\n");
	return dnd_tool_await(ctx, &perf->tool, NULL, ACKNOWLEDGED);
}

static int measure(struct donard_context *ctx, struct donard_meter *meter,
		   struct donard_measurement *result)
{
	struct perf *perf = meter->state;
	int rc;

	dnd_tool_send(perf->tool.control, "disable\n");
	rc = dnd_tool_await(ctx, &perf->tool, ACKNOWLEDGED, "\n" ACKNOWLEDGED);
	if (!rc)
		rc = dnd_tool_finish(ctx, &perf->tool);
	dnd_tool_kill(&perf->tool);
	if (rc)
		dnd_missing(result, "%s", donard_error(ctx));
	else
		dnd_perf_parse(perf->tool.printed, perf->events, perf->event_count, result);
	return rc;
}

static int end_perf(struct donard_context *ctx, struct donard_meter *meter,
		    struct donard_measurement *result)
{
	return dnd_tool_measured(result, measure(ctx, meter, result));
}

static void close_perf(struct donard_meter *meter)
{
	struct perf *perf = meter->state;

	dnd_tool_kill(&perf->tool);
	free(perf);
}

static int open_perf(struct donard_context *ctx, struct donard_meter *meter)
{
	struct perf *perf = calloc(1, sizeof(*perf));
	int rc;

	if (!perf)
		return dnd_meter_fail_memory(ctx);
	dnd_tool_init(&perf->tool);
	meter->state = perf;
	rc = find_events(ctx, perf);
	if (!rc)
		rc = dnd_tool_try(ctx, meter, measure);
	if (rc)
		close_perf(meter);
	return rc;
}

const struct dnd_meter_kind dnd_meter_perf = {
	.name = "perf", .open = open_perf, .begin = begin_perf, .end = end_perf,
	.close = close_perf,
};
