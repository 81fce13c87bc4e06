# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What p2pmem's tracepoints say while something happens. Sourced by suites, never run.

readonly EVENTS=/sys/kernel/tracing/events/p2pmem

# traced COMMAND... - in $WORK/trace what p2pmem's events said meanwhile, "EVENT: TEXT" a line.
traced() {
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	echo 0 >/sys/kernel/tracing/tracing_on
	: >/sys/kernel/tracing/trace
	echo 1 >"$EVENTS/enable"
	at_end "[[ ! -e $EVENTS ]] || echo 0 >$EVENTS/enable"
	echo 1 >/sys/kernel/tracing/tracing_on
	"$@"
	echo 0 >/sys/kernel/tracing/tracing_on
	sed -n 's/^.*: \(p2pmem_[a-z]*\): /\1: /p' /sys/kernel/tracing/trace >"$WORK/trace"
	cat "$WORK/trace"
}
