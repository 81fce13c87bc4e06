// SPDX-License-Identifier: Apache-2.0
/* Asks a server of this machine for its status. */
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/printable.h"
#include "cache/report.h"
#include "donard/cache.h"
#include "region/region.h"

#define MS_NS	1000000ULL

/* A server that runs answers in each of its rounds; one that is stopped, or starts, does not. */
static const struct timeval patience = { .tv_sec = DONARD_RDMA_TIMEOUT_MS / 1000 };

static int no_answer(struct donard_context *ctx, const char *path, int error_number)
{
	if (error_number == EINTR)
		return dnd_fail(ctx, DND_E_CANCELED, "%s: stopped before the server there answered.", path);
	return dnd_fail(ctx, DND_E_PEER_SILENT, "%s: the server there has not answered for %lld seconds: it still starts, or is "
			"stopped, or is no cache. Look at it, and ask again.", path, (long long)patience.tv_sec);
}

static int cannot_ask(struct donard_context *ctx, const char *nvram, const char *path)
{
	if (errno == EAGAIN || errno == EINTR)
		return no_answer(ctx, path, errno);
	if (errno == ENOENT || errno == ECONNREFUSED)
		return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: no cache is served from it (nobody answers at %s). Start it "
				"with donard_cache_serve().", nvram, path);
	return dnd_fail_errno(ctx, errno, "%s", path);
}

/* -EAGAIN: nothing has come by then. */
static int await_bytes(int fd, uint64_t until_ns)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = dnd_now_ns();
	int rc = now_ns < until_ns ? poll(&pollfd, 1, (int)((until_ns - now_ns) / MS_NS + 1)) : 0;

	if (rc < 0)
		return -errno;
	return rc ? 0 : -EAGAIN;
}

/* All bytes have to come by @until_ns, even if some keep coming.  -ENODATA: the other side closed before the first, or died. */
static int read_all(int fd, uint64_t until_ns, void *to, size_t bytes)
{
	uint8_t *at = to;
	ssize_t got;

	while (bytes) {
		int rc = await_bytes(fd, until_ns);

		if (rc)
			return rc;
		got = read(fd, at, bytes);
		if (at == (uint8_t *)to && (!got || (got < 0 && errno == ECONNRESET)))
			return -ENODATA;
		if (got <= 0)
			return got ? -errno : -EPROTO;
		at += got;
		bytes -= (size_t)got;
	}
	return 0;
}

static void make_safe(char *text, size_t text_bytes)
{
	text[text_bytes - 1] = '\0';
	dnd_make_printable(text, text_bytes);
}

/* Any program may listen at that socket, and send any bytes. */
static void make_texts_safe(struct donard_cache_status *status)
{
	make_safe(status->nvram, sizeof(status->nvram));
	make_safe(status->drive, sizeof(status->drive));
	make_safe(status->drive_error, sizeof(status->drive_error));
}

static int read_report(int fd, uint64_t until_ns, struct donard_cache_status *status)
{
	const struct dnd_report_head expected = { .magic = DND_REPORT_MAGIC };
	struct dnd_report_head head;
	int rc = read_all(fd, until_ns, &head, sizeof(head));

	if (rc)
		return rc;
	if (memcmp(head.magic, expected.magic, sizeof(head.magic)))
		return -EPROTO;
	rc = read_all(fd, until_ns, status, dnd_min(head.bytes, sizeof(*status)));
	if (!rc)
		make_texts_safe(status);
	return rc;
}

static int ask(struct donard_context *ctx, const char *nvram, const struct sockaddr_un *address,
	       struct donard_cache_status *status)
{
	uint64_t until_ns = dnd_now_ns() + DONARD_RDMA_TIMEOUT_MS * MS_NS;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return dnd_fail_errno(ctx, errno, "no socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		rc = cannot_ask(ctx, nvram, address->sun_path);
	else if ((rc = read_report(fd, until_ns, status)) == -ENODATA)
		rc = dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: the server there ended before it answered. Unless it was killed, "
			      "whoever runs it was told why.",
			      address->sun_path);
	else if (rc == -EAGAIN || rc == -EINTR)
		rc = no_answer(ctx, address->sun_path, -rc);
	else if (rc)
		rc = dnd_fail(ctx, DND_E_PROTOCOL, "%s: what answers there is not a cache of this version of donard.",
			      address->sun_path);
	else
		rc = 0;
	close(fd);
	return rc;
}

/* Names of a region's node, and links to it, mean the region; any other path is that of a socket. */
static bool is_node(const struct donard_context *ctx, const char *nvram)
{
	size_t root = strlen(ctx->dev_root);

	return !strncmp(nvram, ctx->dev_root, root) && !strncmp(nvram + root, "/p2pmem", strlen("/p2pmem"));
}

DND_PUBLIC int donard_cache_status(struct donard_context *ctx, const char *nvram,
				   struct donard_cache_status *status)
{
	DND_USES(CONTEXT, ctx);
	struct donard_cache_status found = { .size = 0 };
	struct sockaddr_un address;
	char name[P2PMEM_NAME_BYTES];
	int rc = dnd_struct_check(ctx, status, "donard_cache_status");

	if (!rc && (!nvram[0] || is_node(ctx, nvram))) {
		rc = dnd_region_name(ctx, nvram, name);
		nvram = name;
	}
	if (rc)
		return rc;
	if (dnd_report_address(nvram, &address))
		return dnd_fail(ctx, DND_E_BAD_NAME, "%s: too long for the path of a socket.", nvram);
	rc = ask(ctx, nvram, &address, &found);
	if (!rc)
		dnd_struct_give(status, &found, sizeof(found));
	return rc;
}
