/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client of a server: its protection domain and registration, what it may
 * do, and how it ends.  The memory belongs to the server and outlives the session.
 */
#ifndef DONARD_RDMA_SESSION_H
#define DONARD_RDMA_SESSION_H

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
	uint32_t services;		/* of the program that serves */
	donard_rdma_answer_fn answer_fn;
	void *answer_user;
	bool read_back;			/* clients must read back whatever device they use */
	/* Called during long work.  Returns a negative errno if the server has to end: it was told to, or its region is gone. */
	int (*meanwhile_fn)(void *user);
	void *user;
};

struct dnd_session {
	struct dnd_service *service;
	struct rdma_cm_id *id;		/* NULL: there is no client */
	struct dnd_link link;
	uint64_t nonce;
	struct dnd_registration registration;
	struct dnd_heard heard;
	struct dnd_message answer;	/* waits for a free send slot; type 0: there is none */
	char peer[DND_PEER_BYTES];
	char device[64];
	bool over;			/* an event said that the connection is over; set by the server */
	bool came;			/* the caller knows that this client came */
	bool changed;			/* the memory may hold this client's bytes */
	bool durable;			/* what it wrote before its good-bye is durable */
	uint64_t resets;		/* how many the device had seen when the client came */
	double started, alive_sent, looked;
	bool told;			/* the failure that ends the session has its text already */
	int kept_up;			/* what donard_rdma_keep_up() last returned to the program */
};

/*
 * Admits a client, which asks for up to @reads READs at a time: takes over @id, registers the memory, accepts.  If
 * that fails, the client has been rejected and @id destroyed.
 */
int dnd_session_begin(struct dnd_session *session, struct dnd_service *service,
		      struct rdma_cm_id *id, uint8_t reads);
/* Tells a client why it is rejected, and destroys @id. */
void dnd_session_reject(struct rdma_cm_id *id, enum dnd_rdma_status status);

/*
 * Serves the messages that have come.  Returns 0 if the session continues, -ESHUTDOWN after
 * a good-bye.  Else the session must end, and the context's text says why.  The errors of
 * meanwhile_fn are passed on, and so is -EIO: the memory's device was reset.
 */
int dnd_session_serve(struct dnd_session *session);
/* How often the device was reset since the client came, as far as the kernel has noticed. */
uint64_t dnd_session_resets(const struct dnd_session *session);
/* Fails because the connection ended; returns -ESHUTDOWN if the client had said good-bye. */
int dnd_session_lost(struct dnd_session *session);
/*
 * Cuts the client off, unless it has left already, and tries for a second or two to tell it.  If it has left, waits as long for
 * the answer to its good-bye to be delivered.
 */
void dnd_session_withdraw(struct dnd_session *session, enum dnd_rdma_status status);
void dnd_session_end(struct dnd_session *session);

#endif /* DONARD_RDMA_SESSION_H */
