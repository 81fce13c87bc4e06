// SPDX-License-Identifier: Apache-2.0
#include "vfio_client.h"
#include <dirent.h>
#include <errno.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int memory_file(size_t len_bytes)
{
	int fd = memfd_create("of-a-test", MFD_CLOEXEC);

	assert_true(fd >= 0 && !ftruncate(fd, len_bytes));
	return fd;
}

unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* --- messages --- */

void client_send(struct client *client, const void *bytes, size_t len_bytes, const int *fds, size_t fd_count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))] = { 0 };
	struct iovec from = { (void *)bytes, len_bytes };
	struct msghdr message = { .msg_iov = &from, .msg_iovlen = 1 };

	if (fd_count) {
		struct cmsghdr *part;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(part), fds, fd_count * sizeof(int));
	}
	assert_int_equal(sendmsg(client->socket, &message, MSG_NOSIGNAL), len_bytes);
}

void client_pump(struct client *client)
{
	for (;;) {
		struct pollfd wants = server_wants(client->server);

		if (client->server->client < 0 || poll(&wants, 1, 0) <= 0)
			return;
		server_serve(client->server);
	}
}

bool client_take(struct client *client)
{
	struct vfu_header *header = (struct vfu_header *)client->answer;

	if (recv(client->socket, header, sizeof(*header), MSG_DONTWAIT | MSG_WAITALL) != sizeof(*header))
		return false;
	client->answer_bytes = header->bytes;
	assert_in_range(header->bytes, sizeof(*header), sizeof(client->answer));
	while (header->bytes > sizeof(*header) &&
	       recv(client->socket, header + 1, header->bytes - sizeof(*header), MSG_WAITALL) < 0)
		assert_int_equal(errno, EINTR);
	return true;
}

const void *client_payload(const struct client *client)
{
	return client->answer + sizeof(struct vfu_header);
}

int client_call_fds(struct client *client, enum vfu_command command, const void *payload, size_t len_bytes, const int *fds,
		    size_t fd_count)
{
	static uint16_t id;
	_Alignas(8) static uint8_t message[VFU_MAX_MESSAGE + 16];
	struct vfu_header *header = (struct vfu_header *)message;
	const struct vfu_header *answer = (const struct vfu_header *)client->answer;

	*header = (struct vfu_header){ .id = ++id, .command = command, .bytes = sizeof(*header) + len_bytes };
	if (len_bytes)
		memcpy(header + 1, payload, len_bytes);
	client_send(client, message, header->bytes, fds, fd_count);
	client_pump(client);
	assert_true(client_take(client));
	assert_int_equal(answer->id, id);
	assert_int_equal(answer->command, command);
	assert_int_equal(answer->flags & VFU_TYPE_MASK, VFU_TYPE_REPLY);
	assert_true(!(answer->flags & VFU_ERROR) || (answer->error && answer->bytes == sizeof(*answer)));
	return answer->flags & VFU_ERROR ? answer->error : 0;
}

int client_call(struct client *client, enum vfu_command command, const void *payload, size_t len_bytes)
{
	return client_call_fds(client, command, payload, len_bytes, NULL, 0);
}

/* --- begin and end --- */

void client_connect(struct client *client, struct server *server)
{
	int ends[2];

	*client = (struct client){ .server = server, .ram_fd = -1 };
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), errno);
	client->socket = ends[0];
	server_attach(server, ends[1]);
}

void client_disconnect(struct client *client)
{
	if (client->socket < 0)
		return;
	close(client->socket);
	client->socket = -1;
	client_pump(client);
	if (client->ram_fd < 0)
		return;
	munmap(client->ram, RAM_BYTES);
	close(client->ram_fd);
}

bool client_is_dropped(const struct client *client)
{
	return client->server->client < 0;
}

void client_greet(struct client *client)
{
	const struct vfu_version version = { .major = VFU_MAJOR, .minor = VFU_MINOR };

	assert_int_equal(client_call(client, VFU_VERSION, &version, sizeof(version)), 0);
}

void client_be_master(struct client *client, bool may)
{
	client_write(client, VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND,
		     PCI_COMMAND_MEMORY | (may ? PCI_COMMAND_MASTER : 0), 2);
}

void client_boot(struct client *client, struct server *server)
{
	client_connect(client, server);
	client_greet(client);
	client->ram_fd = memory_file(RAM_BYTES);
	client->ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, client->ram_fd, 0);
	assert_ptr_not_equal(client->ram, MAP_FAILED);
	assert_int_equal(client_map(client, client->ram_fd, 0, RAM_AT, RAM_BYTES), 0);
	client_be_master(client, true);
}

/* --- commands --- */

int client_map(struct client *client, int fd, uint64_t offset, uint64_t address, uint64_t len_bytes)
{
	const struct vfu_dma_map map = { .argsz = sizeof(map), .offset = offset, .address = address, .bytes = len_bytes,
					 .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE };

	return client_call_fds(client, VFU_DMA_MAP, &map, sizeof(map), &fd, fd < 0 ? 0 : 1);
}

int client_unmap(struct client *client, uint64_t address, uint64_t len_bytes)
{
	const struct vfu_dma_unmap unmap = { .argsz = sizeof(unmap), .address = address, .bytes = len_bytes };

	return client_call(client, VFU_DMA_UNMAP, &unmap, sizeof(unmap));
}

int client_set_vectors(struct client *client, uint32_t start, uint32_t count, const int *fds, size_t fd_count)
{
	const struct vfu_irq_set set = { .argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .start = start,
					 .count = count,
					 .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER };

	return client_call_fds(client, VFU_SET_IRQS, &set, sizeof(set), fds, fd_count);
}

int client_vector(struct client *client, uint32_t vector)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_true(fd >= 0);
	assert_int_equal(client_set_vectors(client, vector, 1, &fd, 1), 0);
	return fd;
}

uint64_t raised(int eventfd)
{
	uint64_t count = 0;

	return read(eventfd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

int client_try_read(struct client *client, uint32_t region, uint64_t offset, uint32_t len_bytes)
{
	const struct vfu_region_access access = { .offset = offset, .region = region, .count = len_bytes };

	return client_call(client, VFU_REGION_READ, &access, sizeof(access));
}

uint64_t client_read(struct client *client, uint32_t region, uint64_t offset, uint32_t len_bytes)
{
	const struct vfu_region_access *access = client_payload(client);
	uint64_t value = 0;

	assert_int_equal(client_try_read(client, region, offset, len_bytes), 0);
	assert_int_equal(access->count, len_bytes);
	assert_int_equal(client->answer_bytes, sizeof(struct vfu_header) + sizeof(*access) + len_bytes);
	memcpy(&value, access + 1, len_bytes);
	return value;
}

int client_try_write(struct client *client, uint32_t region, uint64_t offset, const void *data, uint32_t len_bytes)
{
	static uint8_t payload[VFU_MAX_MESSAGE];
	const struct vfu_region_access access = { .offset = offset, .region = region, .count = len_bytes };

	memcpy(payload, &access, sizeof(access));
	memcpy(payload + sizeof(access), data, len_bytes);
	return client_call(client, VFU_REGION_WRITE, payload, sizeof(access) + len_bytes);
}

void client_write(struct client *client, uint32_t region, uint64_t offset, uint64_t value, uint32_t len_bytes)
{
	assert_int_equal(client_try_write(client, region, offset, &value, len_bytes), 0);
}
