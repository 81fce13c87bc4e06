// SPDX-License-Identifier: Apache-2.0
/* See copy_scene.h. */
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "copy_scene.h"
#include "donard/file.h"
#include "place.h"
#include "play_ioctl.h"

uint32_t played_route = P2PMEM_ROUTE_SWITCH, played_flags, played_region_flags;
uint64_t played_region_bytes, played_available, played_resets, played_folio_bytes;
bool played_removed;
struct loop_info64 played_loop;

static void play_info(int fd, struct p2pmem_info *info)
{
	fake_info_name(fd, info);
	info->flags = played_region_flags;
	info->resets = played_resets;
	info->region_bytes = played_region_bytes;
	info->available_bytes = played_available;
	info->granule_bytes = 4096;
	info->folio_bytes = played_folio_bytes;
	info->pci_bus = 3;
	info->state = P2PMEM_STATE_READY;
}

/* Others take memory of the region while the copy looks at its routes. */
bool played_taking;
uint64_t played_left;

static void play_probe(struct p2pmem_probe *probe)
{
	if (played_taking)
		played_available = played_left;
	probe->route = played_route;
	probe->flags = played_flags;
	probe->bridge_bus = 2;
	strcpy(probe->reason, "a played reason");
}

/* The next claims find their range taken. */
unsigned int played_busy_claims;

static int play_claim(void)
{
	if (!played_busy_claims)
		return 0;
	played_busy_claims--;
	errno = EBUSY;
	return -1;
}

/* The region that is being taken away, if any. */
const char *played_gone = "";

static int play_copy(int fd, const struct p2pmem_copy *copy)
{
	uint8_t *bytes = calloc(1, copy->length);

	if (played_gone[0]) {
		free(bytes);
		errno = ENODEV;
		return -1;
	}

	assert_true(syscall(SYS_pread64, copy->from_fd, bytes, copy->length, copy->from_offset) >= 0);
	assert_int_equal(syscall(SYS_pwrite64, fd, bytes, copy->length, copy->to_offset), copy->length);
	free(bytes);
	return 0;
}

uint64_t played_piece_bytes;

/* A file owns what lies at its own offset. */
static int play_locate(struct p2pmem_locate *place)
{
	if (played_gone[0]) {
		errno = ENODEV;
		return -1;
	}
	place->region_offset = place->file_offset;
	place->length = 2 * REGION_BYTES - place->file_offset;
	if (played_piece_bytes)
		place->length = played_piece_bytes - place->file_offset % played_piece_bytes;
	return 0;
}

bool played_reset;

static int play_sync(void)
{
	if (!played_reset)
		return 0;
	played_reset = false;
	errno = EIO;
	return -1;
}

static void play_status(struct p2pmem_status *status)
{
	status->resets = played_resets;
	status->state = played_removed ? P2PMEM_STATE_GONE : P2PMEM_STATE_READY;
}

static int play_loop(struct loop_info64 *info)
{
	if (!played_loop.lo_inode) {
		errno = EACCES;
		return -1;
	}
	*info = played_loop;
	return 0;
}

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	if (request == FS_IOC_GETFLAGS || request == FS_IOC_FIEMAP)
		return ASK_THE_KERNEL;
	if (request == P2PMEM_IOC_INFO && played_removed) {
		errno = ENODEV;
		return -1;
	}
	if (request == P2PMEM_IOC_INFO)
		play_info(fd, argument);
	else if (request == P2PMEM_IOC_PROBE_PEER)
		play_probe(argument);
	else if (request == LOOP_GET_STATUS64)
		return play_loop(argument);
	else if (request == P2PMEM_IOC_CLAIM)
		return play_claim();
	else if (request == P2PMEM_IOC_COPY)
		return play_copy(fd, argument);
	else if (request == P2PMEM_IOC_LOCATE)
		return play_locate(argument);
	else if (request == P2PMEM_IOC_SYNC)
		return play_sync();
	else if (request == P2PMEM_IOC_STATUS)
		play_status(argument);
	return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	char link[64], path[256];
	ssize_t length;

	/* A server waits for its region and other things at once. */
	if (count > 1)
		return (int)syscall(SYS_poll, fds, count, timeout);
	assert_int_equal(count, 1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fds->fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	fds->revents = played_gone[0] && strstr(path, played_gone) ? POLLPRI : 0;
	return fds->revents != 0;
}

