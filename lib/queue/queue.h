/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a queue share.  A request is cut into parts, and each part is one
 * transfer of the ring.  Its bytes go directly, or through a buffer in DRAM.
 *
 * A request holds its file and its memory until the program takes its completion, so
 * that the program may close and free both meanwhile.  A registration holds its memory, an attachment both.
 * A pair holds neither file nor memory, and knows them by identity.
 */
#ifndef DND_QUEUE_H
#define DND_QUEUE_H

#include "donard/queue.h"
#include "join/join.h"
#include "memory/memory.h"
#include "ring/ring.h"

#define DND_PAIRS_MAX		256
#define DND_REGISTRATIONS_MAX	64

/* What the queue knows of a file and a memory: the way of requests between them. */
struct dnd_pair {
	uint64_t file, memory;		/* identities */
	struct donard_route route;
	char client[DONARD_BDF_BYTES];
	size_t leg;			/* @route and @client are those of this leg */
	struct dnd_join_legs legs;
	bool read_proven, write_proven;	/* by a block that was moved, or as far as this pair allows */
	bool reads, writes;		/* the way was decided for reads, for writes */
	bool bounced;
	bool attaches;			/* the drive's driver imports the memory */
	double asked_seconds;		/* when the file system was last asked */
	double tried_seconds;		/* when a block was last moved to prove it */
};

struct dnd_queue_registration {
	struct donard_memory *memory;	/* NULL: free */
	struct dnd_buffers buffers;
	uint32_t users;			/* requests in flight */
	bool leaving;			/* takes no new requests, because its region is being removed */
};

struct dnd_queue_request;

struct dnd_part {
	struct dnd_io io;		/* first, so that the ring's pointer is the part's */
	struct dnd_queue_request *request;
	struct dnd_part *next, *previous;	/* in the list of its request, or of idle parts */
	uint64_t at;			/* from the start of the request's transfer */
};

/* A failure, which outlives its request. */
struct dnd_told {
	struct dnd_failure failure;
	struct donard_failure data;	/* for the program: points into the one above */
	struct dnd_told *next;
};

struct dnd_queue_request {
	struct donard_completion completion;
	struct dnd_told *told;		/* the completion's strings, or NULL */
	struct dnd_queue_request *next;	/* in the list of idle or of done requests */
	struct donard_file *file;
	struct donard_memory *memory;	/* NULL: a flush */
	uint64_t file_offset, memory_offset, length;
	enum dnd_io_kind kind;
	struct dnd_queue_registration *registration;	/* or NULL */
	const struct dnd_attached *attached;	/* or NULL */
	const struct dnd_generic *generic;	/* or NULL */
	int fd;				/* without O_DIRECT if the request does not cover whole blocks */
	uint8_t *dram;			/* buffer of a bounced request, or NULL */
	struct dnd_part *first_part;	/* the list of the parts in flight */
	uint32_t parts;			/* how many are in flight */
	uint64_t ended_at;		/* where the first incomplete part ended */
	int64_t error;			/* of that part, or 0 at the end of the file */
	uint32_t nvme_status;
	bool ends;			/* it was canceled, or the queue closes */
	bool moved;			/* some of its bytes were moved, though maybe not its first ones */
	uint8_t *asks;			/* buffer of the read that asks whether DRAM gets the failed block, or NULL */
	enum dnd_dram dram_answer;	/* DND_DRAM_ASK_LATER, or the answer of that read */
};

/*
 * A source is something else whose completions the queue delivers, such as a
 * connection.  The queue polls it, waits for it, and ends it, but does not know what
 * the source does.  All calls come from the queue's thread.
 *
 * The source belongs to the code that added it.  If the queue is closed first, it
 * ends the source, which then has no queue.
 */
struct dnd_queue_source;

struct dnd_queue_source_ops {
	/*
	 * Does what can be done without waiting, and updates the counts below.
	 * Afterwards the descriptor becomes readable when there is something new to do.
	 */
	void (*work)(struct dnd_queue_source *source);
	/* Hands over one of the @done completions; its strings live until forget(). */
	void (*take)(struct dnd_queue_source *source, struct donard_completion *completion);
	void (*forget)(struct dnd_queue_source *source);
	/* Returns how many requests of @user are working; those that have not begun end with -ECANCELED. */
	unsigned int (*cancel)(struct dnd_queue_source *source, const void *user);
	/*
	 * The queue closes: after this call nothing writes into the memory of a request.
	 * With @inherited this is the child's copy of a queue of the parent, whose requests go on.
	 */
	void (*end)(struct dnd_queue_source *source, bool inherited);
};

