// SPDX-License-Identifier: Apache-2.0
/*
 * The socket of a cache server's status.  The server removes only its own socket, or a dead one.  It formats no log without a
 * socket, or without an RDMA device that can use the NVRAM.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "cache/report.h"
#include "cache/server.h"
#include "fake_sysfs.h"
#include "says.h"

struct scene {
	struct fake *fake;
	char path[100];
	struct dnd_cache_server *server;
	struct rdma_cm_id listening;	/* at all addresses, unless a test has a device */
	struct ibv_device device;
	struct ibv_context verbs;
};

static void new_server(struct scene *scene)
{
	*scene->server = (struct dnd_cache_server){
		.ctx = scene->fake->ctx, .options.status_path = scene->path, .status_fd = -1, .listener.id = &scene->listening,
	};
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (fake_setup((void **)&scene->fake))
		return -1;
	snprintf(scene->path, sizeof(scene->path), "%.80s/status", scene->fake->root);
	scene->server = calloc(1, sizeof(*scene->server));
	new_server(scene);
	scene->verbs.device = &scene->device;
	strcpy(scene->device.name, "rxe0");
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	void *fake = scene->fake;

	free(scene->server);
	free(scene);
	return fake_teardown(&fake);
}

static bool is_there(const struct scene *scene, struct stat *st)
{
	return !lstat(scene->path, st);
}

static void own_socket(void **state)
{
	struct scene *scene = *state;
	struct stat st;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_true(is_there(scene, &st) && S_ISSOCK(st.st_mode));
	dnd_cache_report_close(scene->server);
	assert_false(is_there(scene, &st));
}

struct asking {
	const char *path;
	int rc;
	char text[256];
	struct donard_cache_status status;
};

static void *ask(void *user)
{
	struct donard_config config = { .size = sizeof(config) };
	struct asking *asking = user;
	struct donard_context *ctx;

	asking->status.size = sizeof(asking->status);
	asking->rc = donard_open(&ctx, &config);
	if (asking->rc)
		return NULL;
	asking->rc = donard_cache_status(ctx, asking->path, &asking->status);
	snprintf(asking->text, sizeof(asking->text), "%s", donard_error(ctx));
	donard_close(ctx);
	return NULL;
}

/* A server that starts, and is refused then: it is of no other version. */
static void ends_before_it_answers(void **state)
{
	struct scene *scene = *state;
	struct asking asking = { .path = scene->path };
	struct pollfd asked = { .events = POLLIN };
	pthread_t thread;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	asked.fd = scene->server->status_fd;
	assert_int_equal(pthread_create(&thread, NULL, ask, &asking), 0);
	assert_int_equal(poll(&asked, 1, -1), 1);
	dnd_cache_report_close(scene->server);
	pthread_join(thread, NULL);
	assert_int_equal(asking.rc, -ENODEV);
	assert_says(asking.text, "ended before it answered");
}

/* Another thread asks, and the test is the server; returns the connection. */
static int be_asked(struct scene *scene, struct asking *asking, pthread_t *thread)
{
	int fd = -1;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_int_equal(pthread_create(thread, NULL, ask, asking), 0);
	for (; fd < 0; fd = accept(scene->server->status_fd, NULL, NULL))
		poll(&(struct pollfd){ .fd = scene->server->status_fd, .events = POLLIN }, 1, -1);
	return fd;
}

