/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a write cache, which is a source of completions for a queue.  A request is cut
 * into parts, each of which is one message of the protocol; parts without room wait here.
 *
 * Ownership: a request in flight uses a registration; a registration holds its memory.  The
 * queue pair is destroyed before a request in flight ends by anything other than its answers,
 * and before a connection's registrations end: then no device reads or writes the memory.
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

/* Memory is registered for a direction when it is first needed, and stays so while there is room for it. */
struct dnd_cclient_memory {
	struct donard_memory *memory;		/* NULL: this entry is free */
	struct dnd_registration source;		/* for writes: only this machine's device reads it */
	struct dnd_registration target;		/* for reads: the server writes it */
	uint32_t users;				/* how many requests in flight use it */
	uint64_t last_send;			/* link.sent, after the last message that was sent behind bytes of it */
	uint64_t used;				/* the count of requests when it was last used */
	bool leaving;				/* its region is going away: no new request may use it */
};

struct dnd_cclient_request {
	struct donard_completion completion;
	struct dnd_told *told;			/* the completion's strings, or NULL */
	struct dnd_cclient_request *next;	/* in the list that it is in */
	struct dnd_cclient_memory *memory;	/* or NULL */
	enum dnd_wire_type type;
	uint32_t wire_flags;
	uint64_t drive_offset, memory_offset, length;
	uint64_t begun;				/* how many bytes the parts have that were sent */
	uint32_t parts;				/* how many parts are in flight */
	bool all_begun;
	bool waited;				/* it had to wait for room in the window, and was counted */
	bool busy;				/* it is in use, not in the idle list */
};

struct dnd_cclient_list {
	struct dnd_cclient_request *first, **last;
};

/* A part whose answer has not come yet. */
struct dnd_cclient_part {
	struct dnd_cclient_request *request;	/* NULL: free */
	uint32_t id;
};

struct donard_cache {
	struct dnd_queue_source source;		/* first, so that the queue's pointer to it is one to the cache */
	struct donard_context *ctx;
	struct donard_queue *queue;		/* its other caches are kept alive while this one connects or ends */
	struct donard_cache_options options;	/* defaults filled in */
	struct dnd_reach reach;
	struct dnd_link link;
	struct dnd_wire_offer offer;
	struct dnd_cache_ring ring;
	int timer_fd;
	uint64_t due_ns;			/* when the timer expires next */
	struct dnd_cclient_request *requests;	/* options.depth of them */
	struct dnd_cclient_request *idle;
	struct dnd_cclient_list writes, others;	/* requests with parts that are still to be sent */
	struct dnd_cclient_list done;
	struct dnd_cclient_part *parts;		/* offer.depth of them are used */
	uint32_t parts_busy, next_id;
	struct dnd_told *told;			/* strings of completions that the caller holds */
	struct dnd_cclient_memory memories[DND_CCLIENT_MEMORIES_MAX];
	uint64_t read_back;			/* written bytes are read back into this */
	struct ibv_mr *read_back_mr;		/* registers read_back; or NULL */
	bool armed;				/* the channel will signal the next completion */
	bool iwarp;				/* this end's device may still send after the connection's end */
	bool copies_by_cpu;			/* this end's device is software: asking it costs a call of the kernel */
	bool drive_fails;			/* the server's drive fails what the log writes to it */
	bool pinged, owes_got;			/* a ping has no answer yet; a released has no got yet */
	bool said_bye, bye_done;
	enum dnd_wire_status withdrawn;		/* why the server withdrew; DND_WIRE_OK: it did not */
	bool inherited;				/* this is the child of a fork(): the connection is the parent's */
	bool over;				/* the connection has ended, for this reason: */
	struct dnd_failure reason;
	uint64_t pinged_ns;
	struct donard_cache_info counts;	/* only its counts are used */
};

/*
 * client_memory.c: finds the memory, and registers it for this direction if it is not yet.  Returns NULL, with a text
 * in the context and *rc, if that fails.
 */
struct dnd_cclient_memory *dnd_cclient_memory_find(struct donard_cache *cache, struct donard_memory *memory,
						   bool target, int *rc);
struct dnd_cclient_memory *dnd_cclient_memory_known(struct donard_cache *cache,
						    const struct donard_memory *memory);
/*
 * May this end's device still read bytes of it?  The server's answer is not the acknowledgement of the server's device: if that
 * was lost, this device reads the bytes again, to send them again.
 */
bool dnd_cclient_memory_is_sent(const struct donard_cache *cache, const struct dnd_cclient_memory *memory);
void dnd_cclient_memory_drop(struct donard_cache *cache, struct dnd_cclient_memory *memory);
/* Has any further region begun to go away?  Marks its memory as leaving.  Makes one system call for all. */
bool dnd_cclient_memories_look(struct donard_cache *cache);
/* Releases memory whose region is going away, if neither a request nor the device uses it. */
void dnd_cclient_memories_release(struct donard_cache *cache);
/* Fails because the memory's region is going away. */
int dnd_cclient_memory_leaving(const struct donard_memory *memory);
/* The CRC-32C of its present bytes; returns 0 or -errno with a text. */
int dnd_cclient_checksum(const struct donard_memory *memory, uint64_t offset, uint64_t length, uint32_t *sum);

/* client_request.c: a request from its call to its completion */
/* Queues a request; returns 0 or -errno with a text. */
int dnd_cclient_add(struct donard_cache *cache, const struct dnd_cclient_request *asked,
		    struct donard_memory *memory);
/* Sends all parts for which there is room.  Returns 0, or -ECONNRESET if the link is lost. */
int dnd_cclient_send(struct donard_cache *cache);
/* Takes a done of the server.  Returns 0, or -EPROTO if it answers nothing. */
int dnd_cclient_take_done(struct donard_cache *cache, const struct dnd_wire_message *message);
/* Sends a message; returns as dnd_link_send() does. */
int dnd_cclient_message(struct donard_cache *cache, const struct dnd_wire_message *message, unsigned int flags);
/* Ends all requests that are not done with the context's failure. */
void dnd_cclient_fail_all(struct donard_cache *cache);
/* Releases memory whose region is going away.  Sends nothing more of its requests, which end once no part is in flight. */
void dnd_cclient_look_after(struct donard_cache *cache);
void dnd_cclient_recycle(struct donard_cache *cache, struct dnd_cclient_request *request);
unsigned int dnd_cclient_cancel(struct donard_cache *cache, const void *user);

/* client_link.c: the connection */
int dnd_cclient_connect(struct donard_cache *cache);
/* Takes what has come, and sends what is due. */
void dnd_cclient_work(struct donard_cache *cache);
/* Works until the device does not read this memory any more.  Returns 0, or -EBUSY with a text after options.timeout_ms. */
int dnd_cclient_await_sent(struct donard_cache *cache, const struct dnd_cclient_memory *memory);
/* Says good-bye, and waits a moment for the answer. */
void dnd_cclient_bye(struct donard_cache *cache);
/*
 * Over iWARP, waits until the server has taken what was already sent of the requests in flight, and sends no more of them.
 * Otherwise TCP could send the rest, or resend what was lost, after this connection has ended and even after the next one was
 * made.  Gives up when the server has been silent for longer than it may be.  The cache is no longer in the queue.
 */
void dnd_cclient_await_taken(struct donard_cache *cache);
/*
 * Closes whatever is open of the connection; may be called again.  Afterwards no device reads or writes the memory of
 * requests.
 */
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
