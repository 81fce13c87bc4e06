// SPDX-License-Identifier: Apache-2.0
/* See loopback.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "terms.h"

#define MAX_PORTS	8
#define MAX_GIDS	256
/*
 * The NIC gives up after eight tries of 4.096 us * 2^16, or a few times that.  The wait for a NIC that never reports it is
 * limited.
 */
#define RETRIES		7
#define TIMEOUT		16
#define NAP_US		1000
#define NAPS		10000	/* ten seconds at least */

__attribute__((format(printf, 3, 4)))
static int fail(struct loopback *loopback, int error_number, const char *format, ...)
{
	char text[CLI_ERROR_BYTES], why[CLI_ERROR_BYTES / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s: %s", ibv_get_device_name(loopback->verbs->device), why);
	/* Some providers fail without setting errno. */
	return donard_fail(loopback->ctx, error_number ? error_number : EIO, "", text);
}

static const char *why_of(int error_number)
{
	return error_number ? strerror(error_number) : "its driver does not say why";
}

/* ---- a transfer ---- */

/* Both ends of one transfer.  Each transfer gets new ones, since queue pairs are unusable after a transfer that failed. */
struct ends {
	struct ibv_cq *cq;
	struct ibv_qp *here, *there;
};

static void close_ends(struct ends *ends)
{
	if (ends->here)
		ibv_destroy_qp(ends->here);
	if (ends->there)
		ibv_destroy_qp(ends->there);
	if (ends->cq)
		ibv_destroy_cq(ends->cq);
}

static struct ibv_qp *make_end(struct loopback *loopback, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(loopback->pd, &attr);
}

/* The device's own address, which over Ethernet is the GID alone. */
static struct ibv_ah_attr address_of(const struct loopback *loopback)
{
	struct ibv_ah_attr address = { .dlid = loopback->port.lid, .port_num = loopback->port_number };

	if (loopback->port.link_layer == IBV_LINK_LAYER_ETHERNET || (loopback->port.flags & IBV_QPF_GRH_REQUIRED)) {
		address.is_global = 1;
		address.grh.dgid = loopback->gid;
		address.grh.sgid_index = loopback->gid_index;
		address.grh.hop_limit = 64;
	}
	return address;
}

/* 0, or an errno. */
static int connect_end(struct loopback *loopback, struct ibv_qp *end, const struct ibv_qp *other)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = loopback->port_number,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = address_of(loopback), .path_mtu = loopback->port.active_mtu, .dest_qp_num = other->qp_num,
		.max_dest_rd_atomic = 1, .max_rd_atomic = 1, .min_rnr_timer = 12,
		.timeout = TIMEOUT, .retry_cnt = RETRIES, .rnr_retry = RETRIES,
	};
	int rc = ibv_modify_qp(end, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	attr.qp_state = IBV_QPS_RTR;
	if (!rc)
		rc = ibv_modify_qp(end, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	if (!rc)
		rc = ibv_modify_qp(end, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return rc;
}

static int open_ends(struct loopback *loopback, struct ends *ends)
{
	int rc;

	errno = 0;
	ends->cq = ibv_create_cq(loopback->verbs, 4, NULL, NULL, 0);
	if (ends->cq)
		ends->here = make_end(loopback, ends->cq);
	if (ends->here)
		ends->there = make_end(loopback, ends->cq);
	if (!ends->there)
		return fail(loopback, errno, "two reliable queue pairs cannot be made: %s", why_of(errno));
	rc = connect_end(loopback, ends->here, ends->there);
	if (!rc)
		rc = connect_end(loopback, ends->there, ends->here);
	if (rc)
		return fail(loopback, rc, "two queue pairs of it cannot be connected to each other: %s", strerror(rc));
	return 0;
}

static int await(struct loopback *loopback, const struct ends *ends)
{
	struct ibv_wc wc;
	int got = 0;

	for (int i = 0; i < NAPS && !got; i++) {
		got = ibv_poll_cq(ends->cq, 1, &wc);
		if (!got)
			usleep(NAP_US);
	}
	if (!got)
		return fail(loopback, ETIMEDOUT, "it does not say within ten seconds what became of a request");
	if (got < 0)
		return fail(loopback, EIO, "its completion queue cannot be read");
	if (wc.status != IBV_WC_SUCCESS)
		return fail(loopback, EIO, "it reported of a request: %s", ibv_wc_status_str(wc.status));
	return 0;
}

static int move(struct loopback *loopback, enum ibv_wr_opcode opcode, const struct loopback_place *place, uint64_t offset)
{
	struct ibv_sge near = { loopback->near.address, (uint32_t)loopback->bytes, loopback->near.local_key };
	struct ibv_send_wr wr = {
		.sg_list = &near, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { place->address + offset, place->remote_key },
	}, *bad;
	struct ends ends = { NULL };
	int rc = open_ends(loopback, &ends), refused;

	loopback->posted = false;
	if (!rc) {
		refused = ibv_post_send(ends.here, &wr, &bad);
		loopback->posted = !refused;
		rc = refused ? fail(loopback, refused, "it takes no request: %s", strerror(refused)) : await(loopback, &ends);
	}
	close_ends(&ends);
	return rc;
}

int loopback_write(struct loopback *loopback, const struct loopback_place *to)
{
	return move(loopback, IBV_WR_RDMA_WRITE, to, 0);
}

int loopback_read(struct loopback *loopback, const struct loopback_place *from)
{
	return move(loopback, IBV_WR_RDMA_READ, from, 0);
}

/* ---- the device ---- */

int loopback_register(struct loopback *loopback, struct donard_memory *memory, struct loopback_place *place)
{
	struct donard_rdma_registration_info info = { .size = sizeof(info) };
	int rc = donard_rdma_register(memory, 0, 0, loopback->pd, DONARD_RDMA_READ | DONARD_RDMA_WRITE, &place->registration);

	if (rc)
		return rc;
	donard_rdma_registration_info(place->registration, &info);
	place->address = (uintptr_t)info.address;
	place->local_key = info.mr->lkey;
	place->remote_key = info.mr->rkey;
	return 0;
}

void loopback_deregister(struct loopback_place *place)
{
	donard_rdma_deregister(place->registration);
	place->registration = NULL;
}

static int find_port(struct loopback *loopback)
{
	for (uint8_t port = 1; port <= MAX_PORTS; port++) {
		loopback->port_number = port;
		if (!ibv_query_port(loopback->verbs, port, &loopback->port) && loopback->port.state == IBV_PORT_ACTIVE)
			return 0;
	}
	return fail(loopback, ENETDOWN, "its port is not active any more");
}

/* Finds the GID of an IPv4 address, for whichever version of RoCE comes first; any GID if there is none. */
static int find_gid(struct loopback *loopback)
{
	static const uint8_t mapped_ipv4[12] = { [10] = 0xff, [11] = 0xff };
	static const union ibv_gid none;
	bool found = false;
	union ibv_gid gid;

	for (int i = 0; i < loopback->port.gid_tbl_len && i < MAX_GIDS; i++) {
		bool mapped;

		if (ibv_query_gid(loopback->verbs, loopback->port_number, i, &gid) || !memcmp(&gid, &none, sizeof(gid)))
			continue;
		mapped = !memcmp(gid.raw, mapped_ipv4, sizeof(mapped_ipv4));
		if (found && !mapped)
			continue;
		loopback->gid = gid;
		loopback->gid_index = (uint8_t)i;
		found = true;
		if (mapped)
			return 0;
	}
	return found || loopback->port.link_layer != IBV_LINK_LAYER_ETHERNET ? 0 :
	       fail(loopback, EADDRNOTAVAIL, "its active port has no address");
}

static int open_memory(struct loopback *loopback)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	int rc = donard_memory_dram(loopback->ctx, 2 * loopback->bytes, &loopback->dram);

	if (!rc)
		rc = loopback_register(loopback, loopback->dram, &loopback->near);
	if (rc)
		return rc;
	donard_memory_info(loopback->dram, &info);
	loopback->moved = info.address;
	return 0;
}

static int check_one(struct loopback *loopback, enum ibv_wr_opcode opcode)
{
	uint8_t *far = loopback->moved + loopback->bytes, *to = opcode == IBV_WR_RDMA_WRITE ? far : loopback->moved;

	memset(loopback->moved, 0xa5, 2 * loopback->bytes);
	memset(to, 0, loopback->bytes);
	if (move(loopback, opcode, &loopback->near, loopback->bytes))
		return -EIO;
	if (memcmp(loopback->moved, far, loopback->bytes))
		return fail(loopback, EIO, "it reported that it moved bytes from DRAM to DRAM, and they did not arrive");
	return 0;
}

/* Moves bytes from DRAM to DRAM first, since some NICs do not reach themselves. */
static int check(struct loopback *loopback)
{
	int rc = check_one(loopback, IBV_WR_RDMA_WRITE);

	return rc ? rc : check_one(loopback, IBV_WR_RDMA_READ);
}

int loopback_open(struct loopback *loopback, struct donard_context *ctx, const char *device, size_t bytes)
{
	int rc;

	memset(loopback, 0, sizeof(*loopback));
	loopback->ctx = ctx;
	loopback->bytes = bytes;
	rc = donard_rdma_open_device(ctx, device, &loopback->verbs);
	if (rc)
		return rc;
	if (loopback->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		return fail(loopback, EOPNOTSUPP, "it speaks iWARP, where only a TCP connection connects queue pairs");
	rc = find_port(loopback);
	if (!rc)
		rc = find_gid(loopback);
	if (rc)
		return rc;
	errno = 0;
	loopback->pd = ibv_alloc_pd(loopback->verbs);
	if (!loopback->pd)
		return fail(loopback, errno, "a protection domain cannot be made: %s", why_of(errno));
	rc = open_memory(loopback);
	return rc ? rc : check(loopback);
}

void loopback_close(struct loopback *loopback)
{
	loopback_deregister(&loopback->near);
	donard_memory_free(loopback->dram);
	if (loopback->pd)
		ibv_dealloc_pd(loopback->pd);
	if (loopback->verbs)
		ibv_close_device(loopback->verbs);
}