/* A lossy route reports success without moving the bytes. */
uint32_t played_lost_turns;
bool played_lost_reads, played_lost_writes, played_failed_reads, played_failed_dram_writes;
int played_refused_writes;
uint32_t played_refused_turns;
/* A route that fails; what else happens when a read fails. */
bool played_failed_direct_reads;
void (*played_at_failure)(void);
/* Another program that writes to the file's first block before each of so many reads. */
unsigned int played_writers;
size_t dram_transfers;

/* A file system that does no direct I/O and does not say so; or another program that reads the file, once. */
bool played_fallback;
unsigned int played_readers;

void read_through_cache(int fd)
{
	char path[64], byte;
	int plain;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	plain = open(path, O_RDONLY);
	for (off_t at = 0; syscall(SYS_pread64, plain, &byte, 1, at) == 1; at += 4096)
		;
	close(plain);
}

static void write_nonce(int fd)
{
	char path[64];
	uint8_t nonce[4096];
	int other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_WRONLY);
	assert_true(other >= 0);
	dnd_nonce(nonce, sizeof(nonce));
	assert_int_equal(syscall(SYS_pwrite64, other, nonce, sizeof(nonce), 0L), sizeof(nonce));
	assert_int_equal(syscall(SYS_fsync, other), 0);
	posix_fadvise(other, 0, 0, POSIX_FADV_DONTNEED);
	close(other);
}

static bool in_region(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, at = (unsigned long)address;
	char line[512];
	bool found = false;

	if (!maps)	/* there is no descriptor for it */
		return false;
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 && at >= start && at < end &&
			strstr(line, "/p2pmem");
	fclose(maps);
	return found;
}

/* The CPU's own way to a region: no drive has a part in it. */
static bool of_region(int fd)
{
	char link[64], path[256];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	return strstr(path, "/p2pmem");
}

size_t played_access_bytes;
unsigned int played_accesses_before_reset;

/* Returns how many of the region's bytes one call moves.  Resets the device after the given number of calls. */
static size_t play_access(size_t bytes)
{
	if (played_accesses_before_reset && !--played_accesses_before_reset)
		played_resets++;
	return dnd_min(bytes, played_access_bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
	void *lost = NULL;
	ssize_t got;

	if (of_region(fd))
		return syscall(SYS_pread64, fd, to, play_access(bytes), offset);
	if (played_writers) {
		played_writers--;
		usleep(20000);	/* several ticks of the clock by which the file says when it was written */
		write_nonce(fd);
	}
	dram_transfers += !in_region(to);
	if (played_failed_reads || (played_failed_direct_reads && in_region(to))) {
		if (played_at_failure)
			played_at_failure();
		errno = EIO;
		return -1;
	}
	if (played_fallback || played_readers) {
		played_readers -= !!played_readers;
		read_through_cache(fd);
	}
	if (in_region(to) && (played_lost_reads || played_lost_turns & 1))
		assert_int_equal(posix_memalign(&lost, 4096, bytes), 0);
	got = syscall(SYS_pread64, fd, lost ? lost : to, bytes, offset);
	free(lost);
	if (in_region(to))
		played_lost_turns >>= 1;
	return got;
}

static bool is_refused(void)
{
	bool refused = played_refused_writes && played_refused_turns & 1;

	if (played_refused_writes)
		played_refused_turns = (played_refused_turns & 1U << 31) | played_refused_turns >> 1;
	return refused;
}

/* A drive fetches zeros by a write that is lost. */
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
	void *lost = NULL;
	ssize_t put;

	if (of_region(fd))
		return syscall(SYS_pwrite64, fd, from, play_access(bytes), offset);
	dram_transfers += !in_region(from);
	if (is_refused()) {
		errno = played_refused_writes;
		return -1;
	}
	if (played_failed_dram_writes && !in_region(from)) {
		errno = EIO;
		return -1;
	}
	if (played_lost_writes && in_region(from)) {
		assert_int_equal(posix_memalign(&lost, 4096, bytes), 0);
		memset(lost, 0, bytes);
	}
	put = syscall(SYS_pwrite64, fd, lost ? lost : from, bytes, offset);
	free(lost);
	return put;
}

