// SPDX-License-Identifier: Apache-2.0
/* The report of doctor's probe about an RDMA NIC; this program plays the NIC and the region. */
#include <errno.h>
#include <unistd.h>

#include "unit.h"
#include "cli/doctor/loopback.h"
#include "cli/doctor/prove.h"
#include "donard/memory.h"
#include "fake_sysfs.h"
#include "says.h"

#define BYTES	4096
#define KEPT	0x77

/* How the NIC handles a request. */
enum behaviour { MOVES, LOSES, FAILS, IS_SILENT };

static const struct play {
	enum behaviour dram, region;	/* by where the far end is */
	bool persistent, down, iwarp, no_pairs, no_gid, refuses_state, refuses_request;
	int opened, registered, taken;	/* an errno of the library's call */
} sound;

static struct {
	struct fake *fake;
	struct play play;
	struct ibv_device device;
	struct ibv_context verbs;
	struct ibv_pd pd;
	struct ibv_cq cq;
	struct ibv_qp qps[2];
	struct ibv_mr mr;
	struct ibv_wc done;
	bool has_done;
	int open;			/* how many objects are made, and not freed yet */
	unsigned int connected, gid;	/* how many queue pairs can send; by which GID */
	uint8_t region[BYTES] __attribute__((aligned(BYTES)));
} scene;

/* ---- verbs ---- */

static bool is_region(uint64_t address)
{
	return address == (uintptr_t)scene.region;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	enum behaviour behaviour = is_region(wr->wr.rdma.remote_addr) ? scene.play.region : scene.play.dram;
	void *near = (void *)(uintptr_t)wr->sg_list->addr, *far = (void *)(uintptr_t)wr->wr.rdma.remote_addr;

	*bad = wr;
	assert_ptr_equal(qp, &scene.qps[0]);
	assert_int_equal(scene.connected, 2);
	assert_int_equal(wr->sg_list->length, BYTES);
	if (scene.play.refuses_request)
		return ENOMEM;
	if (behaviour == MOVES && wr->opcode == IBV_WR_RDMA_WRITE)
		memcpy(far, near, BYTES);
	else if (behaviour == MOVES)
		memcpy(near, far, BYTES);
	scene.done = (struct ibv_wc){ .status = behaviour == FAILS ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS };
	scene.has_done = behaviour != IS_SILENT;
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	(void)cq;
	(void)count;
	*wc = scene.done;
	return scene.has_done;
}

int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int __wrap_ibv_query_port(struct ibv_context *verbs, uint8_t port, struct _compat_ibv_port_attr *found);
int __wrap_ibv_query_port(struct ibv_context *verbs, uint8_t port, struct _compat_ibv_port_attr *found)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)found;

	(void)verbs;
	if (port > 2)
		return EINVAL;
	attr->state = port == 1 || scene.play.down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->gid_tbl_len = 4;
	return 0;
}

/* The first is of the link alone, and the third of IPv4. */
int ibv_query_gid(struct ibv_context *verbs, uint8_t port, int index, union ibv_gid *gid)
{
	(void)verbs;
	assert_int_equal(port, 2);
	memset(gid, 0, sizeof(*gid));
	if (scene.play.no_gid || index == 1)
		return 0;
	gid->raw[0] = index == 2 ? 0 : 0xfe;
	gid->raw[10] = gid->raw[11] = 0xff;
	gid->raw[12] = 10;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *verbs)
{
	(void)verbs;
	scene.open++;
	return &scene.pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	scene.open--;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int count, void *data, struct ibv_comp_channel *channel, int vector)
{
	(void)count;
	(void)data;
	(void)channel;
	(void)vector;
	scene.open++;
	scene.has_done = false;
	scene.connected = 0;
	scene.cq.context = verbs;
	return &scene.cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	scene.open--;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	static unsigned int made;
	struct ibv_qp *qp;

	(void)pd;
	errno = EOPNOTSUPP;
	if (scene.play.no_pairs)
		return NULL;
	assert_int_equal(attr->qp_type, IBV_QPT_RC);
	scene.open++;
	qp = &scene.qps[made % 2];
	qp->context = &scene.verbs;
	qp->qp_num = 100 + made++ % 2;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	scene.open--;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (scene.play.refuses_state)
		return EINVAL;
	if (mask & IBV_QP_DEST_QPN)
		assert_int_equal(attr->dest_qp_num, qp == &scene.qps[0] ? scene.qps[1].qp_num : scene.qps[0].qp_num);
	if (mask & IBV_QP_AV)
		scene.gid = attr->ah_attr.grh.sgid_index;
	scene.connected += attr->qp_state == IBV_QPS_RTS;
	return 0;
}

