// SPDX-License-Identifier: Apache-2.0
/* Meters of hardware: tools that work, refuse and misbehave; a fake resctrl; instructions. */
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "meter/kind.h"
#include "meter/tool.h"
#include "says.h"

#define CAPTURED	"tests/unit/captured/"
#define LIMIT_MS	(1000 * HANG_SECONDS)	/* for a tool that works as it should */

static bool is_known(const struct donard_measurement *result, enum donard_quantity quantity)
{
	return result->known & 1U << quantity;
}

/* A program of that name, first in PATH, that does what @script says. */
static void fake_tool(struct fake *fake, const char *name, const char *script)
{
	char path[PATH_MAX], text[2048], here[PATH_MAX / 4];

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(text, sizeof(text), "#!/bin/sh\nC=%s/" CAPTURED "\n%s", here, script);
	snprintf(path, sizeof(path), "bin/%s", name);
	fake_file(fake, path, text);
	snprintf(path, sizeof(path), "%s/bin/%s", fake->root, name);
	assert_int_equal(chmod(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", fake->root);
	setenv("PATH", path, 1);
}

#define LIKWID_BEGINS	"head -n 5 $C/likwid-zen2.csv; cat; "
#define LIKWID_WORKS	LIKWID_BEGINS "tail -n +6 $C/likwid-zen2.csv"
#define PERF_BEGINS	"read x <&3; [ $x = enable ] && printf 'ack\\n\\0'; "
#define PERF_STOPS	"read x <&3; [ $x = disable ] && printf 'ack\\n\\0'; "
#define PERF_WORKS	PERF_BEGINS PERF_STOPS "cat; cat $C/perf-imc-sockets.csv"

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static struct donard_measurement measure(struct fake *fake, const char *kind)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct donard_meter *meter;

	if (donard_meter_open(fake->ctx, kind, &meter))
		fail_msg("%s", donard_error(fake->ctx));
	assert_string_equal(donard_meter_name(meter), kind);
	assert_int_equal(donard_meter_begin(meter), 0);
	assert_int_equal(donard_meter_end(meter, &result), 0);
	donard_meter_close(meter);
	assert_no_children();
	assert_string_equal(result.meter, kind);
	assert_false(result.exact);
	return result;
}

static void runs_likwid(void **state)
{
	struct donard_measurement result;

	fake_tool(*state, "likwid-perfctr", "echo \"$@\" >$(dirname $0)/asked; " LIKWID_WORKS);
	result = measure(*state, "likwid");
	assert_int_equal(result.count[DONARD_DRAM_TOTAL], 10968400000);
	assert_false(is_known(&result, DONARD_DRAM_DMA_PAYLOAD));
	assert_says(result.missing, "likwid counts all DRAM traffic of the machine");
}

static void asks_likwid_for_each_socket(void **state)
{
	struct fake *fake = *state;
	char asked[128];

	for (int cpu = 0; cpu < 12; cpu++) {
		char path[128];

		snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/topology/"
			 "physical_package_id", cpu);
		fake_file(fake, path, cpu < 10 ? "0" : "1");
	}
	fake_file(fake, "devices/system/cpu/cpufreq/boost", "1");
	fake_tool(fake, "likwid-perfctr", "echo \"$LC_ALL $@\" >$(dirname $0)/asked\n"
		  "head -n 5 $C/likwid-two-sockets.csv; cat; tail -n +6 $C/likwid-two-sockets.csv");
	assert_int_equal(measure(fake, "likwid").count[DONARD_DRAM_TOTAL], 79851900000);
	assert_int_equal(dnd_sysfs_read(fake->ctx, asked, sizeof(asked), "bin/asked"), 0);
	assert_string_equal(asked, "C -f -O -g MEM -c 0,10 cat");
}

