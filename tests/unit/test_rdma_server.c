// SPDX-License-Identifier: Apache-2.0
/* A server whose clients, memory and device are played by this program: its messages and events, and how it continues. */
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "memory/memory.h"
#include "rdma/listen.h"
#include "rdma/session.h"
#include "says.h"

#define MEMORY_BYTES	(3ULL << 20)

static struct {
	struct fake *fake;
	struct donard_memory memory;
	uint8_t bytes[1];		/* nobody looks at them */
	struct rdma_cm_id listener;
	struct rdma_event_channel events;
	struct ibv_context verbs;
	struct ibv_device device;
	struct ibv_comp_channel channel;
	struct rdma_cm_id clients[8];
	struct dnd_happening knocks[8];
	unsigned int knock_count, next_knock;
	bool served;			/* a client is served; the others connect later */
	bool takes_nothing;		/* the client only says good-bye */
	unsigned int works;		/* of the calls that serve it: in so many the server works, and looks about meanwhile */
	unsigned int calls;		/* that serve it */
	bool is_cut_off;		/* the client says no good-bye, and hears nothing any more */
	bool program_fails;		/* so does a call in each event, and whenever it is asked for the end */
	int serve_error;		/* what became of its good-bye here, if that failed */
	unsigned int stops;		/* how often the caller asks for the end */
	uint64_t resets;
	unsigned int barriers_to_fail;	/* of those to come */
	uint64_t zeros_until_reset;	/* calls; 0: there is none */
	bool reset_after_zeros;		/* reported by the next barrier */
	uint64_t zeroed_bytes;		/* from the first one on, without a gap */
	int told[32];			/* events */
	unsigned int counted[32];	/* how many clients each event counts */
	unsigned int told_count;
	char text[128];			/* of the last of them */
	int rejected;			/* the status of the last one */
} scene;

/* ---- what the server calls ---- */

static void reset(unsigned int barriers)
{
	scene.resets++;
	scene.barriers_to_fail = barriers;
	scene.zeroed_bytes = 0;
}

int __wrap_donard_memory_zero(struct donard_memory *memory, uint64_t offset_bytes, uint64_t length_bytes);
int __wrap_donard_memory_zero(struct donard_memory *memory, uint64_t offset_bytes, uint64_t length_bytes)
{
	if (scene.zeros_until_reset && !--scene.zeros_until_reset) {
		reset(2);
		return dnd_region_access_failed(memory->ctx, &memory->region, EIO);
	}
	if (offset_bytes == scene.zeroed_bytes)
		scene.zeroed_bytes += length_bytes;
	if (scene.zeroed_bytes == MEMORY_BYTES && scene.reset_after_zeros) {
		scene.reset_after_zeros = false;
		reset(1);
	}
	return 0;
}

int __wrap_dnd_region_try_sync(const struct dnd_region *region, bool durable);
int __wrap_dnd_region_try_sync(const struct dnd_region *region, bool durable)
{
	(void)region;
	(void)durable;
	if (!scene.barriers_to_fail)
		return 0;
	scene.barriers_to_fail--;
	return -EIO;
}

uint64_t __wrap_dnd_region_resets(const struct dnd_region *region);
uint64_t __wrap_dnd_region_resets(const struct dnd_region *region)
{
	(void)region;
	return scene.resets;
}

int __wrap_dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *host, uint16_t port);
int __wrap_dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *host, uint16_t port)
{
	(void)ctx;
	(void)host;
	(void)port;
	*listener = (struct dnd_listener){ .events = &scene.events, .id = &scene.listener };
	return 0;
}

int __wrap_dnd_listen(struct donard_context *ctx, struct dnd_listener *listener);
int __wrap_dnd_listen(struct donard_context *ctx, struct dnd_listener *listener)
{
	(void)ctx;
	(void)listener;
	return 0;
}

void __wrap_dnd_listener_close(struct dnd_listener *listener);
void __wrap_dnd_listener_close(struct dnd_listener *listener)
{
	(void)listener;
}

bool __wrap_dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening);
bool __wrap_dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening)
{
	(void)listener;
	if (scene.served || scene.next_knock == scene.knock_count)
		return false;
	*happening = scene.knocks[scene.next_knock++];
	return true;
}

/* A client that takes the offer, and has said good-bye. */
int __wrap_dnd_session_begin(struct dnd_session *session, struct dnd_service *service, struct rdma_cm_id *id,
			     uint8_t reads);
