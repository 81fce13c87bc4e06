/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the room queue share.  A request is cut into parts, each one
 * transfer of the ring; its bytes go straight, or through a buffer in DRAM.
 *
 * Who holds what: a request holds its file and its memory until its completion is
 * taken, so that both may be closed and freed meanwhile; a registration holds its
 * memory.  A pair holds neither: it knows them by identity.
 */
#ifndef DND_QUEUE_H
#define DND_QUEUE_H

#include "donard/queue.h"
#include "join/join.h"
#include "memory/memory.h"
#include "ring/ring.h"

#define DND_PAIRS_MAX		256
#define DND_REGISTRATIONS_MAX	64

/* What is known of a file and a memory: by which way requests go. */
struct dnd_pair {
	uint64_t file, memory;		/* identities */
	struct donard_route route;
	char client[DONARD_BDF_BYTES];
	size_t leg;			/* whose route that is */
	struct dnd_join_legs legs;
	bool read_proven, write_proven;	/* by a block, or as far as that can be */
	bool reads, writes;		/* what was decided for these */
	bool bounced;
	double asked_seconds;		/* when the file system was last asked */
	double tried_seconds;		/* when a block was last moved to prove it */
};

struct dnd_queue_registration {
	struct donard_memory *memory;	/* NULL: free */
	struct dnd_buffers buffers;
	uint32_t users;			/* requests in flight */
	bool leaving;			/* no new ones: its region is going away */
};

struct dnd_queue_request;

struct dnd_part {
	struct dnd_io io;		/* first: what the ring returns is the part */
	struct dnd_queue_request *request;
	struct dnd_part *next, *previous;	/* of its request, or of the idle ones */
	uint64_t at;			/* from the begin of what the request transfers */
};

/* The text of a failure, which outlives its request. */
struct dnd_told {
	struct dnd_failure failure;
	struct dnd_told *next;
};

struct dnd_queue_request {
	struct donard_completion completion;
	struct dnd_told *told;		/* the completion's strings, or NULL */
	struct dnd_queue_request *next;	/* of a list */
	struct donard_file *file;
	struct donard_memory *memory;	/* NULL: a flush */
	uint64_t file_offset, memory_offset, length;
	enum dnd_io_kind kind;
	struct dnd_queue_registration *registration;	/* or NULL */
	const struct dnd_generic *generic;	/* or NULL */
	int fd;				/* without O_DIRECT where its place is aligned to nothing */
	uint8_t *dram;			/* of a bounced one, or NULL */
	struct dnd_part *first_part;	/* the list of those in flight */
	uint32_t parts;			/* how many */
	uint64_t ended_at;		/* where the first part ended that did not move all */
	int64_t error;			/* of that part, or 0 at the end of the file */
	uint32_t nvme_status;
	bool ends;			/* it was canceled, or the queue closes */
	uint8_t *asks;			/* whether DRAM gets the block that failed, or NULL */
	enum dnd_dram dram_answer;	/* DND_DRAM_ASK_LATER, or what it was */
};

/*
 * A source: something else whose completions come out of the queue, such as a
 * connection.  The queue polls it, waits for it, and ends it; it knows nothing
 * of what the source does.  All calls come from the queue's thread.
 *
 * Who holds what: the source belongs to whoever added it.  A queue that is closed
 * first ends the source, which then has no queue.
 */
struct dnd_queue_source;

struct dnd_queue_source_ops {
	/*
	 * Does what there is to do without waiting, and keeps the counts below true.
	 * After it the descriptor is readable once there is something new to do.
	 */
	void (*work)(struct dnd_queue_source *source);
	/* One of the @done: its strings live until forget(). */
	void (*take)(struct dnd_queue_source *source, struct donard_completion *completion);
	void (*forget)(struct dnd_queue_source *source);
	/* Returns how many requests of @user work; those that have not begun are done with -ECANCELED. */
	unsigned int (*cancel)(struct dnd_queue_source *source, const void *user);
	/*
	 * The queue closes: nothing writes into memory of a request after this.  With
	 * @inherited it is the child's copy of the parent's, whose requests go on.
	 */
	void (*end)(struct dnd_queue_source *source, bool inherited);
};

struct dnd_queue_source {
	const struct dnd_queue_source_ops *ops;
	int fd;			/* readable when there is something to do */
	uint32_t working;	/* requests that are not done */
	uint32_t done;		/* completions to be taken */
	struct donard_queue *queue;	/* the queue's own from here on; NULL: none */
	struct dnd_queue_source *next;
};

/* Until dnd_queue_source_remove(), or the queue's end; 0, or -errno with a text. */
int dnd_queue_source_add(struct donard_queue *queue, struct dnd_queue_source *source);
/* Outside of work(): it has a completion, or something to do. */
void dnd_queue_source_tell(struct dnd_queue_source *source);
/* Its completions are lost.  Of a source without a queue nothing happens. */
void dnd_queue_source_remove(struct dnd_queue_source *source);

struct dnd_list {
	struct dnd_queue_request *first, **last;
};

struct donard_queue {
	struct donard_context *ctx;
	struct donard_queue_options options;
	uint64_t owner;			/* thread.c */
	unsigned int process;
	struct dnd_ring ring;
	struct dnd_uring_refusal refusal;	/* empty, unless the ring goes by Linux AIO */
	struct dnd_queue_request *requests;	/* as many as the depth */
	struct dnd_queue_request *idle;
	struct dnd_part *idle_parts;
	uint64_t idle_part_count;
	struct dnd_part **chunks;	/* what was allocated for parts */
	size_t chunk_count;
	struct dnd_list done;		/* completions to be taken, */
	uint32_t done_count;
	struct dnd_told *told;		/* whose strings the caller has */
	uint32_t working;		/* requests that are not done */
	struct dnd_pair pairs[DND_PAIRS_MAX];
	size_t pair_count, next_pair;
	struct dnd_pair *latest;
	struct dnd_queue_registration registrations[DND_REGISTRATIONS_MAX];
	size_t registration_count;	/* places that were ever taken */
	struct dnd_queue_source *sources;	/* or NULL, nearly always */
	struct donard_queue_info info;
	double looked_seconds;
	int epoll_fd, event_fd;		/* -1: nobody asked */
};

