// SPDX-License-Identifier: Apache-2.0
#include "server.h"
#include "listen.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How many messages of one client are handled before the others get their turn. */
#define MESSAGES_A_TURN 64

static const char capabilities[] = "{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536}}";

_Static_assert(VFU_MAX_FDS == 16 && VFU_MAX_TRANSFER == 65536, "what capabilities[] says");

static void __attribute__((format(printf, 2, 3))) say(const struct server *server, const char *format, ...)
{
	va_list args;

	if (!server->log)
		return;
	va_start(args, format);
	fprintf(server->log, "%s: ", server->name);
	vfprintf(server->log, format, args);
	fputc('\n', server->log);
	va_end(args);
}

/* --- interrupts --- */

static void drop_vectors(struct server *server, unsigned int start, unsigned int count)
{
	for (unsigned int i = start; i < start + count; i++) {
		if (server->vectors[i] >= 0)
			close(server->vectors[i]);
		server->vectors[i] = -1;
	}
}

void server_raise(const struct server *server, unsigned int vector)
{
	uint64_t once = 1;

	if (vector < SERVER_MAX_VECTORS && server->vectors[vector] >= 0 &&
	    write(server->vectors[vector], &once, sizeof(once)) != sizeof(once))
		say(server, "vector %u cannot be raised: %s", vector, strerror(errno));
}

/* --- answers --- */

static struct vfu_header *request_of(struct server *server)
{
	return (struct vfu_header *)server->in;
}

static void *payload_of(struct server *server)
{
	return server->in + sizeof(struct vfu_header);
}

/* answer() - room for a payload of that many bytes, as yet zeros. */
static void *answer(struct server *server, size_t len_bytes)
{
	struct vfu_header *header = (struct vfu_header *)server->out;

	*header = *request_of(server);
	header->bytes = sizeof(*header) + len_bytes;
	header->flags = VFU_TYPE_REPLY;
	header->error = 0;
	memset(header + 1, 0, len_bytes);
	server->out_bytes = header->bytes;
	server->sent_bytes = 0;
	return header + 1;
}

static void answer_error(struct server *server, int error)
{
	struct vfu_header *header = (struct vfu_header *)server->out;

	answer(server, 0);
	header->flags |= VFU_ERROR;
	header->error = error;
}

/* --- requests: each returns 0 with its answer made, or an errno --- */

static int on_version(struct server *server, size_t len_bytes)
{
	const struct vfu_version *asked = payload_of(server);
	struct vfu_version *version;

	if (asked->major != VFU_MAJOR || server->greeted)
		return -EINVAL;
	if (len_bytes > sizeof(*asked) && server->in[sizeof(struct vfu_header) + len_bytes - 1])
		return -EINVAL;
	version = answer(server, sizeof(*version) + sizeof(capabilities));
	version->major = VFU_MAJOR;
	version->minor = asked->minor < VFU_MINOR ? asked->minor : VFU_MINOR;
	memcpy(version + 1, capabilities, sizeof(capabilities));
	server->greeted = true;
	server->ops->attached(server->device);
	return 0;
}

static int on_dma_map(struct server *server, size_t len_bytes)
{
	const struct vfu_dma_map *map = payload_of(server);
	int rc;

	(void)len_bytes;
	if (map->flags & ~(VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE) || server->fd_count > 1)
		return -EINVAL;
	rc = dma_map(&server->dma, server->fd_count ? server->fds[0] : -1, map->offset, map->address, map->bytes,
		     map->flags & VFIO_DMA_MAP_FLAG_READ, map->flags & VFIO_DMA_MAP_FLAG_WRITE);
	if (!rc)
		answer(server, 0);
	return rc;
}

static int on_dma_unmap(struct server *server, size_t len_bytes)
{
	const struct vfu_dma_unmap *unmap = payload_of(server);
	int rc = 0;

	(void)len_bytes;
	if (unmap->flags & ~VFIO_DMA_UNMAP_FLAG_ALL)
		return -EINVAL;
	if (unmap->flags)
		dma_unmap_all(&server->dma);
	else
		rc = dma_unmap(&server->dma, unmap->address, unmap->bytes);
	if (!rc)
		memcpy(answer(server, sizeof(*unmap)), unmap, sizeof(*unmap));
	return rc;
}