static void runs_perf(void **state)
{
	struct fake *fake = *state;
	struct donard_measurement result;
	char asked[256];

	for (int i = 0; i < 4; i++) {
		char path[128];

		snprintf(path, sizeof(path), "bus/event_source/devices/uncore_imc_%d/events/"
			 "cas_count_%s", i / 2, i % 2 ? "write" : "read");
		fake_file(fake, path, "event=0x04,umask=0x03");
	}
	/* An event that counts the same bytes again, and a device that is no memory controller. */
	fake_file(fake, "bus/event_source/devices/uncore_imc_free_running_0/events/data_read", "x");
	fake_file(fake, "bus/event_source/devices/uncore_imc_x/events/cas_count_read", "x");
	fake_tool(fake, "perf", "echo \"$@\" >$(dirname $0)/asked; " PERF_WORKS);
	result = measure(fake, "perf");
	assert_int_equal(result.count[DONARD_DRAM_READ], 517409341);
	assert_says(result.missing, "perf counts all DRAM traffic of the machine");
	assert_int_equal(dnd_sysfs_read(fake->ctx, asked, sizeof(asked), "bin/asked"), 0);
	assert_string_equal(asked, "stat -a -x, --log-fd=1 --delay=-1 --control=fd:3,1 -e "
			    "uncore_imc_0/cas_count_read/,uncore_imc_0/cas_count_write/,"
			    "uncore_imc_1/cas_count_read/,uncore_imc_1/cas_count_write/ -- cat");
}

static void runs_perf_on_amd(void **state)
{
	fake_folder(*state, "bus/event_source/devices/amd_umc_0");
	fake_tool(*state, "perf", PERF_BEGINS PERF_STOPS "cat; cat $C/perf-umc.csv");
	assert_int_equal(measure(*state, "perf").count[DONARD_DRAM_READ], 5602648 * 64);
}

/* Uses events that every machine has, under the names of those that this one lacks. */
static void runs_the_real_perf(void **state)
{
	struct donard_measurement result;

	if (system("/usr/bin/perf stat -a -e cs true >/dev/null 2>&1")) {
		print_message("/usr/bin/perf is missing or may not count here\n");
		skip();
	}
	fake_folder(*state, "bus/event_source/devices/amd_umc_0");
	fake_tool(*state, "perf", "/usr/bin/perf $1 $2 $3 $4 $5 $6 -e cs,cpu-clock -- cat | "
		  "sed -u -e 's|,cs,|,amd_umc_0/event=0x0a,rdwrmask=0x1/,|' "
		  "-e 's|msec,cpu-clock,|,amd_umc_0/event=0x0a,rdwrmask=0x2/,|'");
	result = measure(*state, "perf");
	assert_true(is_known(&result, DONARD_DRAM_WRITTEN));
}

static void with_signals_ignored(void **state)
{
	signal(SIGCHLD, SIG_IGN);
	fake_tool(*state, "likwid-perfctr", LIKWID_WORKS);
	assert_int_equal(measure(*state, "likwid").count[DONARD_DRAM_TOTAL], 10968400000);
	signal(SIGCHLD, SIG_DFL);
}

/* likwid-perfctr stops so when cat ends just before it goes to sleep. */
static void wakes_likwid(void **state)
{
	double start = dnd_now_seconds();

	fake_tool(*state, "likwid-perfctr", LIKWID_BEGINS "exec perl -e '$SIG{CHLD} = sub {}; "
		  "sleep 30; exec \"tail\", \"-n\", \"+6\", shift' $C/likwid-zen2.csv");
	measure(*state, "likwid");
	assert_true(dnd_now_seconds() - start < 15);
}

static void assert_refused(struct fake *fake, const char *kind, int rc, const char *says)
{
	struct donard_meter *meter = NULL;

	assert_int_equal(donard_meter_open(fake->ctx, kind, &meter), rc);
	assert_null(meter);
	assert_says(donard_error(fake->ctx), says);
	assert_no_children();
}

