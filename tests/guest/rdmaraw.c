// SPDX-License-Identifier: Apache-2.0
/* LIBS: -lrdmacm -libverbs */
/*
 * A client of 'donard-cli rdma serve' that keeps to no rule: it reads the offer
 * and then does what the command line says, without a check.
 *
 *   rdmaraw ADDR PORT offer                  prints "RKEY ADDRESS LENGTH", takes nothing
 *   rdmaraw ADDR PORT write|read OFFSET LENGTH [RKEY]
 *                                            prints "success", or how it was
 *                                            refused; OFFSET may be negative
 *   rdmaraw ADDR PORT knock SECONDS          connects again and again; prints
 *                                            "admitted" after a write of 8 bytes,
 *                                            or "never admitted"
 *   rdmaraw ADDR PORT hello                  with bytes that are no hello
 *   rdmaraw ADDR PORT message                sends bytes that are no message
 *   rdmaraw ADDR PORT fill OFFSET LENGTH     a question about a range, anywhere
 *   rdmaraw ADDR PORT cache offer|write|read...
 *                                            of 'donard-cli cache serve', and its window
 *
 * hello, message and fill print "cut off" when the server ends the connection, "answered"
 * when it does not, "rejected" when there was none.  A refused access is either
 * "remote access error" (InfiniBand, RoCE) or "cut off" (iWARP, where a write
 * completes before the other side has looked at it).
 */
#include <err.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS	5000
#define GRACE_MS	1000
#define HELLO_BYTES	16
#define MESSAGE_BYTES	64
#define HEAD_BYTES	6
#define TYPE_TAKE	2
#define TYPE_ASK	3

struct offer {
	uint32_t rkey;
	uint64_t address, length, nonce;
};

/* The offsets in an offer and in a message that are used here (lib/rdma/protocol.c, lib/cache/wire.c). */
static const struct protocol {
	const char *head;
	uint8_t rkey, address, length, nonce;	/* in an offer */
	uint8_t message_nonce, ping;
} memory_protocol = { "DNRD\0\5", 12, 16, 24, 32, 16, 1 }, cache_protocol = { "DNWC\0\1", 40, 24, 32, 16, 8, 5 };

static const struct protocol *protocol = &memory_protocol;
static struct rdma_cm_id *id;
static char memory[1 << 20];

static uint64_t get(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static void resolve(const char *host, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *found;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};

	if (rdma_getaddrinfo(host, port, &hints, &found))
		err(1, "%s", host);
	if (rdma_create_ep(&id, found, NULL, &attr))
		err(1, "rdma_create_ep");
}

static struct offer offer_of(const struct rdma_cm_event *event)
{
	const uint8_t *bytes = event->param.conn.private_data;

	return (struct offer){
		.rkey = (uint32_t)get(bytes + protocol->rkey, 4), .address = get(bytes + protocol->address, 8),
		.length = get(bytes + protocol->length, 8), .nonce = get(bytes + protocol->nonce, 8),
	};
}

static struct offer connect_with(const uint8_t hello[HELLO_BYTES], int reads)
{
	struct rdma_conn_param param = {
		.private_data = hello, .private_data_len = HELLO_BYTES, .retry_count = 3,
		.rnr_retry_count = 7, .initiator_depth = reads ? 1 : 0,
	};

	if (rdma_connect(id, &param)) {
		puts("rejected");
		exit(0);
	}
	return offer_of(id->event);
}

