// SPDX-License-Identifier: Apache-2.0
/*
 * Instructions of the thread that opens the meter, and of the threads and programs that it starts from then on, by
 * perf events.  That includes the tools of meter/tool.c, but they sleep while we count.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "meter/kind.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

static const enum donard_quantity quantities[2] = {
	DONARD_INSTRUCTIONS_USER, DONARD_INSTRUCTIONS_KERNEL,
};

/* inherit: threads and programs that this thread starts from now on are counted too. */
int dnd_count_open(uint32_t type, uint64_t config, bool kernel)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = config,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = !kernel,
		.exclude_user = kernel,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

void dnd_instructions_open(struct donard_meter *meter)
{
	for (int i = 0; i < 2; i++)
		meter->instruction_fds[i] = meter->kind->counts_instructions ? -EALREADY :
			dnd_count_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, i == 1);
}

static bool read_count(int fd, struct dnd_event_count *now)
{
	return read(fd, now, sizeof(*now)) == (ssize_t)sizeof(*now);
}

/* Returns an errno: EBUSY if the event did not have a counter during all the time that it was enabled since @start. */
static int count_since(int fd, const struct dnd_event_count *start, uint64_t *count)
{
	struct dnd_event_count now;

	if (!read_count(fd, &now))
		return EIO;
	*count = now.count - start->count;
	return now.running_ns - start->running_ns == now.enabled_ns - start->enabled_ns ? 0 : EBUSY;
}

/* A reset would leave the counts of children that have ended, so this notes the start instead. */
void dnd_instructions_begin(struct donard_meter *meter)
{
	for (int i = 0; i < 2; i++)
		if (meter->instruction_fds[i] >= 0) {
			read_count(meter->instruction_fds[i], &meter->instruction_start[i]);
			ioctl(meter->instruction_fds[i], PERF_EVENT_IOC_ENABLE, 0);
		}
}

static int paranoid_level(void)
{
	FILE *file = fopen(PARANOID, "re");
	char text[16] = "";
	int level;

	if (!file)
		return 0;
	level = fgets(text, sizeof(text), file) ? atoi(text) : 0;
	fclose(file);
	return level;
}

/* If the level is at most 1, or this is root, the level is not the reason. */
void dnd_instructions_refused(struct donard_measurement *result, const char *which, bool is_root, int paranoid)
{
	if (is_root || paranoid <= 1)
		dnd_missing(result, "%s cannot be counted: perf_event_open() is refused%s, and " PARANOID " is %d. In a "
			    "container, its filter of system calls (seccomp) refuses it, or CAP_PERFMON is missing: allow "
			    "both there.", which, is_root ? " to root" : "", paranoid);
	else
		dnd_missing(result, "%s cannot be counted: " PARANOID " is %d. Run as root, or lower it to 1.", which,
			    paranoid);
}

static void explain(struct donard_measurement *result, const char *which, int error_number)
{
	if (error_number == EACCES || error_number == EPERM)
		dnd_instructions_refused(result, which, !geteuid(), paranoid_level());
	else if (error_number == ENOENT || error_number == EOPNOTSUPP || error_number == ENODEV)
		dnd_missing(result, "%s cannot be counted: this processor or virtual machine "
			    "offers no counter for them.", which);
	else if (error_number == EBUSY)
		dnd_missing(result, "%s cannot be counted: they had a counter only part of the time. End other users of "
			    "perf events; on a processor with two kinds of cores, run on one kind alone (taskset).", which);
	else
		dnd_missing(result, "%s cannot be counted: %s.", which, strerror(error_number));
}

static void explain_missing(const int errors[2], struct donard_measurement *result)
{
	if (errors[0] && errors[0] == errors[1]) {
		explain(result, "Instructions", errors[0]);
		return;
	}
	if (errors[0])
		explain(result, "Instructions of programs", errors[0]);
	if (errors[1])
		explain(result, "Instructions of the kernel", errors[1]);
}

void dnd_instructions_end(struct donard_meter *meter, struct donard_measurement *result)
{
	int errors[2] = { 0, 0 };
	uint64_t count;

	if (meter->kind->counts_instructions)
		return;
	for (int i = 0; i < 2; i++)
		if (meter->instruction_fds[i] >= 0)
			ioctl(meter->instruction_fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < 2; i++) {
		if (meter->instruction_fds[i] < 0)
			errors[i] = -meter->instruction_fds[i];
		else
			errors[i] = count_since(meter->instruction_fds[i], &meter->instruction_start[i], &count);
		if (!errors[i])
			dnd_measured(result, quantities[i], count);
	}
	explain_missing(errors, result);
}

void dnd_instructions_close(struct donard_meter *meter)
{
	for (int i = 0; i < 2; i++)
		if (meter->instruction_fds[i] >= 0)
			close(meter->instruction_fds[i]);
}
