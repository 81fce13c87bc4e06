// SPDX-License-Identifier: Apache-2.0
/* See cacheport.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cacheport.h"
#include "donard/file.h"
#include "errors.h"
#include "lib/base/nodes.h"
#include "place.h"
#include "progress.h"
#include "terms.h"

static int fails(const struct cli *cli, const struct cli_port *port, const char *what)
{
	int error_number = errno;
	char text[CLI_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: %s: %s", port->name, what, strerror(error_number));
	return cli_fail(cli, donard_fail(cli->ctx, error_number, "", text));
}

/* A name that begins like a region's, but names no region, may be meant as a file. */
static int no_region_name(const struct cli *cli, const struct cli_port *port)
{
	char text[CLI_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: no region is named like this; they look like p2pmem0. For a file of that name write ./%s",
		 port->name, port->name);
	return cli_fail(cli, donard_fail(cli->ctx, EINVAL, "bad-name", text));
}

static int open_region(const struct cli *cli, struct cli_port *port, uint64_t length_bytes)
{
	struct cli_place place;
	int rc = cli_place_of(cli->ctx, port->name, port->offset, &place);

	if (rc)
		return cli_fail(cli, rc);
	rc = donard_memory_claim(cli->ctx, place.name, place.offset_bytes, length_bytes, &port->memory);
	port->offset = 0;
	if (rc && !strcmp(donard_error_code(cli->ctx), "bad-name") && !strchr(port->name, '/'))
		return no_region_name(cli, port);
	return rc ? cli_fail(cli, rc) : 0;
}

#define TICK_MS		200
#define PIECE_BYTES	(1U << 20)	/* of a file, from tick to tick */

/* Called by time, not after each wait: hours can pass without a wait that times out, as with a pipe that is always ready. */
static void tick(struct cli_port *port)
{
	double now = cli_now_seconds();

	if (now - port->ticked_seconds < TICK_MS / 1000.0)
		return;
	port->ticked_seconds = now;
	port->while_moving(port->user);
}

/* Waits for a reader to open the pipe.  A signal ends the program here, since none is caught yet. */
static int open_fifo(struct cli_port *port)
{
	int fd;

	while ((fd = open(port->name, O_CLOEXEC | O_WRONLY | O_NONBLOCK)) < 0 && errno == ENXIO) {
		poll(NULL, 0, TICK_MS);
		tick(port);
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd;
}

/*
 * An existing file is opened without O_CREAT: fs.protected_regular refuses that flag, even to root, for another user's file in
 * a folder such as /tmp.  With O_EXCL the kernel refuses a device while it or a partition of it is mounted, swap, or a part of
 * another device.
 */
static int open_named(struct cli_port *port, bool writes)
{
	struct stat st;
	bool there;
	int fd;

	if (!writes)
		return open(port->name, O_CLOEXEC | O_RDONLY);
	there = !stat(port->name, &st);
	if (there && S_ISFIFO(st.st_mode))
		return open_fifo(port);
	if (there)
		return open(port->name, O_CLOEXEC | O_WRONLY | (S_ISBLK(st.st_mode) ? O_EXCL : 0));
	fd = open(port->name, O_CLOEXEC | O_WRONLY | O_CREAT | O_EXCL, 0666);
	port->made = fd >= 0;
	/* EEXIST: the name is a dangling link, or another process created the file first. */
	return fd >= 0 || errno != EEXIST ? fd : open(port->name, O_CLOEXEC | O_WRONLY | O_CREAT, 0666);
}

/* tool/main.c replaced a closed standard input by a descriptor that cannot be read. */
static int open_standard(bool writes)
{
	int fd = writes ? STDOUT_FILENO : STDIN_FILENO, flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != (writes ? O_RDONLY : O_WRONLY))
		return fd;
	errno = EBADF;
	return -1;
}