static void tools_that_refuse(void **state)
{
	struct fake *fake = *state;

	fake_tool(fake, "likwid-perfctr", "cat $C/likwid-unsupported.stdout; "
		  "cat $C/likwid-unsupported.stderr >&2; exit 1");
	assert_refused(fake, "likwid", -EOPNOTSUPP, "likwid-perfctr cannot count: Unsupported "
		       "Processor; No such file or directory; Exiting due to timeout");
	fake_tool(fake, "likwid-perfctr", "cat $C/likwid-no-msr.stderr >&2; exit 1");
	assert_refused(fake, "likwid", -EOPNOTSUPP, "Cannot access MSR device file");
	fake_tool(fake, "likwid-perfctr", "head -n 5 $C/likwid-nan.csv; cat; "
		  "tail -n +6 $C/likwid-nan.csv");
	assert_refused(fake, "likwid", -EOPNOTSUPP, "is not a number");
	fake_tool(fake, "likwid-perfctr", "head -n 5 $C/likwid-nan.csv; cat; "
		  "echo 'open /dev/cpu/0/msr: Permission denied' >&2; exit 1");
	assert_refused(fake, "likwid", -EACCES, "Run as root.");

	fake_folder(fake, "bus/event_source/devices/amd_umc_0");
	fake_tool(fake, "perf", "cat $C/perf-denied.stderr >&2; exit 255");
	assert_refused(fake, "perf", -EACCES, "Access to performance monitoring");
	assert_string_equal(donard_error_code(fake->ctx), "permission");
	fake_tool(fake, "perf", "cat $C/perf-no-pmu.stderr >&2; exit 129");
	assert_refused(fake, "perf", -EOPNOTSUPP, "Cannot find PMU");
	fake_tool(fake, "perf", PERF_BEGINS PERF_STOPS "cat");
	assert_refused(fake, "perf", -EOPNOTSUPP, "perf's dram_read_bytes was not printed");
}

static int ends_in_child(struct donard_meter *meter)
{
	struct donard_measurement result = { .size = sizeof(result) };
	bool refused = donard_meter_begin(meter) == -EPERM && donard_meter_end(meter, &result) == -EPERM && !result.known &&
		       strstr(result.missing, "belongs to the process that opened it");

	donard_meter_close(meter);
	return !refused;
}

/* One child ends the parent's measurement, and another still has the inherited descriptors when the parent ends it. */
static void children_leave_the_tool_alone(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct fake *fake = *state;
	struct donard_meter *meter;
	pid_t ending, staying;
	int status, rc;

	fake_folder(fake, "bus/event_source/devices/amd_umc_0");
	fake_tool(fake, "perf", PERF_BEGINS PERF_STOPS "cat; cat $C/perf-umc.csv");
	assert_int_equal(donard_meter_open(fake->ctx, "perf", &meter), 0);
	assert_int_equal(donard_meter_begin(meter), 0);
	ending = fork();
	if (!ending)
		_exit(ends_in_child(meter));
	assert_int_equal(waitpid(ending, &status, 0), ending);
	assert_int_equal(status, 0);
	staying = fork();
	while (!staying)
		pause();
	rc = donard_meter_end(meter, &result);
	kill(staying, SIGKILL);
	assert_int_equal(waitpid(staying, &status, 0), staying);
	assert_int_equal(rc, 0);
	assert_int_equal(result.count[DONARD_DRAM_READ], 5602648 * 64);
	donard_meter_close(meter);
	assert_no_children();
}

/* likwid-perfctr leaves cat stopped so when it cannot set its counters up. */
static void ends_what_likwid_stopped(void **state)
{
	struct fake *fake = *state;
	uint64_t pid;

	fake_tool(fake, "likwid-perfctr", "sleep 1000 >&- 2>&- & echo $! >$(dirname $0)/stopped; "
		  "kill -STOP $!; exit 1");
	assert_refused(fake, "likwid", -EOPNOTSUPP, "it printed nothing");
	assert_int_equal(dnd_sysfs_read_u64(fake->ctx, &pid, "bin/stopped"), 0);
	for (int i = 0; i < 100 * HANG_SECONDS && !kill((pid_t)pid, 0); i++)
		usleep(10000);
	assert_int_equal(kill((pid_t)pid, 0), -1);
}