static int disconnected(void)
{
	struct pollfd pollfd = { .fd = id->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	return poll(&pollfd, 1, 1) == 1 && !rdma_get_cm_event(id->channel, &event) &&
	       event->event == RDMA_CM_EVENT_DISCONNECTED;
}

static const char *completed(struct ibv_cq *cq)
{
	struct ibv_wc completion;

	if (ibv_poll_cq(cq, 1, &completion) != 1)
		return NULL;
	return completion.status == IBV_WC_WR_FLUSH_ERR ? "cut off" :
	       ibv_wc_status_str(completion.status);
}

/*
 * The next completion, or the end of the connection.  The reason of that end travels by another way than
 * the news of it, and may come second.
 */
static const char *await(struct ibv_cq *cq)
{
	const char *seen = NULL;
	int cut = 0, grace_ms = GRACE_MS;

	for (int i = 0; i < TIMEOUT_MS && !seen && grace_ms; i++) {
		if (cut) {
			usleep(1000);
			grace_ms--;
		} else {
			cut = disconnected();
		}
		seen = completed(cq);
	}
	return seen ? seen : cut ? "cut off" : "nothing";
}

/* Sends it, and waits for an answer or the end. */
static const char *send_and_see(uint8_t message[MESSAGE_BYTES])
{
	static uint8_t answer[MESSAGE_BYTES];
	struct ibv_mr *sent = rdma_reg_msgs(id, message, MESSAGE_BYTES);
	struct ibv_mr *received = rdma_reg_msgs(id, answer, sizeof(answer));
	const char *seen;

	if (!sent || !received || rdma_post_recv(id, NULL, answer, sizeof(answer), received))
		err(1, "message");
	if (rdma_post_send(id, NULL, message, MESSAGE_BYTES, sent, 0))
		return "cut off";
	seen = await(id->recv_cq);
	return strcmp(seen, "success") ? seen : "answered";
}

static void make_message(uint8_t message[MESSAGE_BYTES], const struct offer *offer, int type)
{
	memcpy(message, protocol->head, HEAD_BYTES);
	put(message + 6, (uint64_t)type, 2);
	if (protocol == &memory_protocol)
		put(message + 12, 1, 4);
	put(message + protocol->message_nonce, offer->nonce, 8);
}

/* Takes the offer: only then does the server count the client. */
static void take(const struct offer *offer)
{
	static uint8_t message[MESSAGE_BYTES];
	struct ibv_mr *mr = rdma_reg_msgs(id, message, sizeof(message));

	make_message(message, offer, TYPE_TAKE);
	if (!mr || rdma_post_send(id, NULL, message, sizeof(message), mr, 0))
		err(1, "take");
	await(id->send_cq);
}

static const char *access_memory(const char *what, const struct offer *offer, int64_t offset,
				 size_t length, uint32_t rkey)
{
	struct ibv_mr *mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	uint8_t ping[MESSAGE_BYTES] = { 0 };
	const char *seen;
	int rc;

	if (!mr || length > sizeof(memory))
		errx(1, "memory");
	if (protocol == &memory_protocol)
		take(offer);
	if (!strcmp(what, "write"))
		rc = rdma_post_write(id, NULL, memory, length, mr, 0, offer->address + offset, rkey);
	else
		rc = rdma_post_read(id, NULL, memory, length, mr, 0, offer->address + offset, rkey);
	if (rc)
		err(1, "post");
	seen = await(id->send_cq);
	if (strcmp(seen, "success"))
		return seen;
	make_message(ping, offer, protocol->ping);
	return strcmp(send_and_see(ping), "answered") ? "cut off" : seen;
}

static const char *ask(const struct offer *offer, int64_t offset, uint64_t length)
{
	uint8_t message[MESSAGE_BYTES] = { 0 };

	take(offer);
	make_message(message, offer, TYPE_ASK);
	put(message + 24, (uint64_t)offset, 8);
	put(message + 32, length, 8);
	return send_and_see(message);
}

static const char *knock(char **argv, const uint8_t hello[HELLO_BYTES])
{
	struct rdma_conn_param param = {
		.private_data = hello, .private_data_len = HELLO_BYTES, .retry_count = 3,
		.rnr_retry_count = 7,
	};
	time_t end = time(NULL) + atoi(argv[4]);
	struct offer offer;

	while (time(NULL) < end) {
		resolve(argv[1], argv[2]);
		if (!rdma_connect(id, &param)) {
			offer = offer_of(id->event);
			access_memory("write", &offer, 0, 8, offer.rkey);
			return "admitted";
		}
		rdma_destroy_ep(id);
	}
	return "never admitted";
}

int main(int argc, char **argv)
{
	uint8_t hello[HELLO_BYTES] = { 0 }, garbage[MESSAGE_BYTES];
	struct offer offer;

	if (argc < 4)
		errx(2, "usage: rdmaraw ADDR PORT WHAT [OFFSET LENGTH [RKEY]]");
	if (argc > 4 && !strcmp(argv[3], "cache")) {
		protocol = &cache_protocol;
		argv[3] = argv[2];	/* the port stays before what to do */
		argv[2] = argv[1];
		argv++;
		argc--;
	}
	memcpy(hello, protocol->head, HEAD_BYTES);
	if (argc > 4 && !strcmp(argv[3], "knock")) {
		puts(knock(argv, hello));
		return 0;
	}
	resolve(argv[1], argv[2]);
	memset(garbage, 0xa5, sizeof(garbage));
	offer = connect_with(strcmp(argv[3], "hello") ? hello : garbage, !strcmp(argv[3], "read"));
	if (!strcmp(argv[3], "offer"))
		printf("%u %#llx %llu\n", offer.rkey, (unsigned long long)offer.address,
		       (unsigned long long)offer.length);
	else if (!strcmp(argv[3], "message"))
		puts(send_and_see(garbage));
	else if (argc > 5 && !strcmp(argv[3], "fill"))
		puts(ask(&offer, strtoll(argv[4], NULL, 0), strtoull(argv[5], NULL, 0)));
	else if (argc > 5)
		puts(access_memory(argv[3], &offer, strtoll(argv[4], NULL, 0),
				   strtoull(argv[5], NULL, 0),
				   argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 0) : offer.rkey));
	/* The kernel ends the connection of a process that ends. */
	return 0;
}