static int no_node(const struct cli *cli, const struct cli_port *port)
{
	char text[CLI_TEXT_BYTES], in_options[CLI_TEXT_BYTES];

	dnd_no_node(donard_sysfs_root(cli->ctx), port->name, text, sizeof(text));
	return cli_fail_text(cli, EXIT_FAILED, "no-such-device", cli_in_options(text, in_options, sizeof(in_options)));
}

/*
 * The same check as for a copy: O_EXCL alone does not detect loop devices, exports, and other block devices of the same
 * namespace.
 */
static int check_unused(const struct cli *cli, const struct cli_port *port)
{
	struct donard_file *file = NULL;
	int rc = donard_file_open(cli->ctx, port->name, DONARD_FILE_WRITE, &file);

	donard_file_close(file);
	return rc == -EBUSY ? cli_fail(cli, rc) : 0;
}

/* Refuses a name that is neither a file's nor a drive's, as a copy does: a new file in /dev, or a stale device node. */
static int check_name(const struct cli *cli, const struct cli_port *port, bool writes)
{
	char text[CLI_TEXT_BYTES];
	struct stat st;

	if (stat(port->name, &st))
		return writes && errno == ENOENT && dnd_new_below_dev("/dev", port->name) ? no_node(cli, port) : 0;
	if (!S_ISBLK(st.st_mode))
		return 0;
	if (dnd_node_is_stale(donard_sysfs_root(cli->ctx), "/dev", port->name, st.st_rdev, text, sizeof(text)))
		return cli_fail_text(cli, EXIT_FAILED, "no-such-device", text);
	return writes ? check_unused(cli, port) : 0;
}

/* "p2pmem0", "/dev/p2pmem0", "/dev/p2pmem/by-name/scratch", and each with an offset */
static bool names_region(const char *name)
{
	if (!strncmp(name, CLI_REGION_LINKS, strlen(CLI_REGION_LINKS)))
		return true;
	if (!strncmp(name, "/dev/", strlen("/dev/")))
		name += strlen("/dev/");
	return !strncmp(name, "p2pmem", strlen("p2pmem")) && !strchr(name, '/');
}

/* Refuses a user's own link to a region's node: a read of that node as a pipe would wait for ever. */
static int check_pipe(const struct cli *cli, const struct cli_port *port, const struct stat *st)
{
	char path[PATH_MAX], device[PATH_MAX], text[CLI_TEXT_BYTES];
	const char *region;
	ssize_t length;

	snprintf(path, sizeof(path), "%s/dev/char/%u:%u", donard_sysfs_root(cli->ctx), major(st->st_rdev), minor(st->st_rdev));
	length = S_ISCHR(st->st_mode) ? readlink(path, device, sizeof(device) - 1) : -1;
	if (length < 0)
		return 0;
	device[length] = '\0';
	region = strrchr(device, '/');
	if (!region || !names_region(region + 1))
		return 0;
	snprintf(text, sizeof(text), "%s: it leads to a region's node. Name the region: %s", port->name, region + 1);
	return cli_fail(cli, donard_fail(cli->ctx, EINVAL, "bad-name", text));
}

/* Refuses an offset for anything that is not a regular file or a device, such as a pipe. */
static int no_offset(const struct cli *cli, const struct cli_port *port)
{
	return cli_usage(cli, "'%s' has no offset: it is read or written from where it stands", port->name);
}

static int open_path(const struct cli *cli, struct cli_port *port, bool writes)
{
	struct stat st;
	int rc = strcmp(port->name, "-") ? check_name(cli, port, writes) : 0;

	if (rc)
		return rc;
	if (!strcmp(port->name, "-"))
		port->fd = open_standard(writes);
	else
		port->fd = open_named(port, writes);
	if (port->fd < 0 && errno == EBUSY)
		return fails(cli, port, "it is in use (mounted, swap, or another program). Release it first");
	if (port->fd < 0 || fstat(port->fd, &st))
		return fails(cli, port, "cannot be opened");
	rc = check_pipe(cli, port, &st);
	if (rc)
		return rc;
	port->device = S_ISBLK(st.st_mode);
	port->regular = strcmp(port->name, "-") && (S_ISREG(st.st_mode) || port->device);
	if (!port->regular)
		return port->offset ? no_offset(cli, port) : 0;
	port->file_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : (uint64_t)lseek(port->fd, 0, SEEK_END);
	return 0;
}

