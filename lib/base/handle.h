/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that programs get.  A debug build (make DEBUG=1) knows each of them, and finds one that was freed, or that is of
 * another kind, at the next public call with it; other builds know none, and have no instruction for it.  This file uses no
 * context, because libdonard-meter is built with it, too.
 */
#ifndef DND_HANDLE_H
#define DND_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "donard/donard.h"

/*
 * handle.c: an object with several holders, which the last of them frees.  An identity is never
 * used again, so that a record of a freed handle never matches another one.
 */
struct dnd_handle {
	uint64_t identity;
	unsigned int holders;	/* atomic: holders may be in different threads */
};

void dnd_handle_init(struct dnd_handle *handle);
void dnd_handle_get(struct dnd_handle *handle);
/* Returns how many hold it: the program, each request whose completion was not taken, and attachments of queues. */
unsigned int dnd_handle_holders(const struct dnd_handle *handle);
/* Returns true if the caller was the last holder. */
bool dnd_handle_put(struct dnd_handle *handle);

enum dnd_handle_kind {
	DND_A_CONTEXT,
	DND_A_MEMORY,
	DND_A_FILE,
	DND_A_QUEUE,
	DND_A_CACHE,
	DND_A_RDMA_CLIENT,
	DND_A_REGISTRATION,
	DND_A_REGION_LIST,
	DND_A_CLIENT_LIST,
	DND_A_CANDIDATE_LIST,
	DND_A_GPU_LIST,
	DND_A_METER,
};

/*
 * What a public function does first with each handle that it takes, before it looks into it.  NULL, and a pointer to
 * an object that the library did not make, are accepted.  Where something is wrong,
 *
 *	DND_USES	the function returns -EBADF, and the handle's context has the text
 *	DND_DEMANDS	the program is aborted with the text: the function cannot return a failure
 *	DND_LETS_GO	like DND_DEMANDS, for a function that frees the handle.  The handle counts as freed from now on,
 *			although others may hold it for longer
 */
#ifdef DONARD_DEBUG

#define DND_USES(kind, handle)							\
	do {									\
		int bad_ = dnd_handle_check(DND_A_##kind, handle, __func__);	\
										\
		if (bad_)							\
			return bad_;						\
	} while (0)
#define DND_DEMANDS(kind, handle)	dnd_handle_demand(DND_A_##kind, handle, __func__)
#define DND_LETS_GO(kind, handle)	dnd_handle_let_go(DND_A_##kind, handle, __func__)

#define DND_MISUSE_BYTES	192

/* Notes a new handle, which is of that context. */
void dnd_handle_made(enum dnd_handle_kind kind, const void *handle, struct donard_context *ctx);
/*
 * Stands in for free().  A noted handle is overwritten, and its memory is kept as long as the process lives, so that no other
 * handle gets its address.
 */
void dnd_handle_free(void *handle, size_t bytes);
/* Returns false, with a text, if @call must not take @handle.  *ctx is then the handle's context; NULL if that was closed. */
bool dnd_handle_right(enum dnd_handle_kind kind, const void *handle, const char *call, char text[DND_MISUSE_BYTES],
		      struct donard_context **ctx);
/* Is it of that kind and not freed, as far as is known?  Sets no text. */
bool dnd_handle_is(enum dnd_handle_kind kind, const void *handle);
/* Marks it as freed.  Returns false if it was freed before. */
bool dnd_handle_mark(const void *handle);

/* misuse.c: returns 0, or -EBADF with a text in the handle's context; if that was closed, donard_error() has its own text */
int dnd_handle_check(enum dnd_handle_kind kind, const void *handle, const char *call);
void dnd_handle_demand(enum dnd_handle_kind kind, const void *handle, const char *call);
void dnd_handle_let_go(enum dnd_handle_kind kind, const void *handle, const char *call);

#else

#define DND_USES(kind, handle)		do { } while (0)
#define DND_DEMANDS(kind, handle)	do { } while (0)
#define DND_LETS_GO(kind, handle)	do { } while (0)

static inline void dnd_handle_made(enum dnd_handle_kind kind, const void *handle, struct donard_context *ctx)
{
	(void)kind;
	(void)handle;
	(void)ctx;
}

static inline void dnd_handle_free(void *handle, size_t bytes)
{
	(void)bytes;
	free(handle);
}

static inline bool dnd_handle_is(enum dnd_handle_kind kind, const void *handle)
{
	(void)kind;
	(void)handle;
	return true;
}

static inline int dnd_handle_check(enum dnd_handle_kind kind, const void *handle, const char *call)
{
	(void)kind;
	(void)handle;
	(void)call;
	return 0;
}

#endif /* DONARD_DEBUG */

#endif /* DND_HANDLE_H */
