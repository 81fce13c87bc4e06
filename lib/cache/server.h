/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of a write cache: one thread, no locks.  Each round of its loop (serve.c)
 * takes what has come from all clients (session.c), appends and commits it as one
 * group (commit.c), goes on with reads (read.c), and with what goes to the drive
 * (destage.c).  These files call nothing of each other but of those that stand before.
 */
#ifndef DND_CACHE_SERVER_H
#define DND_CACHE_SERVER_H

#include "cache/log.h"
#include "cache/nvram.h"
#include "cache/tally.h"
#include "cache/wire.h"
#include "donard/cache.h"
#include "donard/file.h"
#include "donard/queue.h"
#include "memory/memory.h"
#include "rdma/rdma.h"

#define DND_CACHE_READS		8	/* at once, of all clients */
#define DND_CACHE_READS_SPARE	2	/* of these, for clients that have none under way */
#define DND_CACHE_READ_WRITES	64	/* work requests that a client's reads may have under way */

struct dnd_cache_server;

/* What a completion of the queue is for. */
struct dnd_cache_io {
	void (*done)(struct dnd_cache_server *server, struct dnd_cache_io *io,
		     const struct donard_completion *completion);
};

struct dnd_cache_request {
	struct dnd_wire_message message;
	enum dnd_wire_status status;		/* of its answer */
	struct dnd_cache_session *session;
	uint64_t received_ns;
	uint64_t sequence;			/* of a flush: that has to be on the drive */
	struct dnd_cache_request *next;		/* in the list that it is in */
};

struct dnd_cache_list {
	struct dnd_cache_request *first, **end;
};

struct dnd_cache_session {
	struct dnd_cache_server *server;
	struct rdma_cm_id *id;
	struct dnd_link link;
	struct dnd_registration written;	/* its window, which it writes */
	struct dnd_registration sent;		/* all of the memory, which only this side reads */
	unsigned int window;
	uint32_t depth, unanswered;
	uint64_t nonce;
	uint64_t taken_bytes;			/* of the window, as the client counts */
	uint64_t told_bytes;			/* released, as it was told */
	bool released_under_way, alive_due;
	bool came, said_bye, withdrawn;
	int ends;				/* -errno: it is to be ended, and @why says why */
	char why[DND_TEXT_BYTES];
	char peer[DND_PEER_BYTES];
	struct dnd_cache_request *requests;	/* as many as the depth */
	struct dnd_cache_list unused, waiting, reads, flushes, answers;
	uint32_t work_requests;			/* of reads, under way */
	double moved;				/* when the first of them was posted, or the last one left */
};

/* Bytes of a read that lie together in the memory. */
struct dnd_cache_piece {
	uint64_t at;
	uint64_t drive_offset;	/* of what the drive has to bring there; else UINT64_MAX */
	uint32_t length_bytes;
};

/* A read, from when it has a place to stage until its bytes have left. */
struct dnd_cache_read {
	struct dnd_cache_io io;
	struct dnd_cache_session *session;	/* NULL: the client has gone */
	struct dnd_cache_request *request;	/* NULL: answered */
	bool used;
	bool failed;
	uint64_t staging;			/* where, in the memory */
	struct dnd_cache_piece *pieces;		/* in the order of the drive */
	uint32_t count, asked, posted;		/* pieces: in all, that the drive was asked for, that were sent */
	uint32_t drive_reads, work_requests;	/* under way */
	uint64_t drive_bytes;			/* that the drive was asked for and has not given */
	uint64_t sent_bytes;
};

enum dnd_destage_state {
	DND_DESTAGE_IDLE,
	DND_DESTAGE_WRITING,
	DND_DESTAGE_FLUSHING,
	DND_DESTAGE_RETIRING,	/* waits for reads */
	DND_DESTAGE_PAUSED,	/* after an error */
};

struct dnd_destage {
	struct dnd_cache_io write_io, flush_io;
	enum dnd_destage_state state;
	struct dnd_cache_plan plan;
	size_t next;			/* of plan.writes */
	uint64_t done_bytes;		/* that the drive took */
	uint32_t under_way;
	size_t next_trim;		/* of plan.trims */
	uint64_t trimmed_bytes;		/* of that one */
	bool failed, filling;		/* filling: between the marks, on the way down */
	uint64_t pause_ms, until_ns;
};