int cli_port_open(const struct cli *cli, struct cli_port *port, bool writes, uint64_t length_bytes)
{
	port->fd = -1;
	if (!strcmp(port->name, "dram"))
		return 0;
	if (names_region(port->name))
		return open_region(cli, port, length_bytes);
	return open_path(cli, port, writes);
}

uint64_t cli_port_left(const struct cli_port *port)
{
	struct donard_memory_info info = { .size = sizeof(info) };

	if (port->memory && !donard_memory_info(port->memory, &info))
		return info.length_bytes;
	return port->regular && port->offset < port->file_bytes ? port->file_bytes - port->offset : 0;
}

int cli_port_memory(const struct cli *cli, struct cli_port *port, unsigned int slots, uint64_t block_bytes)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	int rc;

	if (port->memory)
		return 0;
	rc = donard_memory_dram(cli->ctx, slots * block_bytes, &port->memory);
	if (!rc)
		rc = donard_memory_info(port->memory, &info);
	port->bytes = info.address;
	return rc ? cli_fail(cli, rc) : 0;
}

static int past_end(const struct cli *cli, const struct cli_port *port, uint64_t end, const char *what, uint64_t most)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: the data would end at %llu, and %s %llu. Use a smaller --size or --dst-offset.",
		 port->name, (unsigned long long)end, what, (unsigned long long)most);
	return cli_fail(cli, donard_fail(cli->ctx, ENXIO, "past-end", text));
}

/* The process would be killed at the first byte past its limit. */
static uint64_t largest_file(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur > INT64_MAX ? INT64_MAX : limit.rlim_cur;
}

int cli_port_reserve(const struct cli *cli, const struct cli_port *port, uint64_t length)
{
	uint64_t end = port->offset + length;	/* neither has the highest bit */

	if (!port->regular)
		return 0;
	if (port->device)
		return end > port->file_bytes ? past_end(cli, port, end, "the drive ends at", port->file_bytes) : 0;
	if (end > largest_file())
		return past_end(cli, port, end, "the largest file here (ulimit -f) has", largest_file());
	if (fallocate(port->fd, FALLOC_FL_KEEP_SIZE, (off_t)port->offset, (off_t)length) &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return fails(cli, port, "there is no room for the data");
	return 0;
}

/* Nonzero after a signal that stops: then the call ends with EINTR. */
static int wait_for_pipe(struct cli_port *port, bool writes)
{
	struct pollfd fd = { .fd = port->fd, .events = writes ? POLLOUT : POLLIN };

	while (poll(&fd, 1, TICK_MS) <= 0) {
		tick(port);
		if (cli_stopped(NULL))
			return -1;
	}
	return 0;
}

/* Moves at most PIPE_BUF bytes, which a pipe that is ready takes without waiting. */
static ssize_t transfer_pipe(struct cli_port *port, bool writes, uint8_t *bytes, uint64_t length)
{
	if (wait_for_pipe(port, writes)) {
		errno = EINTR;
		return -1;
	}
	return writes ? write(port->fd, bytes, length < PIPE_BUF ? length : PIPE_BUF) : read(port->fd, bytes, length);
}

static ssize_t transfer(struct cli_port *port, bool writes, uint64_t at, uint8_t *bytes, uint64_t length)
{
	if (length > PIECE_BYTES)
		length = PIECE_BYTES;
	if (port->regular)
		return writes ? pwrite(port->fd, bytes, length, (off_t)at) : pread(port->fd, bytes, length, (off_t)at);
	return transfer_pipe(port, writes, bytes, length);
}

static int64_t move(const struct cli *cli, struct cli_port *port, bool writes, uint64_t at, uint8_t *bytes,
		    uint64_t length)
{
	uint64_t done = 0;
	ssize_t moved;

	if (port->fd < 0)
		return (int64_t)length;
	while (done < length) {
		tick(port);
		moved = transfer(port, writes, port->offset + at + done, bytes + done, length - done);
		if (moved < 0 && errno == EINTR && !cli_stopped(NULL))
			continue;
		if (moved < 0 && errno == EINTR)
			return -EXIT_STOPPED;
		if (moved < 0)
			return -fails(cli, port, writes ? "cannot be written" : "cannot be read");
		if (!moved)
			break;
		done += (uint64_t)moved;
	}
	return (int64_t)done;
}

int64_t cli_port_read(const struct cli *cli, struct cli_port *port, uint64_t at, uint8_t *to, uint64_t length)
{
	return move(cli, port, false, at, to, length);
}

int64_t cli_port_write(const struct cli *cli, struct cli_port *port, uint64_t at, const uint8_t *from,
		       uint64_t length)
{
	return move(cli, port, true, at, (uint8_t *)from, length);
}

static int settle_region(const struct cli *cli, const struct cli_port *port, bool held_back, char *doubt)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	int rc = donard_memory_info(port->memory, &info);

	if (!rc)
		rc = donard_memory_sync(port->memory, info.persistent ? DONARD_SYNC_DURABLE : 0);
	if (rc)
		return cli_fail(cli, rc);
	if (!info.persistent)
		snprintf(doubt, DONARD_REASON_BYTES, "%s is volatile", info.region);
	else if (held_back)
		snprintf(doubt, DONARD_REASON_BYTES, "%s keeps its bytes without power, but the NIC may hold the last ones back",
			 info.region);
	return 0;
}

