// SPDX-License-Identifier: Apache-2.0
/* The server's status socket: sends the status to every program that connects, and nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/report.h"
#include "cache/server.h"

#define ASKED_AT_ONCE	8
#define ASIDE_TRIES	100

static int cannot_listen(struct dnd_cache_server *server, const struct sockaddr_un *address, int error_number)
{
	return dnd_fail_errno(server->ctx, error_number, "%s: the status socket cannot be made (options.status_path can "
			      "name another)", address->sun_path);
}

/*
 * Removes the file with that device and inode, but no other file that got its name meanwhile: renames what is there,
 * looks at it, and puts it back if it is another file.
 */
static int remove_known(const char *path, dev_t device, ino_t inode)
{
	char aside[PATH_MAX];
	struct stat taken;
	bool known;

	if (lstat(path, &taken) || taken.st_dev != device || taken.st_ino != inode)
		return 0;
	for (int i = 0; ; i++) {
		snprintf(aside, sizeof(aside), "%s.%d-%d", path, (int)getpid(), i);
		if (!renameat2(AT_FDCWD, path, AT_FDCWD, aside, RENAME_NOREPLACE) ||
		    (errno == EINVAL && access(aside, F_OK) && !rename(path, aside)))	/* a file system without that flag */
			break;
		if (errno != EEXIST || i == ASIDE_TRIES)
			return errno == ENOENT ? 0 : -errno;
	}
	known = !lstat(aside, &taken) && taken.st_dev == device && taken.st_ino == inode;
	if (!known && link(aside, path) && errno != EEXIST)	/* EEXIST: somebody has made a new one */
		return -errno;
	return unlink(aside) ? -errno : 0;
}

/* Removes the socket that a killed server left; anything else of that name belongs to somebody. */
static int clear_way(struct dnd_cache_server *server, const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc;
	struct stat there;

	if (fd < 0)
		return cannot_listen(server, address, errno);
	if (lstat(address->sun_path, &there)) {
		rc = errno;
		close(fd);
		return rc == ENOENT ? 0 : cannot_listen(server, address, rc);
	}
	rc = connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;
	close(fd);
	if (!rc || rc == EAGAIN)
		return dnd_fail(server->ctx, DND_E_BUSY, "%s: another server answers there. Name another path "
				"(options.status_path), or end that server.", address->sun_path);
	if (rc == ENOENT)
		return 0;
	if (rc == ECONNREFUSED && !S_ISSOCK(there.st_mode))
		return dnd_fail(server->ctx, DND_E_BUSY, "%s: it is not the socket of a server. Name another path "
				"(options.status_path).", address->sun_path);
	if (rc == ECONNREFUSED)
		rc = -remove_known(address->sun_path, there.st_dev, there.st_ino);
	return rc ? cannot_listen(server, address, rc) : 0;
}

/* Makes the folder, which all users may enter whatever the umask is.  Returns 0, or the errno if there is no folder. */
static int make_folder(void)
{
	if (mkdir(DND_REPORT_FOLDER, 0755))
		return errno == EEXIST ? 0 : errno;
	chmod(DND_REPORT_FOLDER, 0755);
	return 0;
}

/* The default name is that of the NVRAM, which this server owns, so no other server can want it. */
int dnd_cache_report_open(struct dnd_cache_server *server)
{
	const char *name = server->options.status_path ? server->options.status_path :
			   dnd_memory_name(server->nvram.memory);
	struct sockaddr_un address;
	int no_folder = 0, rc;
	struct stat made;

	if (server->options.status_path && dnd_new_below_dev("/dev", name))
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION, DND_AT("options.status_path"),
				       "%s: the status socket is not made below /dev, which is for devices. "
				       "Name another path (options.status_path).", name);
	if (dnd_report_address(name, &address))
		return dnd_fail_member(server->ctx, DND_E_BAD_OPTION,
				       DND_AT(server->options.status_path ? "options.status_path" : NULL),
				       "%s: too long for the path of a socket.", name);
	if (!strchr(name, '/'))
		no_folder = make_folder();
	rc = clear_way(server, &address);
	if (rc)
		return rc;
	server->status_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->status_fd < 0 || bind(server->status_fd, (struct sockaddr *)&address, sizeof(address)))
		return cannot_listen(server, &address, errno == ENOENT && no_folder ? no_folder : errno);
	if (!lstat(address.sun_path, &made)) {
		memcpy(server->status_path, address.sun_path, sizeof(server->status_path));
		server->status_device = made.st_dev;
		server->status_inode = made.st_ino;
	}
	if (chmod(address.sun_path, 0666) || listen(server->status_fd, ASKED_AT_ONCE))
		return cannot_listen(server, &address, errno);
	return 0;
}

void dnd_cache_report_close(struct dnd_cache_server *server)
{
	if (server->status_fd < 0)
		return;
	close(server->status_fd);
	if (server->status_path[0])
		remove_known(server->status_path, server->status_device, server->status_inode);
}

static uint64_t used_bytes(const struct dnd_cache_log *log)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < log->super.windows; i++)
		bytes += log->windows[i].used_bytes;
	return bytes;
}

static uint64_t count_clients(const struct dnd_cache_server *server)
{
	uint64_t clients = 0;

	for (unsigned int i = 0; i < server->log.super.windows; i++)
		clients += server->sessions[i] && server->sessions[i]->came;
	return clients;
}

static bool uses_aio(const struct dnd_cache_server *server)
{
	struct donard_queue_info info = { .size = sizeof(info) };

	return !donard_queue_info(server->queue, &info) && info.no_io_uring[0];
}

static void fill(const struct dnd_cache_server *server, struct donard_cache_status *status)
{
	const struct dnd_cache_log *log = &server->log;

	*status = server->tally.counts;
	status->size = sizeof(*status);
	snprintf(status->nvram, sizeof(status->nvram), "%s", dnd_memory_name(server->nvram.memory));
	snprintf(status->drive, sizeof(status->drive), "%s", server->drive.disk);
	status->identity = log->super.identity;
	status->epoch = log->epoch;
	status->persistent = server->persistent;
	status->draining = server->draining;
	status->clients = count_clients(server);
	status->records = log->next - log->tail;
	status->records_most = log->super.records;
	status->window_bytes = used_bytes(log);
	status->window_bytes_most = log->super.windows * log->super.window_bytes;
	status->fill_percent = dnd_cache_fill_percent(server);
	if (status->records)
		status->oldest_ms = (dnd_now_ns() - server->appended_ns[log->tail % log->super.records]) / 1000000;
	status->barriers = server->nvram.barriers;
	dnd_tally_latency(&server->tally, &status->write_latency);
	status->aio = uses_aio(server);
	if (dnd_cache_drive_fails(server))
		snprintf(status->drive_error, sizeof(status->drive_error), "%s", server->destage.why);
}

/* A new socket has room for the report, so the send does not have to wait. */
static void send_status(const struct dnd_cache_server *server, int fd)
{
	struct {
		struct dnd_report_head head;
		struct donard_cache_status status;
	} report = { .head = { .magic = DND_REPORT_MAGIC, .bytes = sizeof(report.status) } };

	fill(server, &report.status);
	send(fd, &report, sizeof(report), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void dnd_cache_report(struct dnd_cache_server *server)
{
	int left = ASKED_AT_ONCE, fd;

	/* All users may ask as often as they like; the limit leaves time for clients of the cache. */
	while (left-- && (fd = accept4(server->status_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		send_status(server, fd);
		close(fd);
	}
	server->status_stuck = fd < 0 && errno != EAGAIN;
}
