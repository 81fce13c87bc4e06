/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that donard's libcufile.so.0 has beside cuFile's own.  A program that runs
 * with either library looks it up by dlsym().
 */
#ifndef DONARD_CUFILE_H
#define DONARD_CUFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct donard_cufile_counts - what this process did since it opened the driver, or since fork()
 * @size: in: sizeof(struct donard_cufile_counts)
 * @reads: calls of cuFileRead(), and entries of batches and streams that read
 * @writes: the same for writes
 * @failures: how many of these returned less than 0
 * @read_bytes: bytes read into buffers, also by requests that failed afterwards
 * @written_bytes: bytes written from buffers, counted in the same way
 * @staged_bytes: how many of these two the library copied between the buffer and its own memory on
 *	the same GPU (for host memory: on the host), because the buffer is not registered, or the
 *	transfer is not aligned
 * @compat_bytes: how many of these two went through DRAM in compatibility mode
 *
 * All counts are 0 once the driver is closed.
 */
struct donard_cufile_counts {
	size_t size;
	uint64_t reads;
	uint64_t writes;
	uint64_t failures;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t staged_bytes;
	uint64_t compat_bytes;
};

/**
 * donard_cufile_counts() - get the counts of this process
 * @counts: filled in; members that the library does not know are 0
 *
 * Any thread may call it at any time.  cuFileDriverClose() sets all counts to 0.
 *
 * Returns 0, or -EINVAL for a bad size.
 */
int donard_cufile_counts(struct donard_cufile_counts *counts);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_CUFILE_H */