/* Anybody may have made the socket, so its texts are terminated and made printable. */
static void another_answers(void **state)
{
	struct dnd_report_head head = { .magic = DND_REPORT_MAGIC, .bytes = sizeof(struct donard_cache_status) };
	struct donard_cache_status status = { .size = sizeof(status) };
	struct scene *scene = *state;
	struct asking asking = { .path = scene->path };
	pthread_t thread;
	int fd;

	memset(status.nvram, 'n', sizeof(status.nvram));
	strcpy(status.drive, "nvme1n1\x1b[31m\nnvme2n1");
	memset(status.drive_error, 'e', sizeof(status.drive_error));
	fd = be_asked(scene, &asking, &thread);
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, &status, sizeof(status)), sizeof(status));
	close(fd);
	pthread_join(thread, NULL);
	dnd_cache_report_close(scene->server);
	assert_int_equal(asking.rc, 0);
	assert_int_equal(strnlen(asking.status.nvram, sizeof(status.nvram)), sizeof(status.nvram) - 1);
	assert_string_equal(asking.status.drive, "nvme1n1\\x1b[31m\\x0anvme2n1");
	assert_int_equal(strnlen(asking.status.drive_error, sizeof(status.drive_error)), sizeof(status.drive_error) - 1);
}

static _Atomic uint64_t played_ns;	/* what the clock is ahead */

uint64_t __real_dnd_now_ns(void);
uint64_t __wrap_dnd_now_ns(void);
uint64_t __wrap_dnd_now_ns(void)
{
	return __real_dnd_now_ns() + played_ns;
}

/* The whole answer has to come in time, and not only its next byte. */
static void slow_answer(void **state)
{
	struct dnd_report_head head = { .magic = DND_REPORT_MAGIC, .bytes = sizeof(struct donard_cache_status) };
	struct donard_cache_status status = { .size = sizeof(status) };
	struct scene *scene = *state;
	struct asking asking = { .path = scene->path };
	pthread_t thread;
	int fd;

	fd = be_asked(scene, &asking, &thread);
	assert_int_equal(send(fd, &head, sizeof(head) / 2, MSG_NOSIGNAL), sizeof(head) / 2);
	played_ns = DONARD_RDMA_TIMEOUT_MS * 1000000ULL;
	send(fd, (uint8_t *)&head + sizeof(head) / 2, sizeof(head) / 2, MSG_NOSIGNAL);
	send(fd, &status, sizeof(status), MSG_NOSIGNAL);
	pthread_join(thread, NULL);
	played_ns = 0;
	close(fd);
	dnd_cache_report_close(scene->server);
	assert_int_equal(asking.rc, -ETIMEDOUT);
	assert_says(asking.text, "has not answered for 10 seconds");
}

/* A node and each link to it name the region.  There is no server, so the refusal shows which region was asked for. */
static void names_of_region(void **state)
{
	struct donard_cache_status status = { .size = sizeof(status) };
	struct scene *scene = *state;
	struct fake *fake = scene->fake;
	char path[128];

	fake_link(fake, "p2pmem/by-name/nvram", "p2pmem99");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", fake->root, i ? "p2pmem99" : "p2pmem/by-name/nvram");
		assert_int_equal(donard_cache_status(fake->ctx, path, &status), -ENODEV);
		assert_says(donard_error(fake->ctx), "p2pmem99: no cache is served from it (nobody answers at /run/donard/cache-p2pmem99)");
	}
}

/* Leaves the socket of a server that was killed. */
static void dead_socket(void **state)
{
	struct scene *scene = *state;
	struct stat dead, now;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	close(scene->server->status_fd);
	assert_true(is_there(scene, &dead));
	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_true(is_there(scene, &now));
	dnd_cache_report_close(scene->server);
	assert_false(is_there(scene, &now));
}

/* Somebody took the socket away, and has the name now. */
static void name_of_another(void **state)
{
	struct scene *scene = *state;
	struct stat before, after;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_int_equal(unlink(scene->path), 0);
	fake_file(scene->fake, "status", "somebody's");
	assert_true(is_there(scene, &before));
	dnd_cache_report_close(scene->server);
	assert_true(is_there(scene, &after));
	assert_int_equal(before.st_ino, after.st_ino);
	assert_true(dnd_cache_report_open(scene->server) < 0);
	assert_says(donard_error(scene->fake->ctx), "it is not the socket of a server");
	assert_true(is_there(scene, &after));
	assert_int_equal(before.st_ino, after.st_ino);
}

