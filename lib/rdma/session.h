/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client of a server: its protection domain and registration, what it may
 * do, and how it ends.  The memory is the server's and outlives it.
 */
#ifndef DONARD_RDMA_SESSION_H
#define DONARD_RDMA_SESSION_H

#include <sys/resource.h>

#include "rdma/address.h"
#include "rdma/heard.h"
#include "rdma/register.h"
#include "rdma/talk.h"

/* What the server offers to every client. */
struct dnd_service {
	struct donard_context *ctx;
	struct donard_memory *memory;
	unsigned int rights;
	unsigned int timeout_ms;
	bool may_fill;
	bool read_back;			/* wanted of clients of every device */
	/* Negative errno when the server has to end: told to, or region gone. */
	int (*must_end_fn)(void *user);
	void *user;
};

struct dnd_session {
	struct dnd_service *service;
	struct rdma_cm_id *id;		/* NULL: nobody is served */
	struct dnd_link link;
	uint64_t nonce;
	struct dnd_registration registration;
	struct dnd_heard heard;
	struct dnd_message answer;	/* that waits for a slot to be sent from; type 0: none does */
	char peer[DND_PEER_BYTES];
	char device[64];
	bool came;			/* the caller was told so */
	bool changed;			/* the memory may hold this client's bytes */
	bool durable;			/* what it wrote before its good-bye */
	uint64_t resets;		/* that the device had seen when it came */
	double started, alive_sent, looked;
	struct rusage usage;		/* of this process when it came */
	uint64_t filled_bytes, checked_bytes;
};

/*
 * Admits a client: takes over @id, registers, accepts.  On failure the client
 * has been rejected and @id destroyed.
 */
int dnd_session_begin(struct dnd_session *session, struct dnd_service *service,
		      struct rdma_cm_id *id);
/* Tells a client why not, and destroys @id. */
void dnd_session_reject(struct rdma_cm_id *id, enum dnd_rdma_status status);

/*
 * Serves what has come.  0 to go on; -ESHUTDOWN after a good-bye; else the
 * session is to end, and the context's text says why.  A verdict of must_end_fn
 * is passed on, and so is -EIO: the memory's device was reset.
 */
int dnd_session_serve(struct dnd_session *session);
/* How often the device was reset since the client came, as far as that is known. */
uint64_t dnd_session_resets(const struct dnd_session *session);
/* The text for a connection that ended without a good-bye. */
int dnd_session_lost(struct dnd_session *session);
/* Cuts the client off, unless it has left already: tells it, so far as that goes within a second or two. */
void dnd_session_withdraw(struct dnd_session *session, enum dnd_rdma_status status);
void dnd_session_end(struct dnd_session *session);

#endif /* DONARD_RDMA_SESSION_H */
