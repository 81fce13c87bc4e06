/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread that reads or writes has an engine: a context of donard with a
 * queue, which belong to one thread, and the registered files and buffers as that
 * context knows them.  Whoever deregisters a file or a buffer takes it out of each
 * engine, and waits for those threads that work with it: nothing stays open or pinned
 * because of a thread that sleeps, and nobody waits for one that works with other things.
 */
#ifndef CUF_ENGINE_H
#define CUF_ENGINE_H

#include "donard/queue.h"

#include "cufile/buffers.h"
#include "cufile/files.h"

/* What an engine knows, and how that ends. */
struct cuf_known {
	void (*end)(struct cuf_known *known);
	struct cuf_known *next;		/* of what was forgotten, and ends with the request */
	unsigned int *users;		/* of who waits for that end, or NULL */
};

/* A file as an engine has it. */
struct cuf_use {
	struct cuf_known known;	/* first */
	struct cuf_file *file;	/* not freed while it stands here */
	struct donard_file *donard;	/* NULL: compatibility mode */
	uint64_t align, memory_align;
	uint64_t end;		/* of a drive; UINT64_MAX of a file, which grows */
};

/* A registered buffer as an engine has it. */
struct cuf_place {
	struct cuf_known known;	/* first */
	struct cuf_buffer *buffer;
	struct donard_memory *memory;	/* NULL: of the host, or not pinned */
};

/* Memory of our own, beside which the program's may be aligned to nothing: stage.c. */
struct cuf_stage {
	struct cuf_stage *next;
	void *context, *stream;
	void *address;
	uint64_t number;	/* of that allocation of the GPU's */
	uint64_t bytes;
	struct donard_memory *memory;
};

struct cuf_engine;

/* The calling thread's, locked; NULL and a code in @code. */
struct cuf_engine *cuf_engine_enter(int *code);
/* What the request needs is found: others may take files and buffers out. */
void cuf_engine_unlock(struct cuf_engine *engine);
/* The request has ended. */
void cuf_engine_leave(struct cuf_engine *engine);

/* Of a locked engine, for its request.  NULL and a code in @code. */
struct cuf_use *cuf_engine_file(struct cuf_engine *engine, uint64_t handle, int *code);
/* The same.  NULL: no buffer with this first address is registered; @code is 0 then. */
struct cuf_place *cuf_engine_buffer(struct cuf_engine *engine, uint64_t base, int *code);
/* One that has all these bytes, or NULL; of an engine that is not locked. */
struct cuf_place *cuf_engine_around(struct cuf_engine *engine, uint64_t start, uint64_t bytes, int *code);
/* All of the host's memory: the place of a byte is its address less this. */
struct donard_memory *cuf_engine_host(struct cuf_engine *engine, uint64_t *base);
/* Are these bytes a device's, to which nobody judges a route by their address? */
bool cuf_engine_is_foreign(struct cuf_engine *engine, const void *address, uint64_t bytes);
/* In this CUDA context, or with NULL of the host; made at first.  NULL and a code in @code. */
struct cuf_stage *cuf_engine_stage(struct cuf_engine *engine, void *context, int *code);
/* Between any two places of that context and of the host: 0, a code, or EFAULT. */
int cuf_engine_copy(struct cuf_engine *engine, void *context, void *to, const void *from, size_t bytes);

/* Bytes, or -errno with a line in the log. */
int64_t cuf_engine_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use,
			uint64_t file_offset, struct donard_memory *memory, uint64_t offset, uint64_t bytes);
/* What was written is durable: 0 or -errno. */
int cuf_engine_flush(struct cuf_engine *engine, const struct cuf_use *use);

/* Of all engines. */
void cuf_engines_forget_file(uint64_t handle);
void cuf_engines_forget_buffer(uint64_t base);
void cuf_engines_forget_all(void);

#endif /* CUF_ENGINE_H */