void write_file(const char *path, const uint8_t *data, size_t bytes)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(data ? write(fd, data, bytes) : (ssize_t)bytes, bytes);
	if (!data)
		assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

int copy_setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	char path[128], link[128];
	struct stat st;

	if (fake_setup((void **)&scene->fake) || stat(scene->fake->root, &st))
		return -1;
	played_route = P2PMEM_ROUTE_SWITCH;
	played_flags = 0;
	played_region_flags = 0;
	played_region_bytes = REGION_BYTES;
	played_available = REGION_BYTES;
	played_taking = false;
	played_lost_reads = false;
	played_lost_turns = 0;
	played_lost_writes = false;
	played_failed_dram_writes = false;
	played_refused_writes = 0;
	played_refused_turns = UINT32_MAX;
	played_failed_reads = false;
	played_failed_direct_reads = false;
	played_at_failure = NULL;
	played_writers = 0;
	played_gone = "";
	played_loop = (struct loop_info64){ 0 };
	played_busy_claims = 0;
	played_piece_bytes = 0;
	played_reset = false;
	played_resets = 0;
	played_removed = false;
	played_access_bytes = SIZE_MAX;
	played_accesses_before_reset = 0;
	played_fallback = false;
	played_readers = 0;
	dram_transfers = 0;
	fake_region(scene->fake, "p2pmem0", "pci-bar", "0000:03:00.0");
	fake_nvme(scene->fake, 7, "0000:01:00.0");
	snprintf(link, sizeof(link), "dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	fake_link(scene->fake, link, "devices/pci/0000:01:00.0/nvme/nvme7/nvme7n1");
	fake_file(scene->fake, "fs/ext4/nvme7n1/journal_task", "<none>");
	snprintf(path, sizeof(path), "%s/p2pmem0", scene->fake->root);
	write_file(path, NULL, 2 * REGION_BYTES);	/* room for scratch windows */
	snprintf(scene->in, sizeof(scene->in), "%s/in", scene->fake->files);
	snprintf(scene->out, sizeof(scene->out), "%s/out", scene->fake->files);
	scene->data = malloc(4 * REGION_BYTES);
	dnd_nonce(scene->data, 4 * REGION_BYTES);
	scene->options.size = sizeof(scene->options);
	scene->options.block_bytes = 65536;
	scene->options.flags = DONARD_COPY_VERIFY;
	scene->result.size = sizeof(scene->result);
	*state = scene;
	return 0;
}

int copy_teardown(void **state)
{
	struct scene *scene = *state;
	void *fake = scene->fake;

	fake_teardown(&fake);
	free(scene->data);
	free(scene);
	return 0;
}

int copy(struct scene *scene, const char *src, const char *dst)
{
	struct donard_copy_options options = scene->options;
	char from[32], to[32];
	int rc;

	src = name_of_place(src, from, &options.src_offset_bytes);
	dst = name_of_place(dst, to, &options.dst_offset_bytes);
	needs_supported_file_system(scene->fake->files);
	rc = donard_copy(scene->fake->ctx, src, dst, &options, &scene->result);
	if (rc)		/* cmocka cuts a message behind 1024 bytes, its newline, too */
		print_message("  %.900s\n", donard_error(scene->fake->ctx));
	return rc;
}

struct donard_file *open_file(struct scene *scene, const char *path, unsigned int flags)
{
	struct donard_file *file = NULL;

	needs_supported_file_system(scene->fake->files);
	assert_int_equal(donard_file_open(scene->fake->ctx, path, flags, &file), 0);
	return file;
}

void assert_file(const char *path, const uint8_t *data, size_t bytes)
{
	uint8_t *seen = malloc(bytes + 1);
	int fd = open(path, O_RDONLY);

	assert_int_equal(read(fd, seen, bytes + 1), bytes);
	assert_memory_equal(seen, data, bytes);
	close(fd);
	free(seen);
}