/* thread.c: the queue is the caller's from now on; and is it? */
int dnd_queue_own(struct donard_queue *queue);
int dnd_queue_check_thread(const struct donard_queue *queue);
/* By fork(): the parent's. */
bool dnd_queue_inherited(const struct donard_queue *queue);

/* pair.c: finds or makes it, and proves it for this request: sets @pair, or fails with a text */
int dnd_pair_find(struct donard_queue *queue, const struct dnd_queue_request *request,
		  struct dnd_pair **pair);
/* Each pair of the file: at its next request. */
void dnd_pairs_judge_again(struct donard_queue *queue, const struct donard_file *file);
/* What a request that failed says of it. */
struct dnd_join dnd_pair_join_of(const struct donard_queue *queue,
				 const struct dnd_queue_request *request);

/* register.c */
struct dnd_queue_registration *dnd_registration_find(struct donard_queue *queue,
						     const struct donard_memory *memory);
/* Now and then: lets go of memory whose region is going away. */
void dnd_queue_look_after(struct donard_queue *queue);
void dnd_queue_unregister_all(struct donard_queue *queue);

/* transfer.c: a request's transfer in parts: makes sure that there are enough, then begins */
int dnd_transfer_reserve(struct donard_queue *queue, const struct dnd_queue_request *request);
void dnd_transfer_start(struct donard_queue *queue, struct dnd_queue_request *request);
/* Asks the kernel to; it ends in any case. */
void dnd_transfer_cancel(struct donard_queue *queue, struct dnd_queue_request *request);
/* Takes from the ring what is there, and puts what is done on the list. */
void dnd_queue_reap(struct donard_queue *queue);
/* Ends a request: its result is a number of bytes, or -errno with the context's text. */
void dnd_request_end(struct donard_queue *queue, struct dnd_queue_request *request, int64_t result);
/* Of what is done, for donard_queue_info(). */
void dnd_queue_count(struct donard_queue *queue, const struct donard_completion *completion);
/* The caller has taken further completions. */
void dnd_queue_forget_told(struct donard_queue *queue);
/* Gives back all that it holds. */
void dnd_request_recycle(struct donard_queue *queue, struct dnd_queue_request *request);

/* vouch.c: of the requests from @ended on, which nobody was told of yet, which went through DRAM unasked? */
void dnd_queue_vouch(struct donard_queue *queue, struct dnd_queue_request *ended);

/* bounce.c: through DRAM */
bool dnd_request_is_aligned(const struct dnd_queue_request *request);
/* Makes the buffer, and fills it where the request writes. */
int dnd_bounce_prepare(struct donard_queue *queue, struct dnd_queue_request *request);
/* Where it reads: puts what came into the memory.  The bytes, or -errno with a text. */
int64_t dnd_bounce_deliver(struct dnd_queue_request *request, uint64_t moved);

/* Until no request works, or with @registration none of its; 0 or -errno of the ring */
int dnd_queue_drain(struct donard_queue *queue, const struct dnd_queue_registration *registration);
/* The failures of the ring itself, which no request has. */
int dnd_queue_ring_failed(struct donard_queue *queue, int rc);

/* events.c: the descriptor is readable when there may be completions, and when a watched region asks */
void dnd_queue_tell(struct donard_queue *queue);
void dnd_queue_forget_event(struct donard_queue *queue);
void dnd_queue_watch(struct donard_queue *queue, const struct donard_memory *memory, bool watch);
void dnd_queue_close_events(struct donard_queue *queue);

/* source.c: for all sources of the queue */
void dnd_sources_work(struct donard_queue *queue);
void dnd_sources_forget(struct donard_queue *queue);
unsigned int dnd_sources_take(struct donard_queue *queue, struct donard_completion *completions,
			      unsigned int most);
unsigned int dnd_sources_cancel(struct donard_queue *queue, const void *user);
void dnd_sources_end(struct donard_queue *queue, bool inherited);
/* The wait of a queue that has sources: as dnd_ring_enter_timed() */
int dnd_sources_await(struct donard_queue *queue, unsigned int least, int64_t timeout_ns);

static inline uint32_t dnd_sources_done(const struct donard_queue *queue)
{
	uint32_t done = 0;

	for (const struct dnd_queue_source *source = queue->sources; source; source = source->next)
		done += source->done;
	return done;
}

static inline uint32_t dnd_sources_working(const struct donard_queue *queue)
{
	uint32_t working = 0;

	for (const struct dnd_queue_source *source = queue->sources; source; source = source->next)
		working += source->working;
	return working;
}

static inline void dnd_list_add(struct dnd_list *list, struct dnd_queue_request *request)
{
	request->next = NULL;
	*list->last = request;
	list->last = &request->next;
}

static inline struct dnd_queue_request *dnd_list_take(struct dnd_list *list)
{
	struct dnd_queue_request *request = list->first;

	if (request) {
		list->first = request->next;
		if (!list->first)
			list->last = &list->first;
	}
	return request;
}

static inline bool dnd_queue_may_bounce(const struct donard_queue *queue)
{
	return queue->options.flags & DONARD_QUEUE_ALLOW_BOUNCE;
}

#endif /* DND_QUEUE_H */
