/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of a write cache: one thread, no locks.  Only trims of the drive have a thread of their own (trimmer.c).
 * Each round of the loop (serve.c) takes the messages of all clients (session.c), appends and commits them as one group
 * (commit.c), and continues with reads (read.c) and with writes to the drive (destage.c, readback.c).
 * In the order session.c, commit.c, read.c, readback.c, destage.c, each calls only those before it.
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

#define DND_CACHE_READS		8	/* the most reads at once, of all clients together */
#define DND_CACHE_READS_SPARE	2	/* how many of these are kept for clients that have none under way */
#define DND_CACHE_READ_WRITES	64	/* the most work requests under way for a client's reads */

struct dnd_cache_server;
struct dnd_trimmer;

/* The target of a completion of the queue. */
struct dnd_cache_io {
	void (*done)(struct dnd_cache_server *server, struct dnd_cache_io *io,
		     const struct donard_completion *completion);
};

struct dnd_cache_request {
	struct dnd_wire_message message;
	enum dnd_wire_status status;		/* of its answer */
	struct dnd_cache_session *session;
	uint64_t received_ns;
	uint64_t sequence;			/* of a flush: the last record that has to be on the drive */
	struct dnd_cache_request *next;		/* in the list that it is in */
};

struct dnd_cache_list {
	struct dnd_cache_request *first, **end;
};

struct dnd_cache_session {
	struct dnd_cache_server *server;
	struct rdma_cm_id *id;
	struct dnd_link link;
	struct dnd_registration written;	/* the client's window, which it writes */
	struct dnd_registration sent;		/* all of the memory, from which only this side sends */
	unsigned int window;
	uint32_t depth, unanswered;
	uint64_t nonce;
	uint64_t admitted_ns;
	uint64_t said_ns;			/* when its last message came */
	bool passed_by;		/* its requests wait for those of another client (commit.c) */
	uint64_t taken_bytes;			/* bytes of the window taken since the beginning, as the client counts */
	uint64_t told_bytes;			/* how many of these the client knows to be released */
	bool released_under_way, alive_due;
	bool told_failing;			/* the client knows that the drive fails */
	bool came, said_bye, withdrawn;
	bool told_withdrawn, farewell_over;	/* the message "withdrawn" was sent; nothing more can be sent */
	int ends;				/* -errno: the session is to end, and @why says why */
	char why[DND_TEXT_BYTES];
	char peer[DND_PEER_BYTES];
	struct dnd_cache_request *requests;	/* depth of them */
	struct dnd_cache_list unused, waiting, reads, flushes, answers;
	uint32_t work_requests;			/* of reads, under way */
	double moved;				/* when the first of them was posted, or the last one completed */
	uint64_t sending_ns;			/* when the first of them was posted after none was under way */
};

/* Bytes of a read that are contiguous in the memory. */
struct dnd_cache_piece {
	uint64_t at;
	uint64_t drive_offset;	/* the drive reads them from here; UINT64_MAX: they are in the log */
	uint32_t length_bytes;
};

/* A read, from the time that it has a staging place until its bytes were sent. */
struct dnd_cache_read {
	struct dnd_cache_io io;
	struct dnd_cache_session *session;	/* NULL: the client has gone */
	struct dnd_cache_request *request;	/* NULL: it was answered */
	bool used;
	enum dnd_wire_status status;		/* DND_WIRE_OK, unless it failed */
	uint64_t staging;			/* its staging place in the memory */
	struct dnd_cache_piece *pieces;		/* in the order of the drive */
	uint32_t count, asked, posted;		/* pieces: all, those in the log or asked of the drive, those sent */
	uint32_t drive_reads, work_requests;	/* how many are under way */
	uint64_t drive_bytes;			/* how many bytes the drive was asked for and has not delivered */
	uint64_t sent_bytes;
};

enum dnd_destage_state {
	DND_DESTAGE_IDLE,
	DND_DESTAGE_WRITING,
	DND_DESTAGE_FLUSHING,
	DND_DESTAGE_RETIRING,	/* waits until no read uses the log, and reads back what the drive was given */
	DND_DESTAGE_PAUSED,	/* waits after an error */
};