struct dnd_queue_source {
	const struct dnd_queue_source_ops *ops;
	int fd;			/* readable when there is something to do */
	uint32_t working;	/* requests that are not done */
	uint32_t done;		/* completions to be taken */
	struct donard_queue *queue;	/* the queue sets this and @next; NULL: in no queue */
	struct dnd_queue_source *next;
};

/* Adds a source until dnd_queue_source_remove(), or the queue's end.  Returns 0, or -errno with a text. */
int dnd_queue_source_add(struct donard_queue *queue, struct dnd_queue_source *source);
/* Called outside of work(): the source has a completion, or something to do. */
void dnd_queue_source_tell(struct dnd_queue_source *source);
/* The completions of the source are lost.  Does nothing to a source without a queue. */
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
	struct dnd_uring_refusal refusal;	/* empty, unless the ring uses Linux AIO */
	struct dnd_queue_request *requests;	/* as many as the depth */
	struct dnd_queue_request *idle;
	struct dnd_part *idle_parts;
	uint64_t idle_part_count;
	struct dnd_part **chunks;	/* the allocations that hold the parts */
	size_t chunk_count;
	struct dnd_list done;		/* requests whose completions are to be taken */
	uint32_t done_count;
	struct dnd_told *told;		/* texts of the completions that the caller took last */
	uint32_t working;		/* requests that are not done */
	uint32_t plain_working;		/* those of them that go through the page cache */
	struct dnd_pair pairs[DND_PAIRS_MAX];
	size_t pair_count, next_pair;
	struct dnd_pair *latest;
	struct dnd_queue_registration registrations[DND_REGISTRATIONS_MAX];
	size_t registration_count;	/* places that were ever taken */
	struct dnd_queue_attachment *attachments;	/* nearly always NULL */
	struct dnd_queue_source *sources;	/* nearly always NULL */
	struct donard_queue_info info;
	double looked_seconds;
	bool batch_begun;		/* a request came since the last submit, wait or poll */
	int epoll_fd, event_fd;		/* -1: nobody asked */
};

/* thread.c: gives the queue to the calling thread; checks that it is the calling thread's */
int dnd_queue_own(struct donard_queue *queue);
int dnd_queue_check_thread(const struct donard_queue *queue);
/* Did this process inherit the queue by fork()?  Then it is the parent's. */
bool dnd_queue_inherited(const struct donard_queue *queue);

/* pair.c: finds or makes the request's pair, and proves it for this request; sets @pair, or fails with a text */
int dnd_pair_find(struct donard_queue *queue, const struct dnd_queue_request *request,
		  struct dnd_pair **pair);
/* Has each pair of the file judged again at its next request. */
void dnd_pairs_judge_again(struct donard_queue *queue, const struct donard_file *file);
/* The join of a request's pair, for the text of a failed request. */
struct dnd_join dnd_pair_join_of(const struct donard_queue *queue,
				 const struct dnd_queue_request *request);

/* register.c */
struct dnd_queue_registration *dnd_queue_registration_find(struct donard_queue *queue,
							   const struct donard_memory *memory);
/* Checks now and then, and lets go of memory whose region is being removed. */
void dnd_queue_look_after(struct donard_queue *queue);
/* Is memory of a region registered with the ring, which the region's removal waits for? */
bool dnd_queue_pins_region(const struct donard_queue *queue);
/*
 * Each batch of requests is looked after once: at its first request, since the program may have slept for long before it, or
 * at the end of a batch that had none.
 */
void dnd_queue_begin_batch(struct donard_queue *queue);
void dnd_queue_end_batch(struct donard_queue *queue);
void dnd_queue_unregister_all(struct donard_queue *queue);

/* attach.c: is the memory one that a drive's driver may import, and that no drive reaches otherwise? */
bool dnd_queue_may_attach(const struct donard_queue *queue, const struct donard_memory *memory);
/* The attachment of the request's memory to its file, or NULL; it stays while a request uses it. */
const struct dnd_attached *dnd_queue_attached(const struct donard_queue *queue, const struct dnd_queue_request *request);
bool dnd_queue_has_attached(const struct donard_queue *queue, const struct donard_memory *memory);
/* Attaches them, unless they are; false without a text if that is impossible. */
bool dnd_queue_attach(struct donard_queue *queue, const struct dnd_queue_request *request);
/*
 * The first ends each attachment whose file or memory is held by attachments alone.  The second ends the attachments of
 * @memory, or all if @memory is NULL; no request may use them then.
 */