int ibv_close_device(struct ibv_context *verbs)
{
	(void)verbs;
	scene.open--;
	return 0;
}

/* ---- the library ---- */

int __wrap_donard_rdma_open_device(struct donard_context *ctx, const char *name, struct ibv_context **verbs);
int __wrap_donard_rdma_open_device(struct donard_context *ctx, const char *name, struct ibv_context **verbs)
{
	assert_string_equal(name, "mlx5_0");
	if (scene.play.opened)
		return donard_fail(ctx, scene.play.opened, "", "mlx5_0: port 1 is not active");
	scene.open++;
	*verbs = &scene.verbs;
	return 0;
}

int __wrap_donard_rdma_register(struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
				unsigned int rights, struct donard_rdma_registration **registration);
int __wrap_donard_rdma_register(struct donard_memory *memory, uint64_t offset, uint64_t length, struct ibv_pd *pd,
				unsigned int rights, struct donard_rdma_registration **registration)
{
	struct donard_memory_info info = { .size = sizeof(info) };

	(void)pd;
	assert_true(offset == 0 && length == 0);
	assert_int_equal(rights, DONARD_RDMA_READ | DONARD_RDMA_WRITE);
	donard_memory_info(memory, &info);
	if (scene.play.registered && is_region((uintptr_t)info.address))
		return donard_fail(scene.fake->ctx, scene.play.registered, "", "mlx5_0 cannot register p2pmem0");
	scene.open++;
	*registration = (struct donard_rdma_registration *)memory;
	return 0;
}

int __wrap_donard_rdma_registration_info(const struct donard_rdma_registration *registration,
					 struct donard_rdma_registration_info *info);
int __wrap_donard_rdma_registration_info(const struct donard_rdma_registration *registration,
					 struct donard_rdma_registration_info *info)
{
	struct donard_memory_info memory = { .size = sizeof(memory) };

	donard_memory_info((const struct donard_memory *)registration, &memory);
	info->address = memory.address;
	info->mr = &scene.mr;
	return 0;
}

void __wrap_donard_rdma_deregister(struct donard_rdma_registration *registration);
void __wrap_donard_rdma_deregister(struct donard_rdma_registration *registration)
{
	scene.open -= registration != NULL;
}

int __wrap_donard_memory_alloc(struct donard_context *ctx, const char *region, uint64_t length, struct donard_memory **memory);
int __wrap_donard_memory_alloc(struct donard_context *ctx, const char *region, uint64_t length, struct donard_memory **memory)
{
	assert_string_equal(region, "p2pmem0");
	assert_int_equal(length, BYTES);
	if (scene.play.taken)
		return donard_fail(ctx, scene.play.taken, "", "p2pmem0 has no free memory");
	return donard_memory_from_host(ctx, scene.region, length, memory);
}

int __wrap_donard_memory_claim(struct donard_context *ctx, const char *region, uint64_t offset, uint64_t length,
			       struct donard_memory **memory);
int __wrap_donard_memory_claim(struct donard_context *ctx, const char *region, uint64_t offset, uint64_t length,
			       struct donard_memory **memory)
{
	assert_int_equal(offset, 3 * BYTES);
	return __wrap_donard_memory_alloc(ctx, region, length, memory);
}

