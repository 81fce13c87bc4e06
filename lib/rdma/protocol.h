/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between a donard client and a donard server.
 *
 *   client                                     server
 *     connect, with a hello             ->
 *                                       <-     accept, with an offer
 *                                              (or reject, with an offer whose
 *                                              status says why)
 *     SEND: take, or bye                ->
 *     RDMA WRITE, RDMA READ at will
 *     (RDMA READ of written data)       ->
 *     SEND: ping, ask, sync, bye        ->
 *                                       <-     SEND: alive, done
 *                                       <-     SEND: withdrawn, at any time
 *
 * A client sends take once it knows that the offer is what it wants, and its near side
 * is ready; before that, it may only send bye.  The server counts the clients that sent
 * take.  Take has no answer; alive answers ping; one "done" with the same sequence
 * number answers every other request.  During long work, such as a barrier, the server
 * sends alive unasked.
 *
 * An ask is for the program that serves: the protocol knows neither its services nor what
 * its numbers mean.
 *
 * Before the server answers ask, sync and bye, it runs the barrier of its memory's device.
 * Data written before a sync or a bye are durable once it is answered, if the answer says so.
 * If the offer asks for it (read_back), a client that wrote reads the end of the written
 * data back before ask, sync and bye; the completion shows that no device of the server
 * holds bytes back any more.  If the device is reset while the client is connected, the
 * server ends the connection by a withdrawn that says so.
 *
 * All numbers are big-endian; reserved bytes are zero.  Encoding and decoding refuse
 * whatever they do not know, and touch no device.
 */
#ifndef DONARD_RDMA_PROTOCOL_H
#define DONARD_RDMA_PROTOCOL_H

#include "base/base.h"
#include "donard/rdma.h"

#define DND_RDMA_VERSION	5
#define DND_HELLO_BYTES		16
#define DND_OFFER_BYTES		80
#define DND_MESSAGE_BYTES	64
#define DND_TARGET_BYTES	24
#define DND_RIGHTS		(DONARD_RDMA_READ | DONARD_RDMA_WRITE)

enum dnd_rdma_status {
	DND_STATUS_OK,
	DND_STATUS_VERSION,	/* the peer has another version of the protocol */
	DND_STATUS_BUSY,	/* another client has the memory */
	DND_STATUS_LOCAL_ONLY,	/* the client is on another machine */
	DND_STATUS_NO_READING,	/* the connection could carry READs, but clients may only write */
	DND_STATUS_CANNOT_OFFER, /* the memory could not be registered for this client */
	DND_STATUS_REGION_GONE,
	DND_STATUS_STOPPED,	/* the server was told to end; in a bye: the client stopped early */
	DND_STATUS_RESET,	/* the device of the sender's memory was reset: moved data may be lost */
	DND_STATUS_COUNT
};

enum dnd_rdma_type {
	DND_PING = 1,
	DND_TAKE,
	DND_ASK,	/* asks the serving program about the range */
	DND_SYNC,	/* what was written before is to be durable */
	DND_BYE,
	DND_ALIVE,
	DND_DONE,
	DND_WITHDRAWN,
	DND_TYPE_END
};

/**
 * struct dnd_hello - what a client sends with its connection request
 * @reads_optional: if the server refuses the connection because it could carry READs, the client connects again
 *	without them
 */
struct dnd_hello {
	bool reads_optional;
};

/**
 * struct dnd_offer - which memory a client may access, and how
 * @rights: DONARD_RDMA_READ, DONARD_RDMA_WRITE
 * @nonce: identifies the connection; every message carries it
 * @silence_ms: the server gives up a client that it has not heard from for this time
 * @services: a bit for each service that the server's program has
 * @read_back: a client that wrote must read the end of it back before ask, sync and bye
 * @dmabuf: the memory was registered as a dma-buf
 * @target: the name of the memory for people, "p2pmem0", "dram" or "dma-buf": one word
 */
struct dnd_offer {
	enum dnd_rdma_status status;
	uint32_t rights;
	uint32_t rkey;
	uint64_t address;
	uint64_t length;
	uint64_t nonce;
	uint32_t silence_ms;
	uint32_t services;
	bool read_back;
	bool dmabuf;
	bool persistent;
	char target[DND_TARGET_BYTES];
};

struct dnd_message {
	enum dnd_rdma_type type;
	enum dnd_rdma_status status;
	uint64_t nonce;
	uint32_t sequence;
	uint64_t offset;	/* where the range begins in the offered memory */
	uint64_t length;
	uint64_t value;		/* of an ask and its answer; the server's program knows its meaning */
	uint32_t word;		/* of an ask: which service; of its answer: the program's verdict */
	bool durable;		/* in the answer to a sync or a bye: what this client wrote is durable */
	uint32_t resets;	/* in a withdrawn: how often the device was reset since the client came */
};

void dnd_hello_encode(const struct dnd_hello *hello, uint8_t bytes[DND_HELLO_BYTES]);
/* Returns 0, -EPROTO if this is not a donard client, or -EPROTONOSUPPORT if it has another version. */
int dnd_hello_decode(struct dnd_hello *hello, const void *bytes, size_t length);

void dnd_offer_encode(const struct dnd_offer *offer, uint8_t bytes[DND_OFFER_BYTES]);
int dnd_offer_decode(struct dnd_offer *offer, const void *bytes, size_t length);

void dnd_message_encode(const struct dnd_message *message, uint8_t bytes[DND_MESSAGE_BYTES]);
int dnd_message_decode(struct dnd_message *message, const void *bytes, size_t length);

#endif /* DONARD_RDMA_PROTOCOL_H */
