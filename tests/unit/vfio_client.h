/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's half of vfio-user, as an emulator plays it, or as none should. The server is in the same thread: each call
 * sends, lets it work, and takes its answer.
 */
#ifndef UNIT_VFIO_CLIENT_H
#define UNIT_VFIO_CLIENT_H

#include "unit.h"
#include "tests/rig/devices/server.h"

/* Ours, where the machine's memory is. */
#define RAM_BYTES (1 << 20)
#define RAM_AT 0x100000

struct client {
	struct server *server;
	int socket;
	/* The last answer. */
	_Alignas(8) uint8_t answer[VFU_MAX_MESSAGE];
	size_t answer_bytes;
	/* Memory that was lent: a memfd and our own mapping of it. */
	int ram_fd;
	uint8_t *ram;
};

/* Connects, without a word. */
void client_connect(struct client *client, struct server *server);
void client_disconnect(struct client *client);
/* Says the version. */
void client_greet(struct client *client);
/* As client_greet(), with RAM_BYTES lent at RAM_AT and leave to be bus master. */
void client_boot(struct client *client, struct server *server);
bool client_is_dropped(const struct client *client);

/* A message as it is, with descriptors. The server does not work yet. */
void client_send(struct client *client, const void *bytes, size_t len_bytes, const int *fds, size_t fd_count);
/* Lets the server work as long as it has something to do. */
void client_pump(struct client *client);
/* Takes one answer into @answer; false if there is none. */
bool client_take(struct client *client);
/* A command and its answer: 0 or the errno that came back. The payload of the answer is at client_payload(). */
int client_call(struct client *client, enum vfu_command command, const void *payload, size_t len_bytes);
int client_call_fds(struct client *client, enum vfu_command command, const void *payload, size_t len_bytes, const int *fds,
		    size_t fd_count);
const void *client_payload(const struct client *client);

int client_map(struct client *client, int fd, uint64_t offset, uint64_t address, uint64_t len_bytes);
int client_unmap(struct client *client, uint64_t address, uint64_t len_bytes);
int client_set_vectors(struct client *client, uint32_t start, uint32_t count, const int *fds, size_t fd_count);
/* An eventfd as that vector. */
int client_vector(struct client *client, uint32_t vector);
/* How often it was raised since the last time. */
uint64_t raised(int eventfd);

int client_try_read(struct client *client, uint32_t region, uint64_t offset, uint32_t len_bytes);
uint64_t client_read(struct client *client, uint32_t region, uint64_t offset, uint32_t len_bytes);
int client_try_write(struct client *client, uint32_t region, uint64_t offset, const void *data, uint32_t len_bytes);
void client_write(struct client *client, uint32_t region, uint64_t offset, uint64_t value, uint32_t len_bytes);
void client_be_master(struct client *client, bool may);

/* A memfd of that many bytes. */
int memory_file(size_t len_bytes);
unsigned int open_descriptors(void);

#endif