int __wrap_donard_memory_sync(struct donard_memory *memory, unsigned int flags);
int __wrap_donard_memory_sync(struct donard_memory *memory, unsigned int flags)
{
	(void)memory;
	assert_int_equal(flags, DONARD_SYNC_DURABLE);
	return 0;
}

/* ---- the tests ---- */

struct outcome {
	struct pair pair;
	struct proof_tally tally;
	size_t findings;
};

static struct outcome probe(struct play play, enum donard_verdict verdict, bool undecided)
{
	const struct donard_client_info nic = { .type = DONARD_CLIENT_RDMA, .name = "mlx5_0" };
	const struct donard_region_info region = { .name = "p2pmem0", .size_bytes = 4 * BYTES, .persistent = play.persistent };
	const struct memory memory = { .region = &region, .name = "p2pmem0" };
	const struct doctor_request request = { .probe = true, .unlisted = true };
	struct examination x = { .request = &request, .ctx = scene.fake->ctx };
	struct outcome outcome = {
		.pair = { .client = &nic, .memory = &memory, .verdict = verdict, .undecided = undecided,
			  .route = { .reason = "the bridge is on no list" } },
	};
	const struct pairs pairs = { .pairs = &outcome.pair, .count = 1 };

	scene.play = play;
	scene.verbs = (struct ibv_context){ .device = &scene.device, .ops = { .post_send = post_send, .poll_cq = poll_cq } };
	scene.device.transport_type = play.iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	strcpy(scene.device.name, "mlx5_0");
	memset(scene.region, KEPT, BYTES);
	prove_pairs(&x, &pairs, &outcome.tally);
	outcome.findings = x.finding_count;
	findings_forget(&x);
	assert_int_equal(scene.open, 0);
	return outcome;
}

static void forget(struct outcome *outcome)
{
	for (int d = 0; d < DIRECTIONS; d++)
		free(outcome->pair.proofs[d].reason);
}

static void bytes_arrive(void **state)
{
	struct play persistent = sound;

	(void)state;
	persistent.persistent = true;
	for (int i = 0; i < 2; i++) {
		struct outcome outcome = probe(i ? persistent : sound, DONARD_VERDICT_YES, false);

		for (int d = 0; d < DIRECTIONS; d++) {
			assert_int_equal(outcome.pair.proofs[d].state, PROOF_PROVEN);
			assert_null(outcome.pair.proofs[d].reason);
		}
		assert_true(outcome.pair.proven);
		assert_int_equal(outcome.pair.verdict, DONARD_VERDICT_YES);
		assert_int_equal(outcome.findings + outcome.tally.failed + outcome.tally.undelivered, 0);
		assert_int_equal(scene.gid, 2);
		for (size_t at = 0; i && at < BYTES; at++)
			assert_int_equal(scene.region[at], KEPT);
		forget(&outcome);
	}
}

