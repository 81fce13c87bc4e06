/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread that reads or writes has an engine: a context of donard with a queue, which
 * only this thread uses, and the registered files and buffers as that context knows
 * them.  The thread that deregisters a file or a buffer takes it out of each engine, and
 * waits for the threads that use it at the time.  So a sleeping thread keeps nothing open or
 * pinned, and nobody waits for a thread that uses other files and buffers.
 */
#ifndef CUF_ENGINE_H
#define CUF_ENGINE_H

#include "donard/queue.h"

#include "cufile/buffers.h"
#include "cufile/files.h"

/* Anything that an engine knows, and how to end it. */
struct cuf_known {
	void (*end)(struct cuf_known *known);
	struct cuf_known *next;		/* in the list of those that were forgotten, and end with the request */
	unsigned int *users;		/* the counter of the thread that waits for that end, or NULL */
};

/* A file as an engine knows it. */
struct cuf_use {
	struct cuf_known known;	/* first */
	struct cuf_file *file;	/* not freed before this is */
	struct donard_file *donard;	/* NULL: compatibility mode */
	uint64_t align, memory_align;
	uint64_t end;		/* of a drive, when this looked last; UINT64_MAX for a file */
};

/* A registered buffer as an engine knows it. */
struct cuf_place {
	struct cuf_known known;	/* first */
	struct cuf_buffer *buffer;
	struct donard_memory *memory;	/* NULL: host memory, or not pinned */
};

/*
 * Our own memory for staging, so that the program's memory need not be aligned or pinned, and for compatibility mode,
 * whose bytes stop there on their way to and from a GPU: stage.c.
 */
struct cuf_stage {
	struct cuf_stage *next;
	void *context, *stream;	/* of CUDA; NULL for host memory that is no GPU's business */
	bool on_host;		/* the memory, which stays when the context ends */
	bool for_pool;		/* made in a thread of the pool, whose copies are not ordered after the program's calls */
	bool locked;		/* host memory whose pages the context has locked */
	void *address;
	void *allocation;	/* on a GPU: the address is that of a page in it */
	uint64_t bytes;
	bool numbered;		/* GPU memory and pages that the context has locked have a number until it ends: */
	uint64_t number;	/* that of identify() */
	struct donard_memory *memory;	/* NULL in compatibility mode, which needs no queue */
};

struct cuf_engine;

/* Returns the calling thread's engine, locked; NULL and a code in @code if that fails. */
struct cuf_engine *cuf_engine_enter(int *code);
/* Called once the request has found its file and its buffer: from then on other threads may deregister files and buffers. */
void cuf_engine_unlock(struct cuf_engine *engine);
/* The request has ended. */
void cuf_engine_leave(struct cuf_engine *engine);

/* The engine is locked.  Finds the file for its request; NULL and a code in @code if that fails. */
struct cuf_use *cuf_engine_file(struct cuf_engine *engine, uint64_t handle, int *code);
/* Does the same for a buffer.  NULL with @code 0: no buffer with this first address is registered. */
struct cuf_place *cuf_engine_buffer(struct cuf_engine *engine, uint64_t base, int *code);
/* The engine is not locked.  Checks whether a drive has grown.  Returns 0 or a code. */
int cuf_engine_look_again(struct cuf_engine *engine, struct cuf_use *use);
/* The engine is not locked.  Finds a registered buffer that has all these bytes; NULL with @code 0 if there is none. */
struct cuf_place *cuf_engine_around(struct cuf_engine *engine, uint64_t start, uint64_t bytes, int *code);
/* All of the host's memory; the offset of a byte in it is its address minus *base. */
struct donard_memory *cuf_engine_host(struct cuf_engine *engine, uint64_t *base);
/* Are these bytes memory of a device, the route to which cannot be judged by an address? */
bool cuf_engine_is_foreign(struct cuf_engine *engine, const void *address, uint64_t bytes);
/* The stage in this CUDA context, or on the host if @context is NULL, made at first use.  NULL and a code in @code. */
struct cuf_stage *cuf_engine_stage(struct cuf_engine *engine, void *context, int *code);
/* The next cuf_engine_stage() pins it anew. */
void cuf_engine_unpin(struct cuf_engine *engine, struct cuf_stage *stage);
/* Does the same for the host memory through which compatibility mode moves bytes to and from memory of this context. */
struct cuf_stage *cuf_engine_bounce(struct cuf_engine *engine, void *context, int *code);
/* Copies between any two places of the stage's context and of the host.  Returns 0, a code, or EFAULT. */
int cuf_stage_copy(const struct cuf_stage *stage, void *to, const void *from, size_t bytes);

/* Reads or writes directly.  Returns how many bytes; or -errno or minus a code, with a line in the log. */
int64_t cuf_engine_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use,
			uint64_t file_offset, struct donard_memory *memory, uint64_t offset, uint64_t bytes);
/* May bytes have gone through DRAM since the last call of this, because the file system stopped direct I/O meanwhile? */
bool cuf_engine_bounced(struct cuf_engine *engine);
/* Makes written data durable.  Returns 0, -errno or minus a code. */
int cuf_engine_flush(struct cuf_engine *engine, const struct cuf_use *use);

/* These take a file, a buffer, or everything out of all engines. */
void cuf_engines_forget_file(uint64_t handle);
void cuf_engines_forget_buffer(const struct cuf_buffer *buffer);
void cuf_engines_forget_all(void);

#endif /* CUF_ENGINE_H */