static int on_info(struct server *server, size_t len_bytes)
{
	const struct vfu_device_info *asked = payload_of(server);
	struct vfu_device_info *info;

	(void)len_bytes;
	if (asked->argsz < sizeof(*asked))
		return -EINVAL;
	info = answer(server, sizeof(*info));
	info->argsz = sizeof(*info);
	info->flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
	info->regions = VFIO_PCI_NUM_REGIONS;
	info->irqs = VFIO_PCI_NUM_IRQS;
	return 0;
}

static uint64_t region_bytes(const struct server *server, uint32_t index)
{
	if (index < PCI_BARS)
		return server->config.identity->bars[index].len_bytes;
	return index == VFIO_PCI_CONFIG_REGION_INDEX ? PCI_CONFIG_BYTES : 0;
}

static int on_region_info(struct server *server, size_t len_bytes)
{
	const struct vfu_region_info *asked = payload_of(server);
	struct vfu_region_info *info;

	(void)len_bytes;
	if (asked->argsz < sizeof(*asked) || asked->index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	info = answer(server, sizeof(*info));
	info->argsz = sizeof(*info);
	info->index = asked->index;
	info->bytes = region_bytes(server, asked->index);
	/* Nothing is mapped past us: each access is seen. */
	info->flags = info->bytes ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	return 0;
}

static int on_irq_info(struct server *server, size_t len_bytes)
{
	const struct vfu_irq_info *asked = payload_of(server);
	struct vfu_irq_info *info;

	(void)len_bytes;
	if (asked->argsz < sizeof(*asked) || asked->index > VFIO_PCI_MSIX_IRQ_INDEX)
		return -EINVAL;
	info = answer(server, sizeof(*info));
	info->argsz = sizeof(*info);
	info->index = asked->index;
	if (asked->index == VFIO_PCI_MSIX_IRQ_INDEX) {
		info->flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE;
		info->count = server->config.identity->vectors;
	}
	return 0;
}

/* Anything else could block us, or kill us by SIGPIPE; so could an eventfd that is full, if it blocks. */
static bool is_eventfd(int fd)
{
	char link[64], target[64] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, target, sizeof(target) - 1) > 0 && !strcmp(target, "anon_inode:[eventfd]") &&
	       !fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int set_eventfds(struct server *server, const struct vfu_irq_set *set)
{
	if (server->fd_count && server->fd_count != set->count)
		return -EINVAL;
	for (unsigned int i = 0; i < server->fd_count; i++)
		if (!is_eventfd(server->fds[i]))
			return -EINVAL;
	drop_vectors(server, set->start, set->count);
	for (unsigned int i = 0; i < server->fd_count; i++)
		server->vectors[set->start + i] = server->fds[i];
	/* They stay. */
	server->fd_count = 0;
	return 0;
}

/* Vectors are given eventfds, lose them, or are raised by the client itself. Masks are the emulator's own affair. */
static int set_vectors(struct server *server, const struct vfu_irq_set *set)
{
	switch (set->flags) {
	case VFIO_IRQ_SET_ACTION_TRIGGER | VFIO_IRQ_SET_DATA_EVENTFD:
		return set_eventfds(server, set);
	case VFIO_IRQ_SET_ACTION_TRIGGER | VFIO_IRQ_SET_DATA_NONE:
		if (!set->count && !set->start)
			drop_vectors(server, 0, SERVER_MAX_VECTORS);
		for (unsigned int i = 0; i < set->count; i++)
			server_raise(server, set->start + i);
		return 0;
	default:
		return -EINVAL;
	}
}

static int on_set_irqs(struct server *server, size_t len_bytes)
{
	const struct vfu_irq_set *set = payload_of(server);
	unsigned int count = server->config.identity->vectors;
	int rc;

	(void)len_bytes;
	if (set->argsz < sizeof(*set) || set->index != VFIO_PCI_MSIX_IRQ_INDEX || set->start > count ||
	    set->count > count - set->start)
		return -EINVAL;
	rc = set_vectors(server, set);
	if (!rc)
		answer(server, 0);
	return rc;
}

/* Is it one to a region that we have, and all inside of it? */
static bool is_inside(const struct server *server, const struct vfu_region_access *access)
{
	uint64_t bytes = region_bytes(server, access->region);

	return access->count && access->count <= VFU_MAX_TRANSFER && access->offset < bytes &&
	       access->count <= bytes - access->offset;
}

static int on_read(struct server *server, size_t len_bytes)
{
	const struct vfu_region_access *asked = payload_of(server);
	struct vfu_region_access *access;

	(void)len_bytes;
	if (!is_inside(server, asked))
		return -EINVAL;
	access = answer(server, sizeof(*access) + asked->count);
	*access = *asked;
	if (access->region == VFIO_PCI_CONFIG_REGION_INDEX)
		memcpy(access + 1, server->config.bytes + access->offset, access->count);
	else
		server->ops->read(server->device, access->region, access->offset, access + 1, access->count);
	return 0;
}

static int on_write(struct server *server, size_t len_bytes)
{
	const struct vfu_region_access *access = payload_of(server);

	if (!is_inside(server, access) || len_bytes != sizeof(*access) + access->count)
		return -EINVAL;
	if (access->region == VFIO_PCI_CONFIG_REGION_INDEX)
		pci_write(&server->config, access->offset, access + 1, access->count);
	else
		server->ops->write(server->device, access->region, access->offset, access + 1, access->count);
	memcpy(answer(server, sizeof(*access)), access, sizeof(*access));
	return 0;
}

static int on_reset(struct server *server, size_t len_bytes)
{
	(void)len_bytes;
	pci_reset(&server->config);
	server->ops->reset(server->device);
	answer(server, 0);
	return 0;
}

/* A payload has @min_bytes at least, and no more than that unless @may_be_longer. */
static const struct request {
	int (*handle)(struct server *server, size_t len_bytes);
	size_t min_bytes;
	bool may_be_longer;
} requests[] = {
	[VFU_VERSION] = { on_version, sizeof(struct vfu_version), true },
	[VFU_DMA_MAP] = { on_dma_map, sizeof(struct vfu_dma_map), false },
	[VFU_DMA_UNMAP] = { on_dma_unmap, sizeof(struct vfu_dma_unmap), false },
	[VFU_GET_INFO] = { on_info, sizeof(struct vfu_device_info), false },
	[VFU_GET_REGION_INFO] = { on_region_info, sizeof(struct vfu_region_info), true },
	[VFU_GET_IRQ_INFO] = { on_irq_info, sizeof(struct vfu_irq_info), false },
	[VFU_SET_IRQS] = { on_set_irqs, sizeof(struct vfu_irq_set), false },
	[VFU_REGION_READ] = { on_read, sizeof(struct vfu_region_access), false },
	[VFU_REGION_WRITE] = { on_write, sizeof(struct vfu_region_access), true },
	[VFU_RESET] = { on_reset, 0, false },
};

static int handle(struct server *server)
{
	const struct vfu_header *header = request_of(server);
	size_t len_bytes = header->bytes - sizeof(*header);
	const struct request *request;

	if ((header->flags & VFU_TYPE_MASK) != VFU_TYPE_COMMAND)
		return -EINVAL;
	if (header->command >= sizeof(requests) / sizeof(requests[0]) || !requests[header->command].handle)
		return -EOPNOTSUPP;
	if (!server->greeted && header->command != VFU_VERSION)
		return -EPROTO;
	request = &requests[header->command];
	if (len_bytes < request->min_bytes || (len_bytes > request->min_bytes && !request->may_be_longer))
		return -EINVAL;
	return request->handle(server, len_bytes);
}

/* --- the stream --- */

static void close_fds(struct server *server)
{
	while (server->fd_count)
		close(server->fds[--server->fd_count]);
}

/* False if more descriptors came than a message may have. */
static bool take_fds(struct server *server, struct msghdr *message)
{
	bool fit = !(message->msg_flags & MSG_CTRUNC);

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
			if (server->fd_count < VFU_MAX_FDS)
				server->fds[server->fd_count++] = fd;
			else
				fit = close(fd) && false;
		}
	}
	return fit;
}