static void tools_that_are_missing(void **state)
{
	struct fake *fake = *state;

	setenv("PATH", fake->root, 1);
	assert_refused(fake, "likwid", -EOPNOTSUPP, "likwid-perfctr is not installed");
	assert_refused(fake, "perf", -EOPNOTSUPP, "no events of memory controllers");
	fake_folder(fake, "bus/event_source/devices/amd_umc_0");
	assert_refused(fake, "perf", -EOPNOTSUPP, "perf is not installed");
}

static void tools_that_misbehave(void **state)
{
	static const struct { const char *script, *says; unsigned int limit_ms; } tools[] = {
		{ "exit 0", "cannot count: it printed nothing", LIMIT_MS },
		{ "kill -9 $$", "cannot count", LIMIT_MS },
		{ "head -c 300000 /dev/zero | tr '\\0' x", "cannot count: xxx", LIMIT_MS },
		{ "exec sleep 1000", "does not begin to count in time", 500 },
		{ "trap '' TERM INT; sleep 1000; true", "does not begin to count in time", 500 },
		{ LIKWID_BEGINS "kill -9 $$", "failed", LIMIT_MS },
		{ LIKWID_BEGINS "echo no; exit 3", "failed", LIMIT_MS },
		{ LIKWID_BEGINS "tail -n +6 $C/likwid-zen2.csv | head -c 300", "no data volumes", LIMIT_MS },
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		dnd_tool_limit_ms = tools[i].limit_ms;
		fake_tool(*state, "likwid-perfctr", tools[i].script);
		assert_refused(*state, "likwid", -EOPNOTSUPP, tools[i].says);
	}
}

/* Works for the trial, and fails when it counts. */
static void tools_that_fail_later(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct fake *fake = *state;
	struct donard_meter *meter;

	fake_tool(fake, "likwid-perfctr", LIKWID_WORKS);
	assert_int_equal(donard_meter_open(fake->ctx, "likwid", &meter), 0);
	result.known = 1;
	result.meter = NULL;
	assert_int_equal(donard_meter_end(meter, &result), -EINVAL);
	assert_string_equal(result.meter, "likwid");
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "Nothing was counted: this meter is not counting");
	fake_tool(fake, "likwid-perfctr", LIKWID_BEGINS "echo broken >&2; exit 1");
	assert_int_equal(donard_meter_begin(meter), 0);
	assert_int_equal(donard_meter_end(meter, &result), -EIO);
	assert_int_equal(result.known, 0);
	assert_says(result.missing, "likwid-perfctr failed: broken.");
	fake_tool(fake, "likwid-perfctr", LIKWID_BEGINS "exec sleep 1000");
	assert_int_equal(donard_meter_begin(meter), 0);
	dnd_tool_limit_ms = 500;	/* of the end alone */
	assert_int_equal(donard_meter_end(meter, &result), -EIO);
	dnd_tool_limit_ms = LIMIT_MS;
	assert_says(result.missing, "likwid-perfctr does not end in time");
	fake_tool(fake, "likwid-perfctr", LIKWID_BEGINS "sleep 1000");
	assert_int_equal(donard_meter_begin(meter), 0);
	donard_meter_close(meter);
	assert_no_children();
}