struct dnd_readback {
	struct dnd_cache_io io;
	unsigned int excluded;		/* failures ruled out (NOT_ZEROS, NOT_ONES); with all, nothing more is read back */
	size_t run;			/* the block that is looked at: which of plan.writes has it, and where */
	uint64_t offset;
	unsigned int doubted;		/* 1 + the window (without a client) for which the plan was written again; 0: none */
	bool asked, arrived;		/* the drive was asked for it, and has answered */
	int64_t result;
	char why[DND_TEXT_BYTES];
};

struct dnd_destage {
	struct dnd_cache_io write_io, flush_io;
	enum dnd_destage_state state;
	struct dnd_cache_plan plan;
	size_t next;			/* index in plan.writes */
	uint64_t done_bytes;		/* how many bytes the drive took */
	uint32_t under_way;
	bool untrimmed, trimming;	/* plan.trims are to be begun; the thread has begun them */
	bool failed, filling;		/* filling: the log reached the high mark, and not the low one since */
	uint64_t pause_ms, until_ns;
	uint64_t retiring_ns;		/* when the state became DND_DESTAGE_RETIRING */
	struct dnd_readback readback;
	char why[DND_TEXT_BYTES];	/* the last error, while dnd_cache_drive_fails() */
};

struct dnd_cache_server {
	struct donard_context *ctx;
	struct donard_cache_serve_options options;
	struct dnd_cache_nvram nvram;
	bool persistent;		/* a barrier makes data durable */
	struct donard_file *file;
	struct donard_file_info drive;
	struct donard_queue *queue;
	struct dnd_trimmer *trimmer;
	struct dnd_listener listener;
	struct dnd_cache_log log;
	struct dnd_cache_session **sessions;	/* by window; NULL: no client has it */
	struct dnd_cache_read reads[DND_CACHE_READS];
	struct dnd_destage destage;
	struct dnd_tally tally;
	uint32_t request_bytes_max;
	uint32_t active_reads;			/* reads that may still use records; while there are any, no record is retired */
	unsigned int reads_turn;		/* window of the client whose read begins next */
	unsigned int group_turn;		/* window of the client whose requests are taken first */
	uint64_t written_ns;			/* when the last write or trim came */
	uint64_t *appended_ns;			/* when each record came, by its place */
	bool sound;				/* in this round a barrier has found the NVRAM as it was */
	bool starved;				/* a request waits for the place of a record */
	bool no_window_free;			/* all windows were taken; true while any has records of a client that left */
	bool draining;
	bool log_open;
	bool of_program;			/* the memory and the file are the program's, which holds them, too */
	bool file_locked;
	bool drive_gone;
	int status_fd;
	bool status_stuck;		/* a status request cannot be accepted now, for instance for want of a descriptor */
	char status_path[108];
	dev_t status_device;		/* identifies the socket of that name, with status_inode */
	ino_t status_inode;
	struct pollfd *fds;			/* what the server waits for: room for all windows */
	int queue_fd;
	bool again;				/* there is more to do: start the next round at once */
	bool idle;				/* nothing has happened before this round */
	int ends;				/* -errno: the server is to end */
	struct dnd_failure why;			/* the reason, with its text */
	/* Set by read.c.  Called when a piece was sent, and when a client leaves, after its queue pair was destroyed. */
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
/* Ends the server if the drive is gone; @code is the word of the failure that was seen. */
void dnd_cache_check_gone(struct dnd_cache_server *server, const char *code);

/* session.c */
/* Returns a window that holds nothing and has no client; SIZE_MAX if there is none. */
size_t dnd_cache_free_window(const struct dnd_cache_server *server);
/* Takes over @id.  If the client cannot be admitted, tells it why, and destroys @id. */
void dnd_cache_admit(struct dnd_cache_server *server, struct rdma_cm_id *id, uint32_t depth, uint8_t reads);
void dnd_cache_refuse(struct dnd_cache_server *server, struct rdma_cm_id *id, const char *why,
		      enum dnd_wire_status status);
/* Takes the messages that have come. */
void dnd_cache_session_take(struct dnd_cache_session *session);
/* Queues the answer of a request, and takes the request over. */
void dnd_cache_answer(struct dnd_cache_request *request, enum dnd_wire_status status);
/* Sends what is queued or due: answers, released, alive. */
void dnd_cache_session_send(struct dnd_cache_session *session);
/* Marks the session as one that ends, unless it is marked already. */
void dnd_cache_session_fail(struct dnd_cache_session *session, int error_number, const char *why);
/* Ends it because the connection ended, after the good-bye or without one. */
void dnd_cache_session_lost(struct dnd_cache_session *session);
/* Tells the client that the server withdraws.  Returns true while that may still be on its way: then call it again. */
bool dnd_cache_session_withdraw(struct dnd_cache_session *session, enum dnd_wire_status status);
/* Cuts the client off and forgets it; destroys its queue pair first, then the registrations. */
void dnd_cache_session_end(struct dnd_cache_session *session);

/* commit.c: APPEND of the waiting requests, one BARRIER, ACK. */
void dnd_cache_group(struct dnd_cache_server *server);
/*
 * Computes the checksum of the bytes that are in the NVRAM now, whatever a client or the network did to them.  Ends the server
 * and returns -errno if they cannot be read.
 */
int dnd_cache_sum_bytes(struct dnd_cache_server *server, uint64_t at, uint64_t length, uint32_t *sum);
/*
 * To be asked when bytes have been read from the NVRAM, before anybody relies on them, and before the drive fetches any: after
 * a reset of the device they are arbitrary.  One barrier in a round is enough for all.  If it fails, ends the server.
 */
bool dnd_cache_nvram_sound(struct dnd_cache_server *server);

/* read.c */
int dnd_cache_reads_open(struct dnd_cache_server *server);
void dnd_cache_reads_close(struct dnd_cache_server *server);
void dnd_cache_reads_step(struct dnd_cache_server *server);

/* readback.c */
/* To be called when a plan is begun, or begun again. */
void dnd_cache_read_back_anew(struct dnd_cache_server *server);
/*
 * To be called before the tail moves, when no read is under way and none begins.  Reads back only what can still rule out a
 * failure.  Returns 1 if the drive has what it was given; 0 if this has to be called again; -EAGAIN without a text if the plan
 * has to be written again, since a client may have changed its bytes meanwhile; another -errno with a text if the drive has
 * something else.
 */
int dnd_cache_read_back(struct dnd_cache_server *server);

/* destage.c */
void dnd_cache_destage_step(struct dnd_cache_server *server);
/* When it has to continue if nothing else happens; UINT64_MAX: never. */
uint64_t dnd_cache_destage_due_ns(const struct dnd_cache_server *server);
/* Has the drive failed something that it has not done since? */
static inline bool dnd_cache_drive_fails(const struct dnd_cache_server *server)
{
	return server->destage.failed || server->destage.pause_ms;
}

unsigned int dnd_cache_fill_percent(const struct dnd_cache_server *server);
void dnd_cache_destage_close(struct dnd_cache_server *server);

/* report.c */
int dnd_cache_report_open(struct dnd_cache_server *server);
void dnd_cache_report(struct dnd_cache_server *server);
void dnd_cache_report_close(struct dnd_cache_server *server);

/* handles.c: opens NVRAM and drive, or checks and holds the program's handles of them.  dnd_cache_end() releases them. */
int dnd_cache_open_handles(struct dnd_cache_server *server, const char *nvram, const char *backing);
int dnd_cache_take_handles(struct dnd_cache_server *server, struct donard_memory *nvram, struct donard_file *backing);
int dnd_cache_lock_file(struct dnd_cache_server *server);
void dnd_cache_unlock_file(struct dnd_cache_server *server);

/* start.c: makes NVRAM, drive, queue, status socket and log ready; if it refuses one of them, it leaves all as it was. */
int dnd_cache_start(struct dnd_cache_server *server);
void dnd_cache_end(struct dnd_cache_server *server);

/* Ends the server with the context's failure.  Keeps the first one, since others may follow in the same round. */
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

/* How many bytes of the session's window are released since the beginning, as the client counts. */
static inline uint64_t dnd_cache_released(const struct dnd_cache_session *session)
{
	return session->taken_bytes - session->server->log.windows[session->window].used_bytes;
}

#endif /* DND_CACHE_SERVER_H */