/* receive() - on with the message, to WANTED bytes of it. Returns 1 when they are there, 0 for later, or an errno. */
static int receive(struct server *server, size_t wanted)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];

	while (server->in_bytes < wanted) {
		struct iovec into = { server->in + server->in_bytes, wanted - server->in_bytes };
		struct msghdr message = { .msg_iov = &into, .msg_iovlen = 1, .msg_control = control,
					  .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(server->client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return -errno;
		if (!take_fds(server, &message))
			return -E2BIG;
		if (!n)
			return server->in_bytes ? -EPROTO : -ENOTCONN;
		server->in_bytes += n;
	}
	return 1;
}

/* A message is read in two steps, so that the descriptors of the next one are not taken for this one's. */
static int receive_message(struct server *server)
{
	const struct vfu_header *header = request_of(server);
	int rc = receive(server, sizeof(*header));

	if (rc <= 0)
		return rc;
	if (header->bytes < sizeof(*header) || header->bytes > sizeof(server->in))
		return -EMSGSIZE;
	return receive(server, header->bytes);
}

/* Returns 1 when nothing is left to send, 0 for later, or an errno. */
static int send_answer(struct server *server)
{
	while (server->sent_bytes < server->out_bytes) {
		ssize_t n = send(server->client, server->out + server->sent_bytes, server->out_bytes - server->sent_bytes,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return -errno;
		server->sent_bytes += n;
	}
	server->out_bytes = server->sent_bytes = 0;
	return 1;
}

static void answer_message(struct server *server)
{
	int rc = handle(server);

	if (rc)
		answer_error(server, -rc);
	if (request_of(server)->flags & VFU_NO_REPLY)
		server->out_bytes = 0;
	close_fds(server);
	server->in_bytes = 0;
}

/* One step of the conversation: as receive(). */
static int converse(struct server *server)
{
	int rc = send_answer(server);

	if (rc > 0)
		rc = receive_message(server);
	if (rc > 0)
		answer_message(server);
	return rc;
}

static void accept_client(struct server *server)
{
	int client = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

	if (client >= 0)
		server_attach(server, client);
}

void server_serve(struct server *server)
{
	int rc = 1;

	if (server->client < 0) {
		accept_client(server);
		return;
	}
	for (int i = 0; i < MESSAGES_A_TURN && rc > 0; i++)
		rc = converse(server);
	/* The last answer does not wait for another turn. */
	if (rc > 0)
		rc = send_answer(server);
	if (rc >= 0)
		return;
	if (rc != -ENOTCONN)
		say(server, "dropping the client: %s", strerror(-rc));
	server_detach(server);
}

struct pollfd server_wants(const struct server *server)
{
	if (server->client < 0)
		return (struct pollfd){ .fd = server->listener, .events = POLLIN };
	return (struct pollfd){ .fd = server->client, .events = server->out_bytes ? POLLOUT : POLLIN };
}

/* --- begin and end --- */

void server_init(struct server *server, const char *name, const struct pci_identity *identity,
		 const struct device_ops *ops, void *device)
{
	*server = (struct server){ .name = name, .ops = ops, .device = device, .listener = -1, .client = -1 };
	pci_init(&server->config, identity);
	memset(server->vectors, -1, sizeof(server->vectors));
}

int server_listen(struct server *server, const char *path)
{
	server->listener = listen_at(path);
	return server->listener < 0 ? server->listener : 0;
}

void server_attach(struct server *server, int client)
{
	server->client = client;
}

void server_detach(struct server *server)
{
	bool was_attached = server->greeted;

	if (server->client < 0)
		return;
	close(server->client);
	server->client = -1;
	close_fds(server);
	drop_vectors(server, 0, SERVER_MAX_VECTORS);
	dma_unmap_all(&server->dma);
	pci_reset(&server->config);
	server->greeted = false;
	server->in_bytes = server->out_bytes = server->sent_bytes = 0;
	if (was_attached)
		server->ops->detached(server->device);
}

void server_close(struct server *server)
{
	server_detach(server);
	if (server->listener >= 0)
		close(server->listener);
	server->listener = -1;
}