static void resctrl_files(struct fake *fake, const char *first, const char *second)
{
	fake_folder(fake, "fs/resctrl/info");
	fake_file(fake, "fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", first);
	fake_file(fake, "fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "562324232");
	fake_file(fake, "fs/resctrl/mon_groups/m1/mon_data/mon_L3_00/mbm_total_bytes", "5");
	fake_file(fake, "fs/resctrl/group1/mon_data/mon_L3_00/mbm_total_bytes", second);
}

static void counts_resctrl(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct fake *fake = *state;
	struct donard_meter *meter;

	resctrl_files(fake, "779247936", "100");
	assert_int_equal(donard_meter_open(fake->ctx, "resctrl", &meter), 0);
	assert_int_equal(donard_meter_begin(meter), 0);
	resctrl_files(fake, "779252032", "164");
	assert_int_equal(donard_meter_end(meter, &result), 0);
	assert_int_equal(result.count[DONARD_DRAM_CACHE], 4096 + 64);
	assert_false(is_known(&result, DONARD_DRAM_TOTAL));
	assert_says(result.missing, "does not count DMA");

	assert_int_equal(donard_meter_begin(meter), 0);
	assert_int_equal(donard_meter_end(meter, &result), 0);
	assert_false(is_known(&result, DONARD_DRAM_CACHE));
	assert_says(result.missing, "stood still");

	assert_int_equal(donard_meter_begin(meter), 0);
	resctrl_files(fake, "779247936", "Unavailable");
	assert_int_equal(donard_meter_end(meter, &result), -EIO);
	assert_false(is_known(&result, DONARD_DRAM_CACHE));
	assert_says(result.missing, "says 'Unavailable'");

	resctrl_files(fake, "779247936", "100");
	assert_int_equal(donard_meter_begin(meter), 0);
	fake_file(fake, "fs/resctrl/group2/mon_data/mon_L3_00/mbm_total_bytes", "1");
	assert_int_equal(donard_meter_end(meter, &result), 0);
	assert_says(result.missing, "groups changed");
	donard_meter_close(meter);
}

/* The sum rises all the same, by what the other groups moved meanwhile. */
static void other_groups_of_resctrl(void **state)
{
	struct donard_measurement result = { .size = sizeof(result) };
	char group[PATH_MAX], away[PATH_MAX];
	struct fake *fake = *state;
	struct donard_meter *meter;

	resctrl_files(fake, "1000", "500");
	assert_int_equal(donard_meter_open(fake->ctx, "resctrl", &meter), 0);
	assert_int_equal(donard_meter_begin(meter), 0);
	fake_file(fake, "fs/resctrl/group2/mon_data/mon_L3_00/mbm_total_bytes", "600");
	snprintf(group, sizeof(group), "%s/fs/resctrl/group1", fake->root);
	snprintf(away, sizeof(away), "%s/away", fake->root);
	assert_int_equal(rename(group, away), 0);
	assert_int_equal(donard_meter_end(meter, &result), 0);
	assert_false(is_known(&result, DONARD_DRAM_CACHE));
	assert_says(result.missing, "groups changed");

	assert_int_equal(donard_meter_begin(meter), 0);
	fake_file(fake, "fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "9000");
	fake_file(fake, "fs/resctrl/group2/mon_data/mon_L3_00/mbm_total_bytes", "100");
	assert_int_equal(donard_meter_end(meter, &result), 0);
	assert_false(is_known(&result, DONARD_DRAM_CACHE));
	assert_says(result.missing, "groups changed");
	donard_meter_close(meter);
}

static void refuses_resctrl(void **state)
{
	struct fake *fake = *state;

	assert_refused(fake, "resctrl", -EOPNOTSUPP, "has no resctrl");
	fake_folder(fake, "fs/resctrl");
	assert_refused(fake, "resctrl", -EOPNOTSUPP,
		       "mount -t resctrl resctrl /sys/fs/resctrl");
	fake_folder(fake, "fs/resctrl/info");
	assert_refused(fake, "resctrl", -EOPNOTSUPP, "does not monitor memory bandwidth");
	resctrl_files(fake, "Unassigned", "1");
	assert_refused(fake, "resctrl", -EOPNOTSUPP, "says 'Unassigned'");
	assert_says(donard_error(fake->ctx), "Assign a counter");
	resctrl_files(fake, "Error", "1");
	assert_refused(fake, "resctrl", -EOPNOTSUPP, "says 'Error'");
}

static void none_and_unknown(void **state)
{
	struct fake *fake = *state;
	struct donard_measurement result = measure(fake, "none");

	assert_int_equal(result.known & ~(1U << DONARD_INSTRUCTIONS_USER |
					  1U << DONARD_INSTRUCTIONS_KERNEL), 0);
	assert_says(result.missing, "'none' was asked for");
	assert_refused(fake, "dice", -EINVAL, "there is no meter 'dice'");
	assert_string_equal(donard_quantity_name(DONARD_DRAM_CACHE), "dram_cache_bytes");
	for (int i = 0; i < DONARD_QUANTITIES; i++)
		assert_non_null(donard_quantity_name(i));
	assert_null(donard_quantity_name(DONARD_QUANTITIES));
	donard_meter_close(NULL);
}

/* Nothing is there: the reasons of all are in what "none" tells. */
/* Returns the measurement of the meter that is chosen if no kind is available. */
static struct donard_measurement taken_without_any(struct fake *fake)
{
	struct donard_measurement result = { .size = sizeof(result) };
	struct donard_meter *meter;

	assert_int_equal(donard_meter_open(fake->ctx, NULL, &meter), 0);
	assert_string_equal(donard_meter_name(meter), "none");
	assert_int_equal(donard_meter_begin(meter), 0);
	assert_int_equal(donard_meter_end(meter, &result), 0);
	donard_meter_close(meter);
	return result;
}

static void the_best_of_none(void **state)
{
	struct donard_measurement result;
	struct fake *fake = *state;

	setenv("PATH", fake->root, 1);
	result = taken_without_any(fake);
	assert_says(result.missing, "likwid: likwid-perfctr is not installed");
	assert_says(result.missing, "perf: ");
	assert_says(result.missing, "resctrl: this kernel or processor has no resctrl");
}

/* A tool that is no program of this machine, and a counter that the processor does not let anybody read. */
static void the_best_of_broken_ones(void **state)
{
	struct donard_measurement result;
	struct fake *fake = *state;
	char path[PATH_MAX];

	fake_tool(fake, "perf", "");
	fake_file(fake, "bin/perf", "\x7f""ELF of nothing");
	snprintf(path, sizeof(path), "%s/bin", fake->root);
	setenv("PATH", path, 1);
	fake_folder(fake, "bus/event_source/devices/amd_umc_0");
	fake_folder(fake, "fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes");
	fake_folder(fake, "fs/resctrl/info");
	assert_refused(fake, "perf", -EOPNOTSUPP, "perf cannot be started: Exec format error");
	result = taken_without_any(fake);
	assert_says(result.missing, "perf: perf cannot be started");
	assert_says(result.missing, "mbm_total_bytes cannot be read");
}

/* The last of PATH is no folder. */
static void none_in_a_file(void **state)
{
	struct fake *fake = *state;
	struct donard_meter *meter;
	char path[PATH_MAX];

	fake_file(fake, "tool", "no folder");
	snprintf(path, sizeof(path), "%s:%s/tool", fake->root, fake->root);
	setenv("PATH", path, 1);
	assert_refused(fake, "likwid", -EOPNOTSUPP, "likwid-perfctr is not installed, or not in PATH");
	assert_int_equal(donard_meter_open(fake->ctx, NULL, &meter), 0);
	assert_string_equal(donard_meter_name(meter), "none");
	donard_meter_close(meter);
}

static void no_sysfs(void **state)
{
	struct donard_config config = { .size = sizeof(config), .sysfs_root = "/nowhere" };
	struct fake nowhere = { 0 };

	(void)state;
	assert_int_equal(donard_open(&nowhere.ctx, &config), 0);
	assert_refused(&nowhere, "perf", -EOPNOTSUPP, "/nowhere: no sysfs is mounted there");
	donard_close(nowhere.ctx);
}

/* Round what a copy or an RDMA transfer times. */
static void intervals(void **state)
{
	struct fake *fake = *state;
	struct donard_measurement result = { .size = sizeof(result) };
	struct donard_metering metering = { .size = sizeof(metering), .measurement = &result };
	struct donard_payload payload[DND_METER_OWN_MAX + 1] = { { &result, sizeof(result) }, { fake, sizeof(*fake) } };
	struct donard_interval interval = { .size = sizeof(interval), .ctx = fake->ctx, .payload = payload, .payload_count = 2 };

	assert_int_equal(donard_meter_interval_begin(&metering, &interval), 0);
	assert_int_equal(donard_meter_interval_end(&metering, &interval, 0), 0);
	assert_null(result.meter);
	assert_int_equal(donard_meter_open(fake->ctx, "none", &metering.meter), 0);
	for (int round = 0; round < 2; round++) {
		result.meter = NULL;
		assert_int_equal(donard_meter_interval_begin(&metering, &interval), 0);
		assert_int_equal(metering.meter->own_count, 2);
		assert_ptr_equal(metering.meter->own[1].memory, fake);
		assert_int_equal(metering.meter->own[1].bytes, sizeof(*fake));
		assert_int_equal(donard_meter_interval_begin(&metering, &interval), -EBUSY);
		assert_int_equal(metering.meter->own_count, 2);
		assert_int_equal(donard_meter_interval_end(&metering, &interval, -EIO), 0);
		assert_string_equal(result.meter, "none");
		assert_int_equal(metering.meter->own_count, 0);
	}
	interval.payload_count = DND_METER_OWN_MAX + 1;
	assert_int_equal(donard_meter_interval_begin(&metering, &interval), -ENOSPC);
	assert_int_equal(metering.meter->own_count, 0);
	interval.payload_count = 0;
	assert_int_equal(donard_open(&interval.ctx, NULL), 0);
	assert_int_equal(donard_meter_interval_begin(&metering, &interval), -EINVAL);
	assert_says(donard_error(interval.ctx), "opened with another context");
	donard_close(interval.ctx);
	interval.ctx = fake->ctx;
	result.size = 0;
	assert_int_equal(donard_meter_interval_begin(&metering, &interval), -EINVAL);
	metering.measurement = NULL;
	assert_int_equal(donard_meter_interval_begin(&metering, &interval), -EINVAL);
	assert_says(donard_error(fake->ctx), "a meter without a measurement");
	donard_meter_close(metering.meter);
}

/* Either a count or a reason, never both and never neither. */
static void instructions(void **state)
{
	struct donard_measurement result = measure(*state, "none");
	bool said = strstr(result.missing, "nstructions");

	assert_true(said != (is_known(&result, DONARD_INSTRUCTIONS_USER) &&
			     is_known(&result, DONARD_INSTRUCTIONS_KERNEL)));
}

/* Virtual machines have no counter of instructions: the same way with a clock of the kernel's. */
static void instructions_by_a_clock(void **state)
{
	struct donard_meter meter = { .kind = &dnd_meter_none, .instruction_fds = { 0, -EACCES } };
	struct donard_measurement result = { .size = sizeof(result) };
	clock_t start;

	(void)state;
	meter.instruction_fds[0] = dnd_count_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
						  false);
	if (meter.instruction_fds[0] < 0) {
		print_message("perf events: %s\n", strerror(-meter.instruction_fds[0]));
		skip();
	}
	for (int round = 0; round < 2; round++) {
		result.known = 0;
		dnd_instructions_begin(&meter);
		start = clock();
		while (clock() < start + CLOCKS_PER_SEC / 50)
			;
		dnd_instructions_end(&meter, &result);
		assert_int_equal(result.known, 1U << DONARD_INSTRUCTIONS_USER);
		assert_in_range(result.count[DONARD_INSTRUCTIONS_USER], 15000000, 35000000);
	}
	dnd_instructions_close(&meter);
	assert_says(result.missing, "Instructions of the kernel cannot be counted: ");
	assert_says(result.missing, "/proc/sys/kernel/perf_event_paranoid is ");
}

/* Asserts the text for perf events that are refused at this level, to root or to another user. */
static void assert_refusal(bool is_root, int paranoid, bool of_container)
{
	struct donard_measurement result = { .size = sizeof(result) };
	char level[128];

	dnd_instructions_refused(&result, "Instructions", is_root, paranoid);
	snprintf(level, sizeof(level), "/proc/sys/kernel/perf_event_paranoid is %d", paranoid);
	assert_says(result.missing, "Instructions cannot be counted: ");
	assert_says(result.missing, level);
	assert_true(of_container == !!strstr(result.missing, "In a container"));
	assert_true(of_container == !!strstr(result.missing, "CAP_PERFMON"));
	assert_true(of_container == !strstr(result.missing, "Run as root"));
}

/* The text does not advise root to run as root, nor to lower a level that is low enough. */
static void instructions_that_are_refused(void **state)
{
	(void)state;
	assert_refusal(false, 3, false);
	assert_refusal(false, 2, false);
	assert_refusal(false, 1, true);
	assert_refusal(true, 2, true);
	assert_refusal(true, -1, true);
}

/* A counter that reads as if these were its counts, one after the other. */
static int counter_with(const struct dnd_event_count counts[], size_t count)
{
	size_t bytes = count * sizeof(counts[0]);
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], counts, bytes), bytes);
	close(ends[1]);
	return ends[0];
}

