// SPDX-License-Identifier: Apache-2.0
/* LIBS: -lrdmacm -libverbs */
/*
 * A client of 'donard-cli rdma serve' that keeps to no rule: it reads the offer
 * and then does what the command line says, without a check.
 *
 *   rdmaraw ADDR PORT offer                  prints "RKEY ADDRESS LENGTH"
 *   rdmaraw ADDR PORT write|read OFFSET LENGTH [RKEY]
 *                                            prints the completion's status;
 *                                            OFFSET may be negative
 *   rdmaraw ADDR PORT hello                  with bytes that are no hello
 *   rdmaraw ADDR PORT message                sends bytes that are no message
 *   rdmaraw ADDR PORT fill OFFSET LENGTH     a request for test data, anywhere
 *
 * After the last three: "cut off" when the server ends the connection, "answered"
 * when it does not within five seconds, "rejected" when there was no connection.
 */
#include <err.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS	5000
#define HELLO_BYTES	16
#define MESSAGE_BYTES	64
#define TYPE_FILL	2

struct offer {
	uint32_t rkey;
	uint64_t address, length, nonce;
};

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

static struct offer connect_with(const uint8_t hello[HELLO_BYTES])
{
	struct rdma_conn_param param = {
		.private_data = hello, .private_data_len = HELLO_BYTES, .retry_count = 3,
		.rnr_retry_count = 7, .initiator_depth = 1, .responder_resources = 1,
	};
	const uint8_t *bytes;

	if (rdma_connect(id, &param)) {
		puts("rejected");
		exit(0);
	}
	bytes = id->event->param.conn.private_data;
	return (struct offer){ .rkey = (uint32_t)get(bytes + 12, 4), .address = get(bytes + 16, 8),
			       .length = get(bytes + 24, 8), .nonce = get(bytes + 32, 8) };
}

static void print_status(void)
{
	struct ibv_wc completion;

	if (rdma_get_send_comp(id, &completion) < 0)
		err(1, "no completion");
	puts(ibv_wc_status_str(completion.status));
}

static void access(const char *what, const struct offer *offer, int64_t offset, size_t length,
		   uint32_t rkey)
{
	struct ibv_mr *mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	int rc;

	if (!mr || length > sizeof(memory))
		errx(1, "memory");
	if (!strcmp(what, "write"))
		rc = rdma_post_write(id, NULL, memory, length, mr, 0, offer->address + offset, rkey);
	else
		rc = rdma_post_read(id, NULL, memory, length, mr, 0, offer->address + offset, rkey);
	if (rc)
		err(1, "post");
	print_status();
}

static void send_and_see(uint8_t message[MESSAGE_BYTES])
{
	struct ibv_mr *mr = rdma_reg_msgs(id, message, MESSAGE_BYTES);
	struct pollfd pollfd = { .fd = id->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (!mr || rdma_post_send(id, NULL, message, MESSAGE_BYTES, mr, 0))
		err(1, "message");
	if (poll(&pollfd, 1, TIMEOUT_MS) == 1 && !rdma_get_cm_event(id->channel, &event) &&
	    event->event == RDMA_CM_EVENT_DISCONNECTED)
		puts("cut off");
	else
		puts("answered");
}

static void ask_fill(const struct offer *offer, int64_t offset, uint64_t length)
{
	uint8_t message[MESSAGE_BYTES] = "DNRD\0\1";

	put(message + 6, TYPE_FILL, 2);
	put(message + 12, 1, 4);
	put(message + 16, offer->nonce, 8);
	put(message + 24, (uint64_t)offset, 8);
	put(message + 32, length, 8);
	send_and_see(message);
}

int main(int argc, char **argv)
{
	uint8_t hello[HELLO_BYTES] = "DNRD\0\1", garbage[MESSAGE_BYTES];
	struct offer offer;

	if (argc < 4)
		errx(2, "usage: rdmaraw ADDR PORT WHAT [OFFSET LENGTH [RKEY]]");
	resolve(argv[1], argv[2]);
	memset(garbage, 0xa5, sizeof(garbage));
	offer = connect_with(strcmp(argv[3], "hello") ? hello : garbage);
	if (!strcmp(argv[3], "offer"))
		printf("%u %#llx %llu\n", offer.rkey, (unsigned long long)offer.address,
		       (unsigned long long)offer.length);
	else if (!strcmp(argv[3], "message"))
		send_and_see(garbage);
	else if (argc > 5 && !strcmp(argv[3], "fill"))
		ask_fill(&offer, strtoll(argv[4], NULL, 0), strtoull(argv[5], NULL, 0));
	else if (argc > 5)
		access(argv[3], &offer, strtoll(argv[4], NULL, 0), strtoull(argv[5], NULL, 0),
		       argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 0) : offer.rkey);
	rdma_disconnect(id);
	return 0;
}
