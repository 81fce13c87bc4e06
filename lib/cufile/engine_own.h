/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of an engine share, and nobody else sees. */
#ifndef CUF_ENGINE_OWN_H
#define CUF_ENGINE_OWN_H

#include <pthread.h>

#include "cufile/engine.h"
#include "cufile/map.h"

struct cuf_engine {
	pthread_mutex_t lock;		/* of all but what only the request's thread uses: ctx, queue, stages */
	pthread_cond_t idle;		/* a request ended */
	bool busy;			/* a request is under way ... */
	struct cuf_known *file, *place;	/* ... with these */
	struct cuf_known *forgotten;	/* meanwhile */
	struct cuf_place *latest;	/* that had a pointer which is no first address, or NULL */
	struct cuf_engine *next, **link;	/* of all engines */
	struct donard_context *ctx;
	struct donard_queue *queue;	/* NULL: not opened yet, or given up */
	struct donard_memory *host;
	struct cuf_map files;		/* struct cuf_use by handle */
	struct cuf_map places;		/* struct cuf_place by first address */
	struct cuf_stage *stages;	/* one a CUDA context */
};

/* Locked, and without a request; or nobody's. */
void cuf_engine_forget(struct cuf_engine *engine);
/* Memory of another context, once more. */
int cuf_engine_adopt(struct cuf_engine *engine, const struct donard_memory_info *info,
		     struct donard_memory **memory);
void cuf_stages_end(struct cuf_engine *engine);

#endif /* CUF_ENGINE_OWN_H */
