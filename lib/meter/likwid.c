// SPDX-License-Identifier: Apache-2.0
/*
 * The memory controllers' traffic, by likwid-perfctr's group MEM.
 *
 * likwid-perfctr starts the program that it wraps, stops it with a signal,
 * sets up its counters, prints a ruler below the processor's name, starts the
 * counters and lets the program go on.  A quick cat could answer before it is
 * stopped, so we wait for the ruler before we ask cat.
 * (likwid-perfctr of likwid 5.2.2, the part below "if use_wrapper".)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/sysfs.h"
#include "meter/tool.h"

#define SOCKETS_MAX	32
#define ECHO_LINE	"donard-meter"

struct likwid {
	struct dnd_tool tool;
	char cpus[SOCKETS_MAX * 6];	/* one CPU of each socket, because uncore counters are per socket */
	unsigned int sockets;
};

struct cpu_list {
	struct donard_context *ctx;
	struct likwid *likwid;
	uint64_t packages[SOCKETS_MAX];
};

static int add_cpu(void *user, const char *name)
{
	struct cpu_list *list = user;
	struct donard_context *ctx = list->ctx;
	struct likwid *likwid = list->likwid;
	size_t used = strlen(likwid->cpus);
	uint64_t package;

	if (strncmp(name, "cpu", 3) || dnd_meter_number(ctx, &package,
			"devices/system/cpu/%s/topology/physical_package_id", name))
		return 0;
	for (unsigned int i = 0; i < likwid->sockets; i++)
		if (list->packages[i] == package)
			return 0;
	if (likwid->sockets == SOCKETS_MAX)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "this machine has more than %d sockets.",
				SOCKETS_MAX);
	list->packages[likwid->sockets++] = package;
	snprintf(likwid->cpus + used, sizeof(likwid->cpus) - used, "%s%s", used ? "," : "",
		 name + 3);
	return 0;
}

static int find_sockets(struct donard_context *ctx, struct likwid *likwid)
{
	struct cpu_list list = { .ctx = ctx, .likwid = likwid };
	int rc = dnd_meter_each(ctx, "devices/system/cpu", add_cpu, &list);

	if (rc || likwid->sockets)
		return rc;
	likwid->sockets = 1;
	strcpy(likwid->cpus, "0");
	return 0;
}

/*
 * The names in likwid 5.2.2's groups/(architecture)/MEM.txt, where 1 GByte is 1e9
 * bytes.  Zen and Zen 2 have only the total.
 */
static const struct {
	enum donard_quantity quantity;
	const char *metric;
} metrics[] = {
	{ DONARD_DRAM_READ, "Memory read data volume [GBytes]," },
	{ DONARD_DRAM_READ, "Memory load data volume [GBytes]," },
	{ DONARD_DRAM_WRITTEN, "Memory write data volume [GBytes]," },
	{ DONARD_DRAM_WRITTEN, "Memory writeback data volume [GBytes]," },
	{ DONARD_DRAM_WRITTEN, "Memory evict data volume [GBytes]," },
	{ DONARD_DRAM_TOTAL, "Memory data volume [GBytes]," },
};

/* Broken memory channels report up to 1e19 (likwid's issue 262); no machine moves an exabyte in one measurement. */
#define GBYTES_MAX	1e9

/* Sums the columns of a row, one for each socket.  Returns what is wrong with them, or NULL. */
static const char *sum_row(const char *row, unsigned int sockets, double *gbytes)
{
	char *end;
	double value;

	*gbytes = 0;
	for (unsigned int i = 0; i < sockets; i++) {
		if (row[0] == '-' && (row[1] == ',' || row[1] == '\n'))
			return "was not measured on every socket";
		value = dnd_tool_number(row, &end);
		if (end == row || (*end != ',' && *end != '\n'))
			return "ends too early";
		if (!isfinite(value))
			return "is not a number";
		*gbytes += value;
		if (*end == '\n' && i + 1 < sockets)
			return "is not given for every socket";
		row = end + 1;
	}
	if (*gbytes < 0 || *gbytes > GBYTES_MAX)
		return "is beyond what memory can move";
	return *gbytes > 0 ? NULL : "is 0, which no running machine moves";
}