int cli_port_check_source(const struct cli *cli, const struct cli_port *port)
{
	int rc = port->fd < 0 && !port->bytes ? donard_memory_sync(port->memory, 0) : 0;

	return rc ? cli_fail(cli, rc) : 0;
}

/* The library judges how the file is mounted and its drive set up now, after the flush. */
static void judge_file(const struct cli *cli, const struct cli_port *port, char *doubt)
{
	struct donard_file_info info = { .size = sizeof(info) };
	char error[CLI_ERROR_BYTES], *end;
	struct donard_file *file;

	if (donard_file_open(cli->ctx, port->name, 0, &file) < 0) {
		cli_in_options(donard_error(cli->ctx), error, sizeof(error));
		end = strstr(error, ". ");		/* the remedy */
		if (end)
			*end = '\0';
		snprintf(doubt, DONARD_REASON_BYTES, "whether a flush reaches the medium is not known: %s", error);
		return;
	}
	donard_file_info(file, &info);
	snprintf(doubt, DONARD_REASON_BYTES, "%s", info.not_flushed);
	donard_file_close(file);
}

int cli_port_settle(const struct cli *cli, const struct cli_port *port, bool held_back, char doubt[DONARD_REASON_BYTES])
{
	doubt[0] = '\0';
	if (port->fd < 0 && !port->bytes)
		return settle_region(cli, port, held_back, doubt);
	if (!port->regular) {
		snprintf(doubt, DONARD_REASON_BYTES, "%s %s", port->name, port->fd < 0 ? "is volatile" : "is no file and no drive");
		return 0;
	}
	if (fsync(port->fd))
		return fails(cli, port, "fsync failed");
	judge_file(cli, port, doubt);
	return 0;
}

/* Removes an empty file that this command created: it would only show that the command failed. */
static void remove_made(const struct cli_port *port)
{
	struct stat made, there;

	if (port->made && !fstat(port->fd, &made) && !made.st_size && !lstat(port->name, &there) &&
	    made.st_dev == there.st_dev && made.st_ino == there.st_ino)
		unlink(port->name);
}

int cli_port_close(const struct cli *cli, struct cli_port *port, bool failed)
{
	int rc = 0;

	if (failed)
		remove_made(port);
	donard_memory_free(port->memory);
	port->memory = NULL;
	if (port->fd > STDERR_FILENO && close(port->fd))
		rc = fails(cli, port, "cannot be written");
	port->fd = -1;
	return rc;
}