struct dnd_cache_server {
	struct donard_context *ctx;
	struct donard_cache_serve_options options;
	struct dnd_cache_nvram nvram;
	bool persistent;		/* its barrier makes it durable */
	struct donard_file *file;
	struct donard_file_info drive;
	struct donard_queue *queue;
	struct dnd_listener listener;
	struct dnd_cache_log log;
	struct dnd_cache_session **sessions;	/* by window; NULL: nobody has it */
	struct dnd_cache_read reads[DND_CACHE_READS];
	struct dnd_destage destage;
	struct dnd_tally tally;
	uint32_t request_bytes_max;
	uint32_t active_reads;			/* that use the log: their records stay */
	unsigned int reads_turn;		/* window of the client whose read is begun next */
	uint64_t written_ns;			/* when the last write came */
	uint64_t *appended_ns;			/* when each record came, at its place */
	bool starved;				/* a request waits for a place of a record */
	bool turned_away;			/* a client found no window while records of one that left had one */
	bool draining;
	bool log_open;
	bool drive_gone;
	int status_fd;
	char status_path[108];
	dev_t status_device;		/* of the socket of that name */
	ino_t status_inode;
	bool again;				/* what was in the way of requests has gone: another round at once */
	int ends;				/* -errno: the server is to end */
	struct dnd_failure why;			/* and the text that says why */
	/* read.c's: a piece has left; a client goes, whose queue pair is gone already. */
	void (*read_sent)(struct dnd_cache_server *server, uint64_t number);
	void (*forget_reads)(struct dnd_cache_server *server, struct dnd_cache_session *session);
};

static inline void dnd_cache_list_init(struct dnd_cache_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

static inline void dnd_cache_list_add(struct dnd_cache_list *list, struct dnd_cache_request *request)
{
	request->next = NULL;
	*list->end = request;
	list->end = &request->next;
}

static inline struct dnd_cache_request *dnd_cache_list_take(struct dnd_cache_list *list)
{
	struct dnd_cache_request *request = list->first;

	if (request)
		list->first = request->next;
	if (!list->first)
		list->end = &list->first;
	return request;
}

/* tell.c */
void dnd_cache_tell(const struct dnd_cache_server *server, enum donard_cache_event_type type,
		    const char *peer, const char *text, uint64_t number);
/* The server ends if this word of a failure says that the drive is gone. */
void dnd_cache_check_gone(struct dnd_cache_server *server, const char *code);

/* session.c */
/* Takes over @id; a client that cannot be admitted is told why, and nothing remains of it. */
void dnd_cache_admit(struct dnd_cache_server *server, struct rdma_cm_id *id, uint32_t depth);
void dnd_cache_refuse(struct dnd_cache_server *server, struct rdma_cm_id *id, const char *why,
		      enum dnd_wire_status status);
/* Takes the messages that have come. */
void dnd_cache_session_take(struct dnd_cache_session *session);
/* Puts the answer of a request into turn; it is no longer the caller's. */
void dnd_cache_answer(struct dnd_cache_request *request, enum dnd_wire_status status);
/* Sends what is in turn: answers, what was released, signs of life. */
void dnd_cache_session_send(struct dnd_cache_session *session);
void dnd_cache_session_fail(struct dnd_cache_session *session, int error_number, const char *why);
/* Tells the client, so far as that goes within a moment. */
void dnd_cache_session_withdraw(struct dnd_cache_session *session, enum dnd_wire_status status);
/* Fences the client, and forgets it: its queue pair first, then the memory. */
void dnd_cache_session_end(struct dnd_cache_session *session);

/* commit.c: APPEND of all that waits, one BARRIER, ACK. */
void dnd_cache_group(struct dnd_cache_server *server);

/* read.c */
int dnd_cache_reads_open(struct dnd_cache_server *server);
void dnd_cache_reads_close(struct dnd_cache_server *server);
void dnd_cache_reads_step(struct dnd_cache_server *server);

/* destage.c */
void dnd_cache_destage_step(struct dnd_cache_server *server);
/* Until when nothing is to be done for it, unless something happens; UINT64_MAX: for ever. */
uint64_t dnd_cache_destage_due_ns(const struct dnd_cache_server *server);
unsigned int dnd_cache_fill_percent(const struct dnd_cache_server *server);
void dnd_cache_destage_close(struct dnd_cache_server *server);

/* report.c */
int dnd_cache_report_open(struct dnd_cache_server *server);
void dnd_cache_report(struct dnd_cache_server *server);
void dnd_cache_report_close(struct dnd_cache_server *server);

/* start.c: NVRAM, drive, log and queue, or a refusal that leaves all as it was. */
int dnd_cache_start(struct dnd_cache_server *server);
void dnd_cache_end(struct dnd_cache_server *server);

/* The context's text is the reason why the server ends; other failures may follow in the same round. */
static inline void dnd_cache_server_fail(struct dnd_cache_server *server, int rc)
{
	if (server->ends)
		return;
	server->ends = rc;
	server->why = dnd_failure_keep(server->ctx);
}

static inline bool dnd_cache_log_empty(const struct dnd_cache_log *log)
{
	return log->tail == log->next;
}

/* Of a session's window, as the client counts. */
static inline uint64_t dnd_cache_released(const struct dnd_cache_session *session)
{
	return session->taken_bytes - session->server->log.windows[session->window].used_bytes;
}

#endif /* DND_CACHE_SERVER_H */
