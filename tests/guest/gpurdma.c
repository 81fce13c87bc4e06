// SPDX-License-Identifier: Apache-2.0
/*
 * gpurdma DEVICE freed|called-back|exits|killed - RDMA writes into pinned GPU memory, from a queue pair to another one of
 * the same device, without a pause. "freed": meanwhile the process frees the memory, which stays for as long as it is
 * registered, and nothing of it is seen in memory that is allocated then. "called-back": the same of a driver that takes
 * memory back by a callback, inside of which the freeing waits until it is not registered any more. "exits": the process
 * ends and undoes nothing. "killed": prints "ready" and goes on until it is killed.
 *
 * LIBS: -libverbs -luring -pthread
 */
#define _GNU_SOURCE
#include "gpulab.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>

#define WRITE_BYTES	(64 << 10)

static struct ibv_context *device;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *from, *to;
static struct ibv_mr *source, *target;
static atomic_uint writes;
static atomic_bool stop;

#define NOT_NULL(call) ({ \
	void *p_ = (call); \
	if (!p_) \
		err(1, "line %d: %s", __LINE__, #call); \
	p_; \
})

static void open_device(const char *name)
{
	struct ibv_device **list = NOT_NULL(ibv_get_device_list(NULL));
	int i = 0;

	while (list[i] && strcmp(ibv_get_device_name(list[i]), name))
		i++;
	if (!list[i])
		errx(1, "no RDMA device %s", name);
	device = NOT_NULL(ibv_open_device(list[i]));
	pd = NOT_NULL(ibv_alloc_pd(device));
	cq = NOT_NULL(ibv_create_cq(device, 16, NULL, NULL, 0));
}

static struct ibv_qp *make_pair(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *qp = NOT_NULL(ibv_create_qp(pd, &init));

	EQUAL(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	return qp;
}

/* The first IPv4 address of the device. */
static unsigned int gid_index(union ibv_gid *gid)
{
	static const uint8_t mapped_ipv4[12] = { [10] = 0xff, [11] = 0xff };

	for (unsigned int i = 0; !ibv_query_gid(device, 1, i, gid); i++)
		if (!memcmp(gid->raw, mapped_ipv4, sizeof(mapped_ipv4)))
			return i;
	errx(1, "the RDMA device has no IPv4 address");
}

static void connect_pair(struct ibv_qp *qp, const struct ibv_qp *other)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = other->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 },
	};

	attr.ah_attr.grh.sgid_index = gid_index(&attr.ah_attr.grh.dgid);
	EQUAL(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	EQUAL(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void write_once(uint64_t offset)
{
	struct ibv_sge piece = { (uintptr_t)source->addr, WRITE_BYTES, source->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)target->addr + offset, target->rkey },
	}, *bad;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	int done = 0;

	EQUAL(0, ibv_post_send(from, &wr, &bad));
	while (!done)
		done = ibv_poll_cq(cq, 1, &wc);
	EQUAL(1, done);
	EQUAL(IBV_WC_SUCCESS, wc.status);
}

static void *writes_on(void *arg)
{
	(void)arg;
	for (uint64_t at = 0; !atomic_load(&stop); at = (at + WRITE_BYTES) % BYTES) {
		write_once(at);
		atomic_fetch_add(&writes, 1);
	}
	return NULL;
}

/* Every byte of the memory was written to since. */
static void await_round(void)
{
	unsigned int goal = atomic_load(&writes) + BYTES / WRITE_BYTES + 1;

	while (atomic_load(&writes) < goal)
		usleep(1000);
}

static pthread_t begin_writes(struct pinned *p)
{
	uint64_t *host = aligned_alloc(PAGE, WRITE_BYTES);
	pthread_t thread;

	fill(host, WRITE_BYTES, PATTERN);
	source = NOT_NULL(ibv_reg_mr(pd, host, WRITE_BYTES, 0));
	target = NOT_NULL(ibv_reg_mr(pd, p->map, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	from = make_pair();
	to = make_pair();
	connect_pair(from, to);
	connect_pair(to, from);
	EQUAL(0, pthread_create(&thread, NULL, writes_on, NULL));
	await_round();
	return thread;
}

static void end_writes(pthread_t thread)
{
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ibv_destroy_qp(from);
	ibv_destroy_qp(to);
	EQUAL(0, ibv_dereg_mr(target));
}

static void freed(void)
{
	struct pinned p = pinned_anew(BYTES);
	pthread_t thread = begin_writes(&p);
	uint64_t next;

	CHECK(gpu_has(p.gpu, p.va, WRITE_BYTES, PATTERN));
	gpu_free(p.gpu, p.va);
	next = gpu_alloc(p.gpu, BYTES);
	gpu_fill(p.gpu, next, BYTES, ~PATTERN);
	await_round();
	CHECK(gpu_has(p.gpu, next, BYTES, ~PATTERN));
	CHECK(filled(p.map, WRITE_BYTES, PATTERN));
	end_writes(thread);
}

static atomic_bool is_free;

static void *frees(void *arg)
{
	const struct pinned *p = arg;

	gpu_free(p->gpu, p->va);
	atomic_store(&is_free, true);
	return NULL;
}

/* The callback has taken the mapping when it waits for the pages. */
static void called_back(void)
{
	struct pinned p = pinned_anew(BYTES);
	pthread_t writer = begin_writes(&p), freer;
	uint64_t next;

	EQUAL(0, pthread_create(&freer, NULL, frees, &p));
	while (alive(p.map))
		usleep(1000);
	await_round();
	CHECK(!atomic_load(&is_free));
	end_writes(writer);
	pthread_join(freer, NULL);
	CHECK(atomic_load(&is_free));
	next = gpu_alloc(p.gpu, BYTES);
	gpu_fill(p.gpu, next, BYTES, ~PATTERN);
	CHECK(gpu_has(p.gpu, next, BYTES, ~PATTERN));
}

static void exits(void)
{
	struct pinned p = pinned_anew(BYTES);

	begin_writes(&p);
	_exit(0);
}

static void killed(void)
{
	struct pinned p = pinned_anew(BYTES);

	begin_writes(&p);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	region_path = getenv("REGION") ?: "/dev/p2pmem0";
	if (argc != 3)
		errx(2, "usage: gpurdma DEVICE freed|called-back|exits|killed");
	open_device(argv[1]);
	if (!strcmp(argv[2], "freed"))
		freed();
	else if (!strcmp(argv[2], "called-back"))
		called_back();
	else if (!strcmp(argv[2], "exits"))
		exits();
	else
		killed();
	return 0;
}