void dnd_queue_detach_given_up(struct donard_queue *queue);
void dnd_queue_detach(struct donard_queue *queue, const struct donard_memory *memory);
/* Only drops the references, and leaves the ring alone, which is the parent's or another thread's. */
void dnd_queue_forget_attachments(struct donard_queue *queue);

/* transfer.c: makes sure that there are enough parts for the request; then starts its transfer */
int dnd_queue_transfer_reserve(struct donard_queue *queue, const struct dnd_queue_request *request);
void dnd_queue_transfer_start(struct donard_queue *queue, struct dnd_queue_request *request);
/* Asks the kernel to cancel the request, which ends in any case. */
void dnd_queue_transfer_cancel(struct donard_queue *queue, struct dnd_queue_request *request);
/* Takes all completions from the ring, and puts the requests that are done on the list. */
void dnd_queue_reap(struct donard_queue *queue);
/* Ends a request: its result is a number of bytes, or -errno with the context's text. */
void dnd_queue_request_end(struct donard_queue *queue, struct dnd_queue_request *request, int64_t result);
/* Counts a completion for donard_queue_info(). */
void dnd_queue_count(struct donard_queue *queue, const struct donard_completion *completion);
/* Frees the texts of the completions that the caller took last, because it takes further ones. */
void dnd_queue_forget_told(struct donard_queue *queue);
/* Copies the context's failure into the completion; the caller then restores the earlier one.  Returns what holds it, or NULL. */
struct dnd_told *dnd_told_make(const struct donard_context *ctx, struct donard_completion *completion);
/* Releases everything that the request holds, and makes it idle. */
void dnd_queue_request_recycle(struct donard_queue *queue, struct dnd_queue_request *request);

/* vouch.c: marks requests that the file system bounced; @ended is the first one that was not reported yet */
void dnd_queue_vouch(struct donard_queue *queue, struct dnd_queue_request *ended);

/* bounce.c: requests that go through DRAM; is the request aligned for direct I/O? */
bool dnd_queue_request_is_aligned(const struct dnd_queue_request *request);
/* Does it cover whole blocks of its file?  Any other goes through the page cache. */
bool dnd_queue_request_is_whole(const struct dnd_queue_request *request);
/* Allocates the buffer, and fills it if the request writes. */
int dnd_queue_bounce_prepare(struct donard_queue *queue, struct dnd_queue_request *request);
/* If the request reads, stores the @moved bytes into the memory.  Returns @moved, or -errno with a text. */
int64_t dnd_queue_bounce_deliver(struct dnd_queue_request *request, uint64_t moved);

/*
 * pages.c: keeps a direct write and a request through the page cache apart if they share a page: else the page cache could keep
 * old bytes of it.  Call it before the request is prepared; it waits until no such other request is in flight.  While
 * queue->plain_working is 0, only a request that is not aligned needs this.  Returns 0 or -errno with a text.
 */
int dnd_queue_keep_apart(struct donard_queue *queue, const struct dnd_queue_request *request);

/* Waits until no request works, or none of @registration if that is given.  Returns 0 or -errno of the ring. */
int dnd_queue_drain(struct donard_queue *queue, const struct dnd_queue_registration *registration);
/* The failure of the ring itself, which belongs to no request. */
int dnd_queue_ring_failed(struct donard_queue *queue, int rc);

/* events.c: the descriptor is readable when there may be completions, and when a watched region is being removed */
void dnd_queue_tell(struct donard_queue *queue);
void dnd_queue_forget_event(struct donard_queue *queue);
void dnd_queue_watch(struct donard_queue *queue, const struct donard_memory *memory, bool watch);
void dnd_queue_close_events(struct donard_queue *queue);

/* source.c: calls for all sources of the queue */
void dnd_sources_work(struct donard_queue *queue);
void dnd_sources_forget(struct donard_queue *queue);
unsigned int dnd_sources_take(struct donard_queue *queue, struct donard_completion *completions,
			      unsigned int most);
unsigned int dnd_sources_cancel(struct donard_queue *queue, const void *user);
void dnd_sources_end(struct donard_queue *queue, bool inherited);
/* Waits for a queue that has sources; returns as dnd_ring_enter_timed() does */
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

/* Does a prepared request go through the page cache?  The kernel then chooses how to cut it. */
static inline bool dnd_queue_request_is_plain(const struct dnd_queue_request *request)
{
	return request->fd != request->file->drive.fd;
}

static inline bool dnd_queue_may_bounce(const struct donard_queue *queue)
{
	return queue->options.flags & DONARD_QUEUE_ALLOW_BOUNCE;
}

#endif /* DND_QUEUE_H */