/* Among other users of the counters, or on the other kind of core. */
static void instructions_for_part_of_the_time(void **state)
{
	static const struct dnd_event_count counts[2][2] = {
		{ { 5, 20, 20 }, { 9, 50, 50 } }, { { 5, 20, 20 }, { 9, 50, 40 } },
	};
	struct donard_meter meter = { .kind = &dnd_meter_none };
	struct donard_measurement result = { .size = sizeof(result) };

	(void)state;
	for (int i = 0; i < 2; i++)
		meter.instruction_fds[i] = counter_with(counts[i], 2);
	dnd_instructions_begin(&meter);
	dnd_instructions_end(&meter, &result);
	dnd_instructions_close(&meter);
	assert_int_equal(result.known, 1U << DONARD_INSTRUCTIONS_USER);
	assert_int_equal(result.count[DONARD_INSTRUCTIONS_USER], 4);
	assert_says(result.missing, "Instructions of the kernel cannot be counted: they had a counter only part of the time.");
	assert_says(result.missing, "End other users of perf events");
	assert_says(result.missing, "two kinds of cores");
}

/* A failure to read them has another reason. */
static void instructions_that_cannot_be_read(void **state)
{
	static const struct dnd_event_count counts[1] = { { 5, 20, 20 } };
	struct donard_meter meter = { .kind = &dnd_meter_none };
	struct donard_measurement result = { .size = sizeof(result) };

	(void)state;
	for (int i = 0; i < 2; i++)
		meter.instruction_fds[i] = counter_with(counts, 1);
	dnd_instructions_begin(&meter);
	dnd_instructions_end(&meter, &result);
	dnd_instructions_close(&meter);
	assert_int_equal(result.known, 0);
	assert_string_equal(result.missing, "Instructions cannot be counted: Input/output error.");
}

static int setup(void **state)
{
	dnd_tool_limit_ms = LIMIT_MS;
	return fake_setup(state);
}

#define TEST(function)	cmocka_unit_test_setup_teardown(function, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runs_likwid), TEST(asks_likwid_for_each_socket), TEST(runs_perf),
		TEST(runs_perf_on_amd), TEST(runs_the_real_perf), TEST(with_signals_ignored),
		TEST(wakes_likwid), TEST(children_leave_the_tool_alone), TEST(ends_what_likwid_stopped),
		TEST(tools_that_refuse), TEST(tools_that_are_missing),
		TEST(tools_that_misbehave), TEST(tools_that_fail_later), TEST(counts_resctrl),
		TEST(other_groups_of_resctrl), TEST(refuses_resctrl), TEST(none_and_unknown), TEST(the_best_of_none), TEST(none_in_a_file),
		TEST(the_best_of_broken_ones),
		TEST(instructions), TEST(instructions_by_a_clock), TEST(instructions_for_part_of_the_time),
		TEST(instructions_that_cannot_be_read), TEST(instructions_that_are_refused), TEST(intervals), TEST(no_sysfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
