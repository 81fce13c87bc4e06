/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 for the lab: one GPU, /dev/nvidia-lab (tests/guest/modules/nvidia).
 * It does what the CUDA driver API's documentation says of the calls that it has,
 * as far as a program can tell without a kernel of its own on the GPU, and where that
 * leaves a choice, what is worse for the caller.  Not installed with donard.
 *
 * Levers, in the environment of the program:
 * LAB_CUDA_STRICT=1: no question about a pointer is answered without a current context.
 * LAB_CUDA_CHUNKS=1: allocations up to 1 MiB are cut from chunks of 2 MiB, at 512 bytes.
 * LAB_CUDA_LARGE=1: the GPU says that it has four times its memory.
 */
#ifndef STUB_H
#define STUB_H

#include <stdbool.h>

#include "numbers.h"
#include "../modules/nvidia/nvidia-lab.h"

#define STUB __attribute__((visibility("default")))

/* init.c: fails before cuInit(), in a child of fork(), and without a current, live context if @context. */
CUresult stub_ready(bool context);
/* The same for a question about a pointer, which needs no context unless LAB_CUDA_STRICT says so. */
CUresult stub_ready_to_tell(void);
CUcontext stub_context(void);
bool stub_lever(const char *name);
/* The ioctl's errno as a result. */
CUresult stub_call(unsigned long request, void *arg);

/* stream.c: a synchronous call comes after all that streams were given. */
void stub_drain(void);
/*
 * A call that frees memory waits for all streams.  Until then no other thread can allocate, copy, make a stream or give it
 * work, as with the driver 580.159.  Questions about a pointer are still answered.
 */
void stub_begin_free(void);
void stub_end_free(void);
void stub_wait_for_frees(void);

/* blocks.c: the allocations and their contexts */
enum stub_kind { STUB_PLAIN, STUB_MANAGED, STUB_POOL };

struct stub_block {
	uint64_t at;		/* 0: this record is free */
	uint64_t bytes;
	uint64_t chunk;		/* that it was cut from, or 0 */
	uint64_t serial;	/* never used again */
	enum stub_kind kind;
	CUcontext context;	/* NULL of a pool */
	bool synchronous;
};

CUresult stub_allocate(uint64_t bytes, enum stub_kind kind, CUdeviceptr *at);
CUresult stub_free(CUdeviceptr at);
/* The allocation that has all of the range. */
bool stub_find(CUdeviceptr at, uint64_t bytes, struct stub_block *found);
void stub_set_synchronous(CUdeviceptr at, bool on);
/* A context ends, and its memory with it. */
void stub_free_all(CUcontext context);
/* For what has a number and is not one of these. */
uint64_t stub_serial(void);

/* memory.c: finds host memory that a context knows, which ends with the context, too. */
bool stub_find_host(uint64_t address, struct stub_block *found);
void stub_forget_hosts(CUcontext context);

#endif