/* The socket goes by way of another name, and whatever has that stays. */
static void names_beside_it(void **state)
{
	struct scene *scene = *state;
	char name[32], path[160];

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	for (int i = -1; i < 2; i++) {
		snprintf(name, sizeof(name), i < 0 ? "status.%d" : "status.%d-%d", (int)getpid(), i);
		fake_file(scene->fake, name, "somebody's");
	}
	dnd_cache_report_close(scene->server);
	assert_int_not_equal(access(scene->path, F_OK), 0);
	for (int i = -1; i < 2; i++) {
		snprintf(path, sizeof(path), i < 0 ? "%s.%d" : "%s.%d-%d", scene->path, (int)getpid(), i);
		assert_int_equal(access(path, F_OK), 0);
	}
}

static bool played_no_folder;	/* of a user who may make nothing in /run */

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	if (!played_no_folder)
		return __real_mkdir(path, mode);
	assert_string_equal(path, DND_REPORT_FOLDER);
	errno = EACCES;
	return -1;
}

int __real_bind(int fd, const struct sockaddr *address, socklen_t bytes);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t bytes);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
	if (!played_no_folder)
		return __real_bind(fd, address, bytes);
	errno = ENOENT;
	return -1;
}

/* The default path: what keeps the folder from being made is the cause, and not that it is missing then. */
static void folder_that_cannot_be_made(void **state)
{
	struct scene *scene = *state;
	int rc;

	scene->server->options.status_path = NULL;
	assert_int_equal(donard_memory_dram(scene->fake->ctx, 4096, &scene->server->nvram.memory), 0);
	played_no_folder = true;
	rc = dnd_cache_report_open(scene->server);
	played_no_folder = false;
	dnd_cache_report_close(scene->server);
	donard_memory_free(scene->server->nvram.memory);
	assert_int_equal(rc, -EACCES);
	assert_says(donard_error(scene->fake->ctx), "the status socket cannot be made");
	assert_says(donard_error(scene->fake->ctx), "Permission denied");
	assert_string_equal(donard_error_code(scene->fake->ctx), "permission");
}

/* ---- a start, with plain memory as NVRAM, and a drive that is always read ---- */

#define BLOCK		4096U
#define NVRAM_BYTES	(4U << 20)

static struct dnd_cache_server *played_server;
static int64_t played_result;
static enum dnd_cache_found played_found;	/* what the NVRAM holds when the drive was asked last */
static bool played_without_memory;		/* for what a log holds */
static const char *played_drive = "eui.0025385b71b00001";
static uint64_t played_drive_bytes = 64U << 20;

int __real_dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, uint64_t records);
int __wrap_dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, uint64_t records);
int __wrap_dnd_cache_blocks_init(struct dnd_cache_blocks *blocks, uint64_t records)
{
	return played_without_memory ? -ENOMEM : __real_dnd_cache_blocks_init(blocks, records);
}

int __wrap_donard_file_info(struct donard_file *file, struct donard_file_info *info);
int __wrap_donard_file_info(struct donard_file *file, struct donard_file_info *info)
{
	(void)file;
	*info = (struct donard_file_info){ .size = sizeof(*info), .kind = DONARD_FILE_KIND_DRIVE, .path = "drive",
					   .disk = "drive", .bounces = "", .not_flushed = "",
					   .size_bytes = played_drive_bytes, .align_bytes = BLOCK };
	return 0;
}

int __wrap_dnd_backing_identity(struct donard_context *ctx, const struct donard_file_info *info, char *identity);
int __wrap_dnd_backing_identity(struct donard_context *ctx, const struct donard_file_info *info, char *identity)
{
	(void)ctx, (void)info;
	strcpy(identity, played_drive);
	return 0;
}

int __wrap_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue);
int __wrap_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue)
{
	(void)ctx, (void)options, (void)queue;
	return 0;
}

int __wrap_donard_queue_register(struct donard_queue *queue, struct donard_memory *memory);
int __wrap_donard_queue_register(struct donard_queue *queue, struct donard_memory *memory)
{
	(void)queue, (void)memory;
	return 0;
}

