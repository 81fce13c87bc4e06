/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a write cache: a source of its queue.  A request is cut into parts, each one
 * message of the protocol; parts that find no room wait here.
 *
 * Who holds what: a request in flight uses a registration; a registration holds its memory.
 * The queue pair is destroyed before a request that is in flight ends by anything
 * but its answers, and before a registration goes: no device reads or writes its memory then.
 */
#ifndef DND_CACHE_CLIENT_H
#define DND_CACHE_CLIENT_H

#include "cache/window.h"
#include "cache/wire.h"
#include "donard/cacheclient.h"
#include "memory/memory.h"
#include "queue/queue.h"
#include "rdma/rdma.h"

#define DND_CCLIENT_MEMORIES_MAX 64

/* Registered for as long as the connection lasts, once it is needed for that direction. */
struct dnd_cclient_memory {
	struct donard_memory *memory;		/* NULL: free */
	struct dnd_registration source;		/* of writes: this device reads it, and nobody else */
	struct dnd_registration target;		/* of reads: the server writes it */
	uint32_t users;				/* requests in flight */
	uint64_t used;				/* when, in requests */
	bool leaving;				/* no new ones: its region is going away */
};

struct dnd_cclient_request {
	struct donard_completion completion;
	struct dnd_told *told;			/* the completion's strings, or NULL */
	struct dnd_cclient_request *next;	/* of a list */
	struct dnd_cclient_memory *memory;	/* or NULL */
	enum dnd_wire_type type;
	uint32_t wire_flags;
	uint64_t drive_offset, memory_offset, length;
	uint64_t begun;				/* bytes whose parts were sent */
	uint32_t parts;				/* in flight */
	bool all_begun;
	bool waited;				/* for room in the window; counted once */
	bool busy;				/* not among the idle */
};

struct dnd_cclient_list {
	struct dnd_cclient_request *first, **last;
};

/* A message without an answer. */
struct dnd_cclient_part {
	struct dnd_cclient_request *request;	/* NULL: free */
	uint32_t id;
};

struct donard_cache {
	struct dnd_queue_source source;		/* first: what the queue has is the cache */
	struct donard_context *ctx;
	struct donard_cache_options options;	/* defaults filled in */
	struct dnd_reach reach;
	struct dnd_link link;
	struct dnd_wire_offer offer;
	struct dnd_cache_ring ring;
	int timer_fd;
	uint64_t due_ns;			/* when the timer tells again */
	struct dnd_cclient_request *requests;	/* as many as options.depth */
	struct dnd_cclient_request *idle;
	struct dnd_cclient_list writes, others;	/* that have parts to be sent */
	struct dnd_cclient_list done;
	struct dnd_cclient_part *parts;		/* as many as offer.depth */
	uint32_t parts_busy, next_id;
	struct dnd_told *told;			/* whose strings the caller has */
	struct dnd_cclient_memory memories[DND_CCLIENT_MEMORIES_MAX];
	uint64_t read_back;			/* where written bytes are read back to */
	struct ibv_mr *read_back_mr;		/* or NULL */
	bool armed;				/* the channel tells of the next completion */
	bool pinged, owes_got;			/* without an answer */
	bool said_bye, bye_done;
	enum dnd_wire_status withdrawn;		/* DND_WIRE_OK: it was not */
	bool inherited;				/* by fork(): the connection is the parent's */
	bool over;				/* no connection any more: */
	struct dnd_failure reason;
	uint64_t pinged_ns;
	struct donard_cache_info counts;	/* what is counted of it */
};

/* client_memory.c: registers it for this direction when it is not; NULL with a text in the context, *@rc */
struct dnd_cclient_memory *dnd_cclient_memory_find(struct donard_cache *cache, struct donard_memory *memory,
						   bool target, int *rc);
struct dnd_cclient_memory *dnd_cclient_memory_known(struct donard_cache *cache,
						    const struct donard_memory *memory);
void dnd_cclient_memory_drop(struct dnd_cclient_memory *memory);
/* Lets go of memory whose region is going away, once nothing uses it. */
void dnd_cclient_memories_look(struct donard_cache *cache);
/* CRC-32C of its bytes as they are now; 0 or -errno with a text */
int dnd_cclient_checksum(const struct donard_memory *memory, uint64_t offset, uint64_t length, uint32_t *sum);

/* client_request.c: a request from its call to its completion; each -errno with a text */
int dnd_cclient_add(struct donard_cache *cache, const struct dnd_cclient_request *asked,
		    struct donard_memory *memory);
/* Sends what there is room for.  -ECONNRESET: the link is lost */
int dnd_cclient_send(struct donard_cache *cache);
/* A done of the server: -EPROTO */
int dnd_cclient_take_done(struct donard_cache *cache, const struct dnd_wire_message *message);
int dnd_cclient_message(struct donard_cache *cache, const struct dnd_wire_message *message, unsigned int flags);
/* The context's failure ends all that are not done. */
void dnd_cclient_fail_all(struct donard_cache *cache);
void dnd_cclient_recycle(struct donard_cache *cache, struct dnd_cclient_request *request);
unsigned int dnd_cclient_cancel(struct donard_cache *cache, const void *user);

/* client_link.c: the connection */
int dnd_cclient_connect(struct donard_cache *cache);
/* Takes what came, and what is due. */
void dnd_cclient_work(struct donard_cache *cache);
/* A good-bye that is waited for, for a moment. */
void dnd_cclient_bye(struct donard_cache *cache);
/* Nothing reads or writes memory of requests after it; for what was opened, and again. */
void dnd_cclient_disconnect(struct donard_cache *cache);

static inline void dnd_cclient_list_add(struct dnd_cclient_list *list, struct dnd_cclient_request *request)
{
	request->next = NULL;
	*list->last = request;
	list->last = &request->next;
}

static inline struct dnd_cclient_request *dnd_cclient_list_take(struct dnd_cclient_list *list)
{
	struct dnd_cclient_request *request = list->first;

	if (request) {
		list->first = request->next;
		if (!list->first)
			list->last = &list->first;
	}
	return request;
}

#endif /* DND_CACHE_CLIENT_H */
