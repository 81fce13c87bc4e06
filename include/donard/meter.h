/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters: how many bytes went through DRAM, and how many went around it?
 *
 *   lab      exact: the donard lab's emulator counts every load, store and
 *            DMA of the machine (tests/rig/README.md, "The meter")
 *   likwid   sampled: memory controllers, by likwid-perfctr's group MEM
 *   perf     sampled: memory controllers, by perf's uncore events
 *   resctrl  sampled: bytes between the caches and DRAM, by the kernel's
 *            memory bandwidth monitoring
 *   none     counts no bytes; says why each other meter is not available
 *
 * A sampled meter counts the whole machine: measure an idle period, a
 * bounced copy and the copy itself, and compare.  Only the exact meter tells
 * DMA from loads and stores, and payload from the kernel's own work.
 *
 * The library is libdonard-meter, which is built on libdonard; link with both
 * (pkg-config libdonard-meter).  The conventions are those of donard.h.  Two
 * measurements at the same time disturb each other; the exact meter refuses the
 * second with -EBUSY.  A meter belongs to the process that opened it: in a child of fork() it can only be closed, which does
 * nothing to the parent's measurement.
 */
#ifndef DONARD_METER_H
#define DONARD_METER_H

#include <sys/types.h>

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum donard_quantity - what can be counted between begin and end
 *
 * Payload is the pages that the drives' DMA touched, and the memory named by
 * donard_meter_own() or donard_meter_own_of(); overhead is everything else
 * that the CPU touched in DRAM.
 * Neither contains instruction fetches, page table walks, or the DMA of
 * devices other than NVMe drives.
 *
 * @DONARD_DRAM_DMA_PAYLOAD: bytes that drives wrote to DRAM or read from it
 * @DONARD_DRAM_DMA_OVERHEAD: NVMe commands, completions and lists of pages
 * @DONARD_DRAM_CPU_PAYLOAD: loads and stores of payload
 * @DONARD_DRAM_CPU_OVERHEAD: all other loads and stores in DRAM
 * @DONARD_DRAM_CPU_USER, @DONARD_DRAM_CPU_KERNEL: the last two together, by
 *	the mode that the processor was in
 * @DONARD_BAR_DMA: bytes that drives wrote to BARs of regions or read from them
 * @DONARD_BAR_CPU: loads and stores in BARs of regions
 * @DONARD_INSTRUCTIONS_USER, @DONARD_INSTRUCTIONS_KERNEL: the exact meter
 *	counts the whole machine.  Other meters count the thread that opened the meter, and the
 *	threads and programs that it started after that
 * @DONARD_DRAM_READ, @DONARD_DRAM_WRITTEN, @DONARD_DRAM_TOTAL: of the whole
 *	machine, at the memory controllers: loads, stores, DMA, everything
 * @DONARD_DRAM_CACHE: of the whole machine, between the last caches and DRAM
 *	on behalf of programs, without DMA
 * @DONARD_INTERRUPTS, @DONARD_CONTEXT_SWITCHES: how many the lab's machine had.
 *	The host's speed decides how many completions come with one interrupt and
 *	how often a copier has to wait; each costs the kernel instructions and
 *	DRAM traffic that the copy did not cause
 */
enum donard_quantity {
	DONARD_DRAM_DMA_PAYLOAD,
	DONARD_DRAM_DMA_OVERHEAD,
	DONARD_DRAM_CPU_PAYLOAD,
	DONARD_DRAM_CPU_OVERHEAD,
	DONARD_DRAM_CPU_USER,
	DONARD_DRAM_CPU_KERNEL,
	DONARD_BAR_DMA,
	DONARD_BAR_CPU,
	DONARD_INSTRUCTIONS_USER,
	DONARD_INSTRUCTIONS_KERNEL,
	DONARD_DRAM_READ,
	DONARD_DRAM_WRITTEN,
	DONARD_DRAM_TOTAL,
	DONARD_DRAM_CACHE,
	DONARD_INTERRUPTS,
	DONARD_CONTEXT_SWITCHES,
	DONARD_QUANTITIES
};

/**
 * donard_quantity_name() - the name of a quantity, with its unit
 * @quantity: of struct donard_measurement
 *
 * Returns "dram_dma_payload_bytes" and so on; NULL past the last.
 */
const char *donard_quantity_name(enum donard_quantity quantity);

#define DONARD_MISSING_BYTES	1024

/**
 * struct donard_measurement - what was counted
 * @size: in: sizeof(struct donard_measurement)
 * @meter: "lab", "likwid", "perf", "resctrl", "none"
 * @exact: every byte was counted; otherwise the counters' resolution applies,
 *	and they contain everything else that the machine did
 * @known: which of @count are meaningful, a bit (1 << enum donard_quantity) for each
 * @seconds: between begin and end
 * @missing: why the others are not; empty when all are known
 * @count: by enum donard_quantity
 */
