/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the source files of the engine alone. */
#ifndef CUF_ENGINE_OWN_H
#define CUF_ENGINE_OWN_H

#include <pthread.h>

#include "cufile/engine.h"
#include "cufile/map.h"

struct cuf_engine {
	pthread_mutex_t lock;		/* protects all but ctx, queue, bounced and stages, which only the thread uses */
	bool busy;			/* a request is under way ... */
	struct cuf_known *file, *place;	/* ... with these */
	struct cuf_known *forgotten;	/* taken out during the request, ends with it */
	struct cuf_place *latest;	/* the last buffer found by a pointer into its middle, or NULL */
	struct cuf_engine *next, **link;	/* in the list of all engines */
	struct donard_context *ctx;
	struct donard_queue *queue;	/* NULL: not opened yet, or closed after a lost request */
	bool bounced;			/* for cuf_engine_bounced() */
	struct donard_memory *host;
	struct cuf_map files;		/* struct cuf_use by handle */
	struct cuf_map places;		/* struct cuf_place by first address */
	struct cuf_stage *stages;	/* one for each CUDA context */
};

/*
 * Ends all files and memory that the engine knows, except for its stages, which the caller ends without a lock.  The engine is
 * locked and has no request, or no thread uses it any more.
 */
struct cuf_stage *cuf_engine_forget(struct cuf_engine *engine);
/* Opens memory of another context again in this one. */
int cuf_engine_adopt(struct cuf_engine *engine, const struct donard_memory_info *info,
		     struct donard_memory **memory);
/* Afterwards the stages use nothing of the engine's context. */
void cuf_stages_unpin(struct cuf_engine *engine);
/* Unpins the stages and returns them; the caller owns them. */
struct cuf_stage *cuf_stages_detach(struct cuf_engine *engine);
/* Call it without any lock that a request needs: CUDA frees memory only when no stream waits for a request. */
void cuf_stages_end(struct cuf_stage *stages);

#endif /* CUF_ENGINE_OWN_H */
