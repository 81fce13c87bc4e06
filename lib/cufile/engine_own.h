/* SPDX-License-Identifier: Apache-2.0 */
/* What only the source files of the engine share. */
#ifndef CUF_ENGINE_OWN_H
#define CUF_ENGINE_OWN_H

#include <pthread.h>

#include "cufile/engine.h"
#include "cufile/map.h"

struct cuf_engine {
	pthread_mutex_t lock;		/* protects all but ctx, queue and stages, which only the thread uses */
	pthread_cond_t idle;		/* a request has ended */
	bool busy;			/* a request is under way ... */
	struct cuf_known *file, *place;	/* ... with these */
	struct cuf_known *forgotten;	/* taken out during the request, ends with it */
	struct cuf_place *latest;	/* the last buffer found by a pointer into its middle, or NULL */
	struct cuf_engine *next, **link;	/* in the list of all engines */
	struct donard_context *ctx;
	struct donard_queue *queue;	/* NULL: not opened yet, or closed after a lost request */
	struct donard_memory *host;
	struct cuf_map files;		/* struct cuf_use by handle */
	struct cuf_map places;		/* struct cuf_place by first address */
	struct cuf_stage *stages;	/* one for each CUDA context */
};

/* Ends all that the engine knows.  It is locked and has no request, or no thread uses it any more. */
void cuf_engine_forget(struct cuf_engine *engine);
/* Opens memory of another context again in this one. */
int cuf_engine_adopt(struct cuf_engine *engine, const struct donard_memory_info *info,
		     struct donard_memory **memory);
void cuf_stages_end(struct cuf_engine *engine);

#endif /* CUF_ENGINE_OWN_H */