int __wrap_donard_queue_read(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			     struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user);
int __wrap_donard_queue_read(struct donard_queue *queue, struct donard_file *file, uint64_t file_offset,
			     struct donard_memory *memory, uint64_t memory_offset, uint64_t length, void *user)
{
	static const uint8_t byte = 7;
	struct dnd_cache_super super;

	(void)queue, (void)file, (void)file_offset, (void)length, (void)user;
	assert_int_equal(donard_memory_write(memory, memory_offset, &byte, 1), 0);
	assert_int_equal(dnd_cache_look(played_server->ctx, &played_server->nvram.store, &super, &played_found), 0);
	return 0;
}

int __wrap_donard_queue_wait(struct donard_queue *queue, unsigned int min, int64_t timeout_ns,
			     struct donard_completion *completions, unsigned int count);
int __wrap_donard_queue_wait(struct donard_queue *queue, unsigned int min, int64_t timeout_ns,
			     struct donard_completion *completions, unsigned int count)
{
	(void)queue, (void)min, (void)timeout_ns, (void)count;
	completions[0] = (struct donard_completion){ .result = played_result, .error = "" };
	return 1;
}

static unsigned int played_domains, played_registrations;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *verbs)
{
	static struct ibv_pd pd;

	pd.context = verbs;
	played_domains++;
	return &pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	played_domains--;
	return 0;
}

/* verbs.h has calls of one become calls of the other where the compiler does not know the rights. */
#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	(void)pd, (void)address;
	assert_int_equal(length, NVRAM_BYTES);
	assert_int_equal(access, 0);
	played_registrations++;
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, address, length, (int)access);
}

static uint8_t played_nvram[NVRAM_BYTES];

/* Starts the server with played_nvram as its NVRAM, and copies back what the server leaves there. */
static int start_with(struct dnd_cache_server *server, unsigned int flags, int (*then)(struct dnd_cache_server *server))
{
	int rc;

	played_server = server;
	server->options.flags = flags | DONARD_CACHE_VOLATILE_OK;
	assert_int_equal(donard_memory_dram(server->ctx, NVRAM_BYTES, &server->nvram.memory), 0);
	assert_int_equal(donard_memory_write(server->nvram.memory, 0, played_nvram, NVRAM_BYTES), 0);
	rc = dnd_cache_start(server);
	if (!rc && then)
		rc = then(server);
	assert_int_equal(donard_memory_read(server->nvram.memory, 0, played_nvram, NVRAM_BYTES), 0);
	dnd_cache_report_close(server);
	dnd_cache_end(server);
	return rc;
}

static int start_in(struct dnd_cache_server *server)
{
	return start_with(server, DONARD_CACHE_FORMAT, NULL);
}

/* How many bytes of the NVRAM are not what they were, zeros. */
static size_t start_changes(struct dnd_cache_server *server, int *rc)
{
	size_t changed = 0;

	memset(played_nvram, 0, sizeof(played_nvram));
	*rc = start_in(server);
	for (size_t i = 0; i < sizeof(played_nvram); i++)
		changed += played_nvram[i] != 0;
	return changed;
}

static void start_formats(void **state)
{
	struct scene *scene = *state;
	int rc;

	played_result = BLOCK;
	assert_true(start_changes(scene->server, &rc) > 0);
	assert_int_equal(rc, 0);
	assert_int_equal(played_found, DND_CACHE_FOUND_LOG);
}

/*
 * A server that is killed while it asks the drive leaves a format that may be repeated.  If the drive fails, it restores the
 * NVRAM.
 */
static void format_that_is_refused_or_killed(void **state)
{
	struct scene *scene = *state;
	int rc;

	played_result = -EIO;
	assert_int_equal(start_changes(scene->server, &rc), 0);
	assert_int_equal(rc, -EIO);
	assert_int_equal(played_found, DND_CACHE_FOUND_UNFINISHED);
}

