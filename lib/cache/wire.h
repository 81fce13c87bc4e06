/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client of a write cache and its server say to each other.
 *
 *   client                                     server
 *     connect, with a hello             ->
 *                                       <-     accept, with an offer
 *                                              (or reject, with an offer whose
 *                                              status says why)
 *     RDMA WRITE into its window,
 *     then SEND: write                  ->
 *     SEND: read, trim, flush           ->
 *                                       <-     (read: RDMA WRITE, then)
 *                                       <-     SEND: done
 *     SEND: ping                        ->
 *                                       <-     SEND: alive
 *                                       <-     SEND: released
 *     SEND: got                         ->
 *     SEND: bye                         ->
 *                                       <-     SEND: done
 *                                       <-     SEND: withdrawn, at any time
 *
 * Every write, read, trim, flush and bye is answered by one done with its id.  A client
 * has at most @depth of them without an answer, and one ping; the server has at most
 * one released without a got.  So neither side ever sends what the other has no place
 * for: soft iWARP ends a connection where that happens.
 *
 * A client fills its window as a ring: the bytes of a write lie at the head, or at the
 * window's start when they do not fit contiguously before its end.  Each done and each
 * released say how much of the window is free again: bytes from the connection's
 * beginning, those that were skipped at the window's end included.
 *
 * All numbers are big-endian; reserved bytes are zero.  Encoding and decoding
 * are pure: they refuse whatever they do not know, and touch no device.
 */
#ifndef DND_CACHE_WIRE_H
#define DND_CACHE_WIRE_H

#include "base/base.h"

#define DND_WIRE_VERSION	1
#define DND_WIRE_HELLO_BYTES	16
#define DND_WIRE_OFFER_BYTES	128
#define DND_WIRE_MESSAGE_BYTES	64
#define DND_WIRE_DRIVE_BYTES	32
#define DND_WIRE_NVRAM_BYTES	24
#define DND_WIRE_DEPTH_MAX	1024
/* Beside the requests without an answer: ping, got, or alive, released, withdrawn; and some to spare. */
#define DND_WIRE_SPARE		8

enum dnd_wire_status {
	DND_WIRE_OK,
	DND_WIRE_BAD_VERSION,	/* the other speaks another version */
	DND_WIRE_BUSY,		/* every window has a client, or bytes of one that left */
	DND_WIRE_LOCAL_ONLY,	/* the client is on another machine */
	DND_WIRE_CANNOT_OFFER,	/* no memory could be registered for this client */
	DND_WIRE_STOPPED,	/* the server was told to end */
	DND_WIRE_REGION_GONE,	/* the NVRAM was taken away */
	DND_WIRE_NVRAM_FAILED,
	DND_WIRE_DRIVE_FAILED,	/* the drive could not be read, or took nothing */
	DND_WIRE_MISMATCH,	/* the bytes are not what their checksum says; nothing was written */
	DND_WIRE_BAD_RANGE,	/* no whole blocks, or past the end of the drive */
	DND_WIRE_NO_MEMORY,	/* the server's own */
	DND_WIRE_STATUS_COUNT
};

enum dnd_wire_type {
	DND_WIRE_WRITE = 1,
	DND_WIRE_READ,
	DND_WIRE_TRIM,
	DND_WIRE_FLUSH,
	DND_WIRE_PING,
	DND_WIRE_GOT,
	DND_WIRE_BYE,
	DND_WIRE_DONE,
	DND_WIRE_ALIVE,
	DND_WIRE_RELEASED,
	DND_WIRE_WITHDRAWN,
	DND_WIRE_TYPE_END
};

/* Of an offer and of a done: a power cut loses what was acknowledged. */
#define DND_WIRE_VOLATILE	(1U << 0)
/*
 * Of an offer: before each write's SEND the client reads the last bytes that it wrote, and the
 * SEND has a fence.  A device that does DMA may hold written bytes back; a read of its own
 * pushes them out.
 */
#define DND_WIRE_READ_BACK	(1U << 1)
/* Of a flush: as far as the drive, not only as far as the NVRAM. */
#define DND_WIRE_TO_DRIVE	(1U << 0)

struct dnd_wire_hello {
	uint32_t depth;		/* that the client would like; 0: as the server likes */
};

/**
 * struct dnd_wire_offer - what a client may do
 * @flags: DND_WIRE_VOLATILE, DND_WIRE_READ_BACK
 * @depth: requests without an answer at most
 * @nonce: names the connection; every message carries it
 * @window_address: with @window_rkey and @window_bytes, where the client writes
 * @silence_ms: a client that is not heard for so long is given up
 * @request_bytes_max: the longest write or read; whole blocks, at most the window
 * @identity: of the log
 * @drive: "nvme1n1", for people
 * @nvram: "p2pmem2", for people
 */
struct dnd_wire_offer {
	enum dnd_wire_status status;
	uint32_t flags;
	uint32_t depth;
	uint64_t nonce;
	uint64_t window_address;
	uint64_t window_bytes;
	uint32_t window_rkey;
	uint32_t silence_ms;
	uint32_t block_bytes;
	uint32_t request_bytes_max;
	uint64_t drive_bytes;
	uint64_t identity;
	char drive[DND_WIRE_DRIVE_BYTES];
	char nvram[DND_WIRE_NVRAM_BYTES];
};

/**
 * struct dnd_wire_message - one message; what its type does not have is zero
 * @nonce: the offer's
 * @id: the client's, of a request; the done has it, too
 * @status: of a done or withdrawn
 * @flags: DND_WIRE_TO_DRIVE of a flush, DND_WIRE_VOLATILE of a done
 * @drive_offset: of a write, read or trim
 * @length: of these, in bytes
 * @address: of a write: where in the window its bytes begin; of a read: where in the
 *	client's memory they shall go
 * @key: of a write: the CRC-32C of its bytes; of a read: the rkey of that memory
 * @released: of a done or released: bytes of the window, since the beginning
 */
struct dnd_wire_message {
	enum dnd_wire_type type;
	enum dnd_wire_status status;
	uint64_t nonce;
	uint32_t id;
	uint32_t flags;
	uint64_t drive_offset;
	uint64_t length;
	uint64_t address;
	uint32_t key;
	uint64_t released;
};

void dnd_wire_hello_encode(const struct dnd_wire_hello *hello,
			   uint8_t bytes[DND_WIRE_HELLO_BYTES]);
/* -EPROTO: no client of a cache; -EPROTONOSUPPORT: of another version. */
int dnd_wire_hello_decode(struct dnd_wire_hello *hello, const void *bytes, size_t length);

void dnd_wire_offer_encode(const struct dnd_wire_offer *offer,
			   uint8_t bytes[DND_WIRE_OFFER_BYTES]);
int dnd_wire_offer_decode(struct dnd_wire_offer *offer, const void *bytes, size_t length);

void dnd_wire_encode(const struct dnd_wire_message *message,
		     uint8_t bytes[DND_WIRE_MESSAGE_BYTES]);
/* Also -EPROTO for a message of another connection than that of @nonce. */
int dnd_wire_decode(struct dnd_wire_message *message, uint64_t nonce, const void *bytes,
		    size_t length);

#endif /* DND_CACHE_WIRE_H */