int __wrap_dnd_session_begin(struct dnd_session *session, struct dnd_service *service, struct rdma_cm_id *id,
			     uint8_t reads)
{
	(void)reads;
	scene.served = true;
	*session = (struct dnd_session){
		.service = service, .id = id, .changed = true,
		.heard = { .took = !scene.takes_nothing, .said_bye = !scene.is_cut_off },
		.link = { .channel = &scene.channel, .established = true, .lost = scene.is_cut_off },
	};
	return 0;
}

int __wrap_dnd_session_serve(struct dnd_session *session);
int __wrap_dnd_session_serve(struct dnd_session *session)
{
	if (++scene.calls <= scene.works) {
		scene.served = false;
		session->service->meanwhile_fn(session->service->user);
		scene.served = true;
		return 0;
	}
	if (!scene.serve_error)
		return -ESHUTDOWN;
	return dnd_memory_access_failed(session->service->memory, scene.serve_error);
}

void __wrap_dnd_session_end(struct dnd_session *session);
void __wrap_dnd_session_end(struct dnd_session *session)
{
	session->id = NULL;
	scene.served = false;
}

void __wrap_dnd_session_reject(struct rdma_cm_id *id, enum dnd_rdma_status status);
void __wrap_dnd_session_reject(struct rdma_cm_id *id, enum dnd_rdma_status status)
{
	(void)id;
	scene.rejected = (int)status;
}

/* ---- the scene ---- */

static int setup(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	if (fake_setup((void **)&scene.fake))
		return -1;
	/* Readable at any time, and nothing else. */
	scene.events.fd = scene.channel.fd = scene.memory.region.fd = open("/dev/zero", O_RDONLY);
	scene.memory.ctx = scene.fake->ctx;
	scene.memory.length = MEMORY_BYTES;
	scene.memory.dmabuf.fd = -1;
	scene.memory.window.data = scene.bytes;
	strcpy(scene.memory.region.name, "p2pmem0");
	scene.listener.route.addr.src_sin.sin_family = AF_INET;
	scene.verbs.device = &scene.device;
	return 0;
}

static int teardown(void **state)
{
	void *fake = scene.fake;

	(void)state;
	close(scene.events.fd);
	return fake_teardown(&fake);
}

static void knocks(uint8_t reads, bool reads_optional)
{
	const struct dnd_hello hello = { .reads_optional = reads_optional };
	struct rdma_cm_id *id = &scene.clients[scene.knock_count];
	struct dnd_happening *knock = &scene.knocks[scene.knock_count++];

	id->route.addr.dst_sin.sin_family = AF_INET;
	id->verbs = &scene.verbs;
	*knock = (struct dnd_happening){
		.turn = DND_TURN_KNOCK, .id = id, .reads = reads, .said_bytes = DND_HELLO_BYTES,
	};
	dnd_hello_encode(&hello, knock->said);
}

static void fail_a_call(void)
{
	donard_fail(scene.fake->ctx, EILSEQ, NULL, "the program's own words");
}

static void hear(void *user, const struct donard_rdma_event *event)
{
	(void)user;
	assert_true(scene.told_count < sizeof(scene.told) / sizeof(scene.told[0]));
	if (event->type == DONARD_RDMA_CLIENT_CAME)	/* the bytes of each before it */
		assert_int_equal(scene.zeroed_bytes, event->clients > 1 ? MEMORY_BYTES : 0);
	scene.counted[scene.told_count] = event->clients;
	scene.told[scene.told_count++] = (int)event->type;
	snprintf(scene.text, sizeof(scene.text), "%s", event->text);
	if (event->type == DONARD_RDMA_CLIENT_CAME || scene.program_fails)
		fail_a_call();
}

static int stop_once(void *user)
{
	(void)user;
	if (scene.program_fails)
		fail_a_call();
	return scene.stops && scene.stops--;
}

static int serve(unsigned int clients, unsigned int rights)
{
	const struct donard_rdma_serve_options options = {
		.size = sizeof(options), .clients = clients, .rights = rights, .event_fn = hear, .stop_fn = stop_once,
	};

	return donard_rdma_serve(&scene.memory, &options);
}

static void assert_told(const enum donard_rdma_event_type *expected, size_t count)
{
	assert_int_equal(scene.told_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(scene.told[i], expected[i]);
}

#define TOLD(...) assert_told((const enum donard_rdma_event_type[]){ __VA_ARGS__ }, \
			      sizeof((int[]){ __VA_ARGS__ }) / sizeof(int))

/* ---- tests ---- */