static void no_format_without_socket(void **state)
{
	struct scene *scene = *state;
	int rc;

	scene->server->options.status_path = "/nonexistent/status";
	assert_int_equal(start_changes(scene->server, &rc), 0);
	assert_true(rc < 0);
	assert_says(donard_error(scene->fake->ctx), "the status socket cannot be made");
}

/* The start fails: else each client would be refused, and only the server's events would say why. */
static void no_format_without_a_registration(void **state)
{
	struct scene *scene = *state;
	int rc;

	scene->listening.verbs = &scene->verbs;
	assert_int_equal(start_changes(scene->server, &rc), 0);
	assert_int_equal(rc, -EOPNOTSUPP);
	assert_says(donard_error(scene->fake->ctx), "rxe0 cannot register 4194304 bytes of dram");
	assert_int_equal(played_registrations, 1);
	assert_int_equal(played_domains, 0);
}

/* A user would give up a log that is called damaged, so a log that could not be read is not called so. */
static void log_that_cannot_be_looked_at_is_not_called_damaged(void **state)
{
	struct scene *scene = *state;
	int rc;

	played_result = BLOCK;
	start_changes(scene->server, &rc);
	assert_int_equal(rc, 0);
	new_server(scene);
	played_without_memory = true;
	rc = start_in(scene->server);
	played_without_memory = false;
	assert_int_equal(rc, -ENOMEM);
	assert_string_equal(donard_error_code(scene->fake->ctx), "no-memory");
}

static int write_a_block(struct dnd_cache_server *server)
{
	static const uint8_t zeros[BLOCK];
	const struct dnd_cache_entry entry = {
		.type = DND_CACHE_WRITE, .length_bytes = BLOCK, .checksum = dnd_cache_checksum(0, zeros, BLOCK),
	};
	uint64_t sequence;
	int rc = dnd_cache_append(&server->log, &entry, &sequence);

	return rc ? rc : dnd_cache_commit(&server->log);
}

static void refuses_drive(struct scene *scene, const char *drive, uint64_t drive_bytes, const char *text)
{
	const char *former = played_drive;
	uint64_t former_bytes = played_drive_bytes;

	new_server(scene);
	played_drive = drive;
	played_drive_bytes = drive_bytes;
	assert_int_equal(start_with(scene->server, 0, NULL), -ENODEV);
	assert_string_equal(donard_error_code(scene->fake->ctx), "other-drive");
	assert_says(donard_error(scene->fake->ctx), text);
	played_drive = former;
	played_drive_bytes = former_bytes;
}

/* Shrinking a drive that has grown loses data, so that is not advised if the log is empty. */
static void log_of_another_drive(void **state)
{
	struct scene *scene = *state;
	int rc;

	played_result = BLOCK;
	start_changes(scene->server, &rc);
	assert_int_equal(rc, 0);
	refuses_drive(scene, "eui.0025385b71b00002", 64U << 20, "Name that drive; or, as the log is empty, lay a new one");
	refuses_drive(scene, played_drive, 96U << 20, "The log is empty: lay a new one for the drive as it is now (FORMAT).");
	new_server(scene);
	assert_int_equal(start_with(scene->server, 0, write_a_block), 0);
	refuses_drive(scene, "eui.0025385b71b00002", 64U << 20, "Name that drive.");
	refuses_drive(scene, played_drive, 96U << 20, "Bring back that size, let the log drain, and then change it");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { CASE(own_socket), CASE(ends_before_it_answers), CASE(another_answers), CASE(slow_answer), CASE(names_beside_it),
					     CASE(names_of_region), CASE(dead_socket), CASE(name_of_another), CASE(folder_that_cannot_be_made),
					     CASE(start_formats), CASE(format_that_is_refused_or_killed),
					     CASE(no_format_without_socket), CASE(no_format_without_a_registration),
					     CASE(log_that_cannot_be_looked_at_is_not_called_damaged),
					     CASE(log_of_another_drive) };

	return cmocka_run_group_tests_name("cache_report", tests, NULL, NULL);
}