struct donard_measurement {
	size_t size;
	const char *meter;
	bool exact;
	bool reserved[7];
	uint64_t known;
	double seconds;
	char missing[DONARD_MISSING_BYTES];
	uint64_t count[DONARD_QUANTITIES];	/* grows: hence the last */
};

struct donard_meter;

/**
 * donard_meter_open() - the named meter, or the best of those available
 * @ctx: the context; the meter's texts are its last errors, and it must outlive the meter
 * @kind: NULL takes the first available one of the list at the top; "none" is always
 *	available
 * @meter: set to the meter, which donard_meter_close() frees
 *
 * Returns 0; -EINVAL for an unknown name; -ENOMEM, -EMFILE, -ENFILE.  For a named one also -EOPNOTSUPP with the reason when
 * it is not available here; -EACCES where it needs root; -EPERM where a policy of the machine forbids it; -EIO when its
 * counters cannot be read.
 */
int donard_meter_open(struct donard_context *ctx, const char *kind, struct donard_meter **meter);

/**
 * donard_meter_close() - free a meter; a measurement under way ends
 * @meter: may be NULL
 */
void donard_meter_close(struct donard_meter *meter);

/**
 * donard_meter_name() - the kind of a meter
 * @meter: the meter
 *
 * Returns "lab", "likwid", "perf", "resctrl" or "none".
 */
const char *donard_meter_name(const struct donard_meter *meter);

/**
 * donard_meter_own() - name memory that carries payload although no DMA touches it
 * @meter: the meter
 * @memory: of this process
 * @bytes: its length
 *
 * A measurement has at most 8 such ranges, named before donard_meter_begin().  Accesses
 * to pages that are present at donard_meter_begin() count through any address; accesses to pages
 * that come later count only through this one.  Meters that cannot tell
 * payload apart ignore the call.
 *
 * Returns 0; -ENOSPC when there are as many already.
 */
int donard_meter_own(struct donard_meter *meter, const void *memory, size_t bytes);

/**
 * donard_meter_own_of() - name memory of another process that carries payload
 * @meter: the meter
 * @pid: of a process of this machine; 0 is this one
 * @memory: address in that process.  Its pages have to be pinned, or at least present,
 *	from donard_meter_begin() on; pages that are not do not count as payload.
 * @bytes: its length
 *
 * Otherwise as donard_meter_own().
 *
 * Returns 0; -ENOSPC when there are as many already.
 */
int donard_meter_own_of(struct donard_meter *meter, pid_t pid, const void *memory, size_t bytes);

/**
 * donard_meter_begin() - count from here
 * @meter: the meter
 *
 * First let all work end that this process has begun, such as requests of queues: what it
 * does later is counted as well.
 *
 * Returns 0; -EBUSY while another process measures, or this meter counts already; -EIO when the lab's meter does not answer;
 * -EOPNOTSUPP when the meter cannot count here, -EACCES where it needs root, -EPERM in a child of the process that opened it.
 */
int donard_meter_begin(struct donard_meter *meter);

/**
 * donard_meter_end() - stop counting
 * @meter: the meter
 * @result: filled in also on failure, with nothing known
 *
 * Returns 0; -EINVAL without a begin; -EIO when the counters cannot be read; -EPERM in a child of the process that opened it.
 */
int donard_meter_end(struct donard_meter *meter, struct donard_measurement *result);

/**
 * struct donard_metering - a meter for a copy
 * @size: sizeof(struct donard_metering)
 * @meter: NULL: nothing is counted.  It must have been opened with the context of the copy.
 * @measurement: filled in with what @meter counted; required with @meter
 *
 *	options.begin_fn = donard_meter_interval_begin;
 *	options.end_fn = donard_meter_interval_end;
 *	options.interval_user = &metering;
 */
struct donard_metering {
	size_t size;
	struct donard_meter *meter;
	struct donard_measurement *measurement;
};

/**
 * donard_meter_interval_begin() - the begin_fn of a call that is metered
 * @user: its interval_user, a struct donard_metering, which has to last until the call returns
 * @interval: of the call, whose payload the meter owns (donard_meter_own()) for this measurement
 *
 * Returns 0; else what donard_meter_own() or donard_meter_begin() returned; -EINVAL for
 * a meter without a measurement, or of another context; -E2BIG for members of struct donard_metering that this library does not know.
 */
int donard_meter_interval_begin(void *user, const struct donard_interval *interval);

/**
 * donard_meter_interval_end() - the end_fn of a call that is metered
 * @user: its interval_user, a struct donard_metering
 * @interval: of the call
 * @rc: what the work came to; the measurement is filled in also after a failure
 *
 * Returns what donard_meter_end() returned.
 */
int donard_meter_interval_end(void *user, const struct donard_interval *interval, int rc);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_METER_H */
