/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * PMRCAP of an NVMe controller (Base Specification 2.0, 3.1.4.20): where its PMR lies, how
 * long the controller may take to make it ready, and what makes writes to it persistent.
 *
 * Pure logic, as alloc.h.
 */
#ifndef P2PMEM_PMR_H
#define P2PMEM_PMR_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>
#endif

enum p2pmem_pmr_fit {
	P2PMEM_PMR_FITS,
	P2PMEM_PMR_NOWHERE,	/* the BAR does not exist, or ends before the offset */
	P2PMEM_PMR_IN_REGISTERS,
	P2PMEM_PMR_TOO_SHORT,	/* for the requested length */
};

/* PMRCAP.BIR: the BAR that holds the PMR; there are no BARs 6 and 7. */
static inline unsigned int p2pmem_pmr_bar(__u32 cap)
{
	return cap >> 5 & 7;
}

/**
 * p2pmem_pmr_check() - does a PMR have the requested part?
 * @bar: its BAR; the specification allows 2 to 5, as the controller's registers are in 0 and 1
 * @has_registers: other registers lie in this BAR, such as the MSI-X table
 * @bar_bytes: the size of that BAR, 0 if there is none
 * @offset: where the part begins
 * @length: its length in bytes; 0 means up to the end
 * @bytes: out: how long it is, if it fits
 *
 * Return: P2PMEM_PMR_FITS, or why it does not
 */
static inline enum p2pmem_pmr_fit p2pmem_pmr_check(unsigned int bar, bool has_registers,
						   __u64 bar_bytes,
						   __u64 offset, __u64 length,
						   __u64 *bytes)
{
	if (bar < 2 || has_registers)
		return P2PMEM_PMR_IN_REGISTERS;
	if (bar > 5 || offset >= bar_bytes)
		return P2PMEM_PMR_NOWHERE;
	if (length > bar_bytes - offset)
		return P2PMEM_PMR_TOO_SHORT;
	*bytes = length ? length : bar_bytes - offset;
	return P2PMEM_PMR_FITS;
}

/* PMRCAP.PMRTO, in units of 500 ms or, if PMRTU says so, of minutes; 0 counts as one unit. */
static inline __u32 p2pmem_pmr_timeout_ms(__u32 cap)
{
	__u32 units = cap >> 16 & 0xff;

	return (units ? units : 1) * (cap >> 8 & 3 ? 60000 : 500);
}

enum p2pmem_pmr_barrier {
	P2PMEM_PMR_NO_BARRIER,	/* none is named, or only reserved bits are set */
	P2PMEM_PMR_READ_MEMORY,	/* any read from the PMR */
	P2PMEM_PMR_READ_STATUS,	/* a read of PMRSTS */
};

/* PMRCAP.PMRWBM: the read after which all earlier writes are persistent. */
static inline enum p2pmem_pmr_barrier p2pmem_pmr_barrier(__u32 cap)
{
	if (cap >> 11 & 1)
		return P2PMEM_PMR_READ_STATUS;
	return cap >> 10 & 1 ? P2PMEM_PMR_READ_MEMORY : P2PMEM_PMR_NO_BARRIER;
}

#endif