static const char *find_row(const char *csv, const char *metric)
{
	size_t length = strlen(metric);

	for (; csv; csv = strchr(csv, '\n')) {
		csv += *csv == '\n';
		if (strncmp(csv, metric, length) == 0)
			return csv + length;
	}
	return NULL;
}

void dnd_likwid_parse(const char *csv, unsigned int sockets, struct donard_measurement *result)
{
	const char *row, *wrong;
	uint32_t found = 0;
	double gbytes;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		row = find_row(csv, metrics[i].metric);
		if (!row)
			continue;
		found |= 1U << metrics[i].quantity;
		wrong = sum_row(row, sockets, &gbytes);
		if (wrong)
			dnd_missing(result, "likwid's '%.*s' %s.",
				    (int)strlen(metrics[i].metric) - 1, metrics[i].metric, wrong);
		else
			dnd_measured(result, metrics[i].quantity, (uint64_t)(gbytes * 1e9 + 0.5));
	}
	if (!found)
		dnd_missing(result, "likwid-perfctr printed no data volumes of the group MEM.");
	else if (found == 1U << DONARD_DRAM_TOTAL)
		dnd_missing(result, "likwid's group MEM does not tell reads from writes on this "
			    "processor.");
}

static int begin_likwid(struct donard_context *ctx, struct donard_meter *meter)
{
	struct likwid *likwid = meter->state;
	const char *const argv[] = {
		"likwid-perfctr", "-f", "-O", "-g", "MEM", "-c", likwid->cpus, "cat", NULL,
	};
	int rc = dnd_tool_start(ctx, &likwid->tool, argv);

	if (!rc)
		rc = dnd_tool_await(ctx, &likwid->tool, "CPU clock:", "\n-----");
	if (rc)
		return rc;
	dnd_tool_send(likwid->tool.input, ECHO_LINE "\n");
	return dnd_tool_await(ctx, &likwid->tool, NULL, ECHO_LINE);
}

/* Sets the counts, and the reasons for those that are missing; on failure only the reason. */
static int measure(struct donard_context *ctx, struct donard_meter *meter,
		   struct donard_measurement *result)
{
	struct likwid *likwid = meter->state;
	int rc = dnd_tool_finish(ctx, &likwid->tool);

	dnd_tool_kill(&likwid->tool);
	if (rc)
		dnd_missing(result, "%s", donard_error(ctx));
	else
		dnd_likwid_parse(likwid->tool.printed, likwid->sockets, result);
	return rc;
}

static int end_likwid(struct donard_context *ctx, struct donard_meter *meter,
		      struct donard_measurement *result)
{
	return dnd_tool_measured(result, measure(ctx, meter, result));
}

static void close_likwid(struct donard_meter *meter)
{
	struct likwid *likwid = meter->state;

	dnd_tool_kill(&likwid->tool);
	free(likwid);
}

static int open_likwid(struct donard_context *ctx, struct donard_meter *meter)
{
	struct likwid *likwid = calloc(1, sizeof(*likwid));
	int rc;

	if (!likwid)
		return dnd_meter_fail_memory(ctx);
	dnd_tool_init(&likwid->tool);
	meter->state = likwid;
	rc = find_sockets(ctx, likwid);
	if (!rc)
		rc = dnd_tool_try(ctx, meter, measure);
	if (rc)
		close_likwid(meter);
	return rc;
}

const struct dnd_meter_kind dnd_meter_likwid = {
	.name = "likwid", .open = open_likwid, .begin = begin_likwid, .end = end_likwid,
	.close = close_likwid,
};
