/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What donard's libcufile.so.0 has beside cuFile's own calls.  A program that runs
 * on either looks it up by dlsym().
 */
#ifndef DONARD_CUFILE_H
#define DONARD_CUFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct donard_cufile_counts - what this process did since it opened the driver, or since fork(); all 0 once it is closed
 * @size: in: sizeof(struct donard_cufile_counts)
 * @reads: cuFileRead(), and entries of batches and streams that read
 * @writes: the same of writes
 * @failures: of these, those that returned less than 0
 * @read_bytes: into buffers, also by requests that failed afterwards
 * @written_bytes: out of buffers; the same
 * @staged_bytes: of these two, those that the library copied between the buffer and memory
 *	of its own on the same GPU (for host memory: on the host), because the buffer is not
 *	registered, or the transfer not aligned
 * @compat_bytes: of these two, those that went through DRAM in compatibility mode
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
 * donard_cufile_counts() - say what this process did
 * @counts: filled in; members that the library does not know are 0
 *
 * Any thread may call it at any time; before cuFileDriverClose(), which sets all of them to 0.
 *
 * Returns 0; -EINVAL for a bad size.
 */
int donard_cufile_counts(struct donard_cufile_counts *counts);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_CUFILE_H */