static void bytes_are_forgotten(void **state)
{
	(void)state;
	knocks(0, true);
	knocks(0, true);
	assert_int_equal(serve(2, 0), 0);
	assert_int_equal(scene.zeroed_bytes, MEMORY_BYTES);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT, DONARD_RDMA_CLIENT_CAME,
	     DONARD_RDMA_CLIENT_LEFT);
}

/* All of them, once the device works again; and the next client comes. */
static void reset_while_bytes_are_forgotten(void **state)
{
	(void)state;
	knocks(0, true);
	knocks(0, true);
	scene.zeros_until_reset = 2;
	assert_int_equal(serve(2, 0), 0);
	assert_int_equal(scene.zeroed_bytes, MEMORY_BYTES);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT, DONARD_RDMA_RESET,
	     DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
}

/* Each from the moment at which it came, and once. */
static void clients_are_counted(void **state)
{
	static const unsigned int expected[] = { 0, 1, 1, 1, 2, 2 };

	(void)state;
	knocks(0, true);
	knocks(0, true);
	scene.zeros_until_reset = 2;
	assert_int_equal(serve(2, 0), 0);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT, DONARD_RDMA_RESET,
	     DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
	assert_memory_equal(scene.counted, expected, sizeof(expected));
}

/* No call failed: the barrier behind the zeros tells that they may be lost. */
static void reset_behind_the_zeros(void **state)
{
	(void)state;
	knocks(0, true);
	knocks(0, true);
	scene.reset_after_zeros = true;
	assert_int_equal(serve(2, 0), 0);
	assert_int_equal(scene.zeroed_bytes, MEMORY_BYTES);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT, DONARD_RDMA_RESET,
	     DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
}

/* A writer that asks for reads as well comes again without, and only who would read is refused. */
static void writer_asks_whether_it_may_read(void **state)
{
	(void)state;
	knocks(16, true);
	knocks(0, true);
	assert_int_equal(serve(1, DONARD_RDMA_WRITE), 0);
	assert_int_equal(scene.rejected, DND_STATUS_NO_READING);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
}

static void reader_is_refused(void **state)
{
	(void)state;
	knocks(16, false);
	knocks(0, true);
	assert_int_equal(serve(1, DONARD_RDMA_WRITE), 0);
	assert_int_equal(scene.rejected, DND_STATUS_NO_READING);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_REFUSED, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
}

/* A dma-buf that was exported for reading, and one that cannot be zeroed for the next client. */
static void memory_that_cannot_be_offered(void **state)
{
	(void)state;
	scene.memory.dmabuf.fd = 0;
	assert_int_equal(serve(1, 0), -EROFS);
	knocks(0, true);
	assert_int_equal(serve(1, DONARD_RDMA_READ), 0);
	scene.memory.dmabuf.writable = true;
	scene.memory.window.data = NULL;
	assert_int_equal(serve(2, 0), -EOPNOTSUPP);
	knocks(0, true);
	assert_int_equal(serve(1, 0), 0);
}

/* A client that takes nothing could have written all the same, and nobody can make that zero. */
static void unreachable_memory_and_a_client_that_left(void **state)
{
	(void)state;
	scene.memory.dmabuf = (struct dnd_dmabuf){ .fd = 0, .writable = true };
	scene.memory.window.data = NULL;
	scene.takes_nothing = true;
	knocks(0, true);
	assert_int_equal(serve(1, 0), -EOPNOTSUPP);
	assert_says(donard_error(scene.fake->ctx), "a client that did not take the offer could have written to it");
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_REFUSED);
}

/* The barrier failed, so the client got no answer: the events say so, and why. */
static void good_bye_that_fails(void **state)
{
	(void)state;
	scene.serve_error = ETIMEDOUT;
	knocks(0, true);
	assert_int_equal(serve(1, 0), 0);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LOST);
	assert_says(scene.text, "p2pmem0");
}

/* The event has the client's own reason, whatever failure the program's calls left when it was asked to stop. */
static void lost_client_has_its_own_reason(void **state)
{
	(void)state;
	scene.program_fails = true;
	scene.serve_error = ETIMEDOUT;
	knocks(0, true);
	assert_int_equal(serve(1, 0), 0);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LOST);
	assert_says(scene.text, "p2pmem0");
}

/* The same after a reset. */
static void client_lost_by_a_reset_has_its_own_reason(void **state)
{
	(void)state;
	scene.program_fails = scene.is_cut_off = true;
	scene.serve_error = EIO;
	knocks(0, true);
	assert_int_equal(serve(1, 0), 0);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_RESET, DONARD_RDMA_CLIENT_LOST);
	assert_says(scene.text, "p2pmem0");
}

