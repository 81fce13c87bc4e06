/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between a client of a write cache and its server.
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
 * One done with the same id answers each write, read, trim, flush and bye.  At any time at
 * most @depth of a client's requests, and one ping, are unanswered; the server has at most one
 * released without a got.  So neither side ever sends a message for which the other has
 * no receive buffer; soft iWARP would end the connection.
 *
 * A client fills its window as a ring: the bytes of a write lie at the head, or at the
 * window's start if they do not fit contiguously before its end.  Each done and each
 * released say how much of the window is free again: the bytes since the beginning of the
 * connection, those skipped at the window's end included.
 *
 * A released also says, by its status, whether the drive fails what the log writes to it.  It
 * is sent when that changes, too, so that a client that waits for the drive can say so.
 *
 * All numbers are big-endian; reserved bytes are zero.  Encoding and decoding refuse
 * whatever they do not know, and touch no device.
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
/* Room for messages beside the requests: ping and got, or alive, released and withdrawn; and some to spare. */
#define DND_WIRE_SPARE		8

enum dnd_wire_status {
	DND_WIRE_OK,
	DND_WIRE_BAD_VERSION,	/* the peer has another version of the protocol */
	DND_WIRE_BUSY,		/* every window has a client, or bytes of one that left */
	DND_WIRE_LOCAL_ONLY,	/* the client is on another machine */
	DND_WIRE_CANNOT_OFFER,	/* no connection could be set up, or no memory registered, for this client */
	DND_WIRE_STOPPED,	/* the server was told to end */
	DND_WIRE_REGION_GONE,	/* the NVRAM was taken away */
	DND_WIRE_NVRAM_FAILED,
	DND_WIRE_DRIVE_FAILED,	/* the drive could not be read or written, or is gone */
	DND_WIRE_MISMATCH,	/* the bytes do not match their checksum; nothing was written */
	DND_WIRE_BAD_RANGE,	/* not whole blocks, or past the end of the drive */
	DND_WIRE_NO_MEMORY,	/* the server has no memory left */
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

/* In an offer and a done: a power cut loses data that were acknowledged. */
#define DND_WIRE_VOLATILE	(1U << 0)
/*
 * In an offer: before the SEND of each write the client must read the last bytes that it wrote,
 * and the SEND must have a fence.  A device that does DMA may hold written bytes back; a read
 * through the same device pushes them out.
 */
#define DND_WIRE_READ_BACK	(1U << 1)
/* In a flush: to the drive, not only to the NVRAM. */
#define DND_WIRE_TO_DRIVE	(1U << 0)

struct dnd_wire_hello {
	uint32_t depth;		/* the depth that the client would like; 0: the server chooses */
};

/**
 * struct dnd_wire_offer - what a client may do
 * @flags: DND_WIRE_VOLATILE, DND_WIRE_READ_BACK
 * @depth: how many requests may be without an answer
 * @nonce: identifies the connection; every message carries it
 * @window_address: where the client writes, with @window_rkey and @window_bytes
 * @silence_ms: the server gives up a client that it has not heard from for this time
 * @request_bytes_max: the longest write or read; whole blocks, at most the window
 * @identity: of the log
 * @drive: the drive's name for people, such as "nvme1n1"
 * @nvram: the region's name for people, such as "p2pmem2"
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
 * struct dnd_wire_message - one message; members that its type does not use are zero
 * @nonce: the nonce of the offer
 * @id: the client's number for a request; the done has the same
 * @status: in a done or withdrawn; in a released, DND_WIRE_DRIVE_FAILED while the drive fails
 * @flags: DND_WIRE_TO_DRIVE in a flush, DND_WIRE_VOLATILE in a done
 * @drive_offset: in a write, read or trim
 * @length: in a write, read or trim, in bytes
 * @address: in a write: where in the window its bytes begin; in a read: where in the
 *	client's memory they have to go
 * @key: in a write: the CRC-32C of its bytes; in a read: the rkey of that memory
 * @released: in a done or released: how many bytes of the window were released since the beginning
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
/* Returns 0, -EPROTO if this is not a client of a cache, or -EPROTONOSUPPORT if it has another version. */
int dnd_wire_hello_decode(struct dnd_wire_hello *hello, const void *bytes, size_t length);

void dnd_wire_offer_encode(const struct dnd_wire_offer *offer,
			   uint8_t bytes[DND_WIRE_OFFER_BYTES]);
int dnd_wire_offer_decode(struct dnd_wire_offer *offer, const void *bytes, size_t length);

void dnd_wire_encode(const struct dnd_wire_message *message,
		     uint8_t bytes[DND_WIRE_MESSAGE_BYTES]);
/* Returns -EPROTO also for a message of another connection than that of @nonce. */
int dnd_wire_decode(struct dnd_wire_message *message, uint64_t nonce, const void *bytes,
		    size_t length);

#endif /* DND_CACHE_WIRE_H */
