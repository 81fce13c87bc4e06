/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a donard client and a donard server say to each other.
 *
 *   client                                     server
 *     connect, with a hello             ->
 *                                       <-     accept, with an offer
 *                                              (or reject, with an offer whose
 *                                              status says why)
 *     SEND: take, or bye                ->
 *     RDMA WRITE, RDMA READ at will
 *     (RDMA READ of what was written)   ->
 *     SEND: ping, fill, verify, bye     ->
 *                                       <-     SEND: alive, done
 *                                       <-     SEND: withdrawn, at any time
 *
 * A client takes the offer once it knows that this is what it came for and that
 * its near side is ready; before, it only leaves.  The server counts who took.
 * Take has no answer, ping is answered by alive, every other request by one
 * "done" with its sequence; during long work, a barrier too, the server sends alive by itself.
 *
 * Before it answers verify and bye the server runs the barrier of its memory's device.
 * So what was written before a bye is durable once that is answered, if the answer
 * says so.  Where the offer asks for it (read_back), a client that wrote first reads
 * the end of it back: its completion says that no device of the server's holds bytes
 * back any more.  A device that was reset since the client came ends the connection:
 * withdrawn, and why.
 *
 * All numbers are big-endian; reserved bytes are zero.  Encoding and decoding
 * are pure: they refuse whatever they do not know, and touch no device.
 */
#ifndef DONARD_RDMA_PROTOCOL_H
#define DONARD_RDMA_PROTOCOL_H

#include "base/base.h"
#include "donard/rdma.h"

#define DND_RDMA_VERSION	4
#define DND_HELLO_BYTES		16
#define DND_OFFER_BYTES		80
#define DND_MESSAGE_BYTES	64
#define DND_TARGET_BYTES	24
#define DND_RIGHTS		(DONARD_RDMA_READ | DONARD_RDMA_WRITE)

enum dnd_rdma_status {
	DND_STATUS_OK,
	DND_STATUS_VERSION,	/* the other speaks another version */
	DND_STATUS_BUSY,	/* another client has the memory */
	DND_STATUS_LOCAL_ONLY,	/* the client is on another machine */
	DND_STATUS_NO_READING,	/* a client that would read, where it may only write */
	DND_STATUS_CANNOT_OFFER, /* no memory could be registered for this client */
	DND_STATUS_MISMATCH,	/* first wrong byte at where */
	DND_STATUS_NOT_ALLOWED,	/* to fill what the client may not write */
	DND_STATUS_REGION_GONE,
	DND_STATUS_STOPPED,	/* the server was told to end; of a bye: the client did not get to the end */
	DND_STATUS_RESET,	/* the device of its memory was reset: what was moved may be lost */
	DND_STATUS_COUNT
};

enum dnd_rdma_type {
	DND_PING = 1,
	DND_TAKE,
	DND_FILL,	/* write the pattern of seed into the range */
	DND_VERIFY,	/* compare the range with the pattern of seed */
	DND_BYE,
	DND_ALIVE,
	DND_DONE,
	DND_WITHDRAWN,
	DND_TYPE_END
};

/**
 * struct dnd_hello - what a client says when it knocks
 * @reads_optional: if the server refuses the connection because it could carry READs, the client connects again without
 */
struct dnd_hello {
	bool reads_optional;
};

/**
 * struct dnd_offer - what a client may reach, and how
 * @rights: DONARD_RDMA_READ, DONARD_RDMA_WRITE
 * @nonce: names the connection; every message carries it
 * @silence_ms: a client that is not heard for so long is given up
 * @may_fill: the server writes test patterns when asked
 * @read_back: who wrote reads the end of it before verify and bye
 * @dmabuf: how the memory was registered
 * @target: "p2pmem0" or "dram", for people
 */
struct dnd_offer {
	enum dnd_rdma_status status;
	uint32_t rights;
	uint32_t rkey;
	uint64_t address;
	uint64_t length;
	uint64_t nonce;
	uint32_t silence_ms;
	bool may_fill;
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
	uint64_t offset;	/* of the range in what was offered */
	uint64_t length;
	uint64_t seed;
	uint64_t where;		/* first wrong byte, in what was offered */
	bool durable;		/* what this client wrote, of the answer to its bye */
	uint32_t resets;	/* of the device since the client came, of a withdrawal */
};

void dnd_hello_encode(const struct dnd_hello *hello, uint8_t bytes[DND_HELLO_BYTES]);
/* -EPROTO: no donard client; -EPROTONOSUPPORT: of another version. */
int dnd_hello_decode(struct dnd_hello *hello, const void *bytes, size_t length);

void dnd_offer_encode(const struct dnd_offer *offer, uint8_t bytes[DND_OFFER_BYTES]);
int dnd_offer_decode(struct dnd_offer *offer, const void *bytes, size_t length);

void dnd_message_encode(const struct dnd_message *message, uint8_t bytes[DND_MESSAGE_BYTES]);
int dnd_message_decode(struct dnd_message *message, const void *bytes, size_t length);

#endif /* DONARD_RDMA_PROTOCOL_H */