/* They need not wait for the end of what the server does for another one. */
static void others_are_refused_while_the_server_works(void **state)
{
	(void)state;
	knocks(0, true);
	knocks(0, true);
	scene.works = 1;
	assert_int_equal(serve(1, 0), 0);
	assert_int_equal(scene.rejected, DND_STATUS_BUSY);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_REFUSED, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
}

/* The present client is dealt with when the work is done, and at once then. */
static void client_ends_while_the_server_works(void **state)
{
	(void)state;
	knocks(0, true);
	scene.knocks[scene.knock_count++] = (struct dnd_happening){ .turn = DND_TURN_ENDED, .id = &scene.clients[0] };
	scene.works = 9;
	assert_int_equal(serve(1, 0), 0);
	assert_int_equal(scene.calls, 2);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT);
}

/* The first client has gone, so the next one is not refused because of it. */
static void next_client_while_the_server_works(void **state)
{
	(void)state;
	knocks(0, true);
	scene.knocks[scene.knock_count++] = (struct dnd_happening){ .turn = DND_TURN_ENDED, .id = &scene.clients[0] };
	knocks(0, true);
	scene.works = 1;
	assert_int_equal(serve(2, 0), 0);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_CLIENT_CAME, DONARD_RDMA_CLIENT_LEFT, DONARD_RDMA_CLIENT_CAME,
	     DONARD_RDMA_CLIENT_LEFT);
}

/* So is the listener's device. */
static void device_goes_while_the_server_works(void **state)
{
	(void)state;
	knocks(0, true);
	scene.knocks[scene.knock_count++] = (struct dnd_happening){ .turn = DND_TURN_NO_DEVICE, .id = &scene.listener };
	scene.works = 9;
	scene.program_fails = scene.is_cut_off = true;
	assert_int_equal(serve(1, 0), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(scene.fake->ctx), "no-rdma-device");
	assert_int_equal(scene.calls, 1);
}

/* The caller may say so once, for instance because it takes the word from a pipe; here while a reset is waited for. */
static void asked_to_stop_once(void **state)
{
	(void)state;
	knocks(0, true);
	scene.barriers_to_fail = 3;
	scene.stops = 1;
	assert_int_equal(serve(0, 0), 0);
	TOLD(DONARD_RDMA_LISTENING, DONARD_RDMA_RESET);
}

static int serve_within(unsigned int timeout_ms)
{
	const struct donard_rdma_serve_options options = { .size = sizeof(options), .clients = 1, .timeout_ms = timeout_ms };

	return donard_rdma_serve(&scene.memory, &options);
}

static void assert_timeout_refused(unsigned int timeout_ms, unsigned int limit, uint32_t known)
{
	struct donard_failure failure = { .size = sizeof(failure) };

	assert_int_equal(serve_within(timeout_ms), -EINVAL);
	assert_int_equal(donard_failure_get(scene.fake->ctx, &failure), 0);
	assert_string_equal(failure.member, "options.timeout_ms");
	assert_int_equal(failure.value, timeout_ms);
	assert_int_equal(failure.limit, limit);
	assert_int_equal(failure.known, DONARD_FAILURE_VALUE | known);
}

/* Clients would refuse the offer. */
static void timeout_that_no_client_takes(void **state)
{
	(void)state;
	assert_timeout_refused(99, 100, DONARD_FAILURE_LEAST);
	assert_timeout_refused(3600001, 3600000, DONARD_FAILURE_MOST);
	knocks(0, true);
	assert_int_equal(serve_within(100), 0);
	knocks(0, true);
	assert_int_equal(serve_within(3600000), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(bytes_are_forgotten), CASE(reset_while_bytes_are_forgotten), CASE(reset_behind_the_zeros),
		CASE(writer_asks_whether_it_may_read), CASE(reader_is_refused),
		CASE(memory_that_cannot_be_offered), CASE(unreachable_memory_and_a_client_that_left), CASE(asked_to_stop_once), CASE(timeout_that_no_client_takes),
		CASE(clients_are_counted), CASE(good_bye_that_fails),
		CASE(lost_client_has_its_own_reason), CASE(client_lost_by_a_reset_has_its_own_reason),
		CASE(others_are_refused_while_the_server_works), CASE(client_ends_while_the_server_works),
		CASE(next_client_while_the_server_works),
		CASE(device_goes_while_the_server_works),
	};

	return cmocka_run_group_tests_name("rdma_server", tests, NULL, NULL);
}