/* The NIC moves bytes of DRAM well, but not those of the region. */
static void bytes_do_not_arrive(void **state)
{
	static const struct {
		enum behaviour behaviour;
		unsigned int undelivered;
		const char *into, *out_of;
	} cases[] = {
		{ LOSES, 2, "the region holds other bytes", "has other bytes than the region" },
		{ FAILS, 0, "mlx5_0: it reported of a request: remote operation error", "remote operation error" },
		{ IS_SILENT, 0, "within ten seconds", "within ten seconds" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome = probe((struct play){ .region = cases[i].behaviour, .persistent = true }, DONARD_VERDICT_YES, false);

		for (int d = 0; d < DIRECTIONS; d++)
			assert_int_equal(outcome.pair.proofs[d].state, PROOF_FAILED);
		assert_says(outcome.pair.proofs[DIRECTION_READ].reason, cases[i].into);
		assert_says(outcome.pair.proofs[DIRECTION_WRITE].reason, cases[i].out_of);
		assert_int_equal(outcome.pair.verdict, DONARD_VERDICT_NO);
		assert_int_equal(outcome.tally.undelivered, cases[i].undelivered);
		assert_int_equal(outcome.findings, cases[i].undelivered);
		assert_int_equal(outcome.tally.failed, 1);
		assert_int_equal(scene.region[0], KEPT);
		forget(&outcome);
	}
}

/* The prediction stays, and the text says how else the pair can be proven. */
static void nics_that_cannot_be_asked(void **state)
{
	static const struct {
		struct play play;
		const char *says;
	} cases[] = {
		{ { .opened = ENETDOWN }, "not probed: mlx5_0: port 1 is not active" },
		{ { .down = true }, "not active any more" },
		{ { .iwarp = true }, "mlx5_0: it speaks iWARP" },
		{ { .no_gid = true }, "has no address" },
		{ { .no_pairs = true }, "two reliable queue pairs cannot be made: Operation not supported" },
		{ { .refuses_state = true }, "cannot be connected to each other: Invalid argument" },
		{ { .refuses_request = true }, "takes no request" },
		{ { .dram = FAILS }, "remote operation error" },
		{ { .dram = LOSES }, "from DRAM to DRAM" },
		{ { .dram = IS_SILENT }, "within ten seconds" },
		{ { .taken = ENOSPC }, "p2pmem0 has no free memory" },
		{ { .registered = ENOMEM }, "cannot register p2pmem0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome = probe(cases[i].play, DONARD_VERDICT_YES, false);

		for (int d = 0; d < DIRECTIONS; d++) {
			assert_int_equal(outcome.pair.proofs[d].state, PROOF_NOT_TRIED);
			assert_says(outcome.pair.proofs[d].reason, cases[i].says);
			assert_says(outcome.pair.proofs[d].reason, "not probed: ");
			assert_says(outcome.pair.proofs[d].reason, "on another machine, prove it");
		}
		assert_int_equal(outcome.pair.verdict, DONARD_VERDICT_YES);
		assert_false(outcome.pair.proven);
		assert_int_equal(outcome.tally.failed, 0);
		forget(&outcome);
	}
}

/* A device that cannot register the region, or has no route to it after all, cannot use it. */
static void refused(void **state)
{
	static const int errors[] = { EOPNOTSUPP, EHOSTUNREACH };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct outcome outcome = probe((struct play){ .registered = errors[i] }, DONARD_VERDICT_YES, false);

		for (int d = 0; d < DIRECTIONS; d++) {
			assert_int_equal(outcome.pair.proofs[d].state, PROOF_REFUSED);
			assert_string_equal(outcome.pair.proofs[d].reason, "mlx5_0 cannot register p2pmem0");
		}
		assert_int_equal(outcome.pair.verdict, DONARD_VERDICT_NO);
		forget(&outcome);
	}
}

/* No bytes are risked where no route is known. */
static void without_a_route(void **state)
{
	static const struct {
		enum donard_verdict verdict;
		bool undecided;
		enum proof_state proof;
	} cases[] = {
		{ DONARD_VERDICT_UNLISTED, false, PROOF_NOT_TRIED }, { DONARD_VERDICT_UNLISTED, true, PROOF_NOT_TRIED },
		{ DONARD_VERDICT_NO, false, PROOF_REFUSED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome = probe(sound, cases[i].verdict, cases[i].undecided);

		assert_int_equal(outcome.pair.verdict, cases[i].verdict);
		assert_int_equal(outcome.pair.undecided, cases[i].undecided);
		for (int d = 0; d < DIRECTIONS; d++) {
			assert_int_equal(outcome.pair.proofs[d].state, cases[i].proof);
			assert_says(outcome.pair.proofs[d].reason, "on no list");
		}
		assert_int_equal(scene.region[0], KEPT);
		forget(&outcome);
	}
}

static int setup(void **state)
{
	int rc = fake_setup(state);

	memset(&scene, 0, sizeof(scene));
	scene.fake = *state;
	return rc;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_arrive), TEST(bytes_do_not_arrive), TEST(nics_that_cannot_be_asked), TEST(refused), TEST(without_a_route),
	};

	return cmocka_run_group_tests_name("prove_nic", tests, NULL, NULL);
}
