/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One PCI device behind a socket: the server's half of vfio-user.
 *
 * The client is an emulator, and nothing that it sends is trusted. An error within a message is answered with an error. An
 * error in the stream itself (an impossible length, a truncated message, descriptors beyond the limit) ends the
 * connection, and the device is in the state as if its machine had lost power. If a client does not read its answers,
 * nothing is read from it either, so it holds up nobody else.
 *
 * No call blocks. Give server_wants() to poll(), and call server_serve() when that has something to say.
 */
#ifndef LAB_DEVICES_SERVER_H
#define LAB_DEVICES_SERVER_H

#include "dma.h"
#include "pci.h"
#include "protocol.h"
#include <poll.h>
#include <stdio.h>

#define SERVER_MAX_VECTORS 32

struct device_ops {
	/* An access within a BAR. A bus reports no errors: where nothing answers, reads return ones and writes are lost. */
	void (*read)(void *device, unsigned int bar, uint64_t offset, void *data, uint32_t len_bytes);
	void (*write)(void *device, unsigned int bar, uint64_t offset, const void *data, uint32_t len_bytes);
	/* The machine resets the device. */
	void (*reset)(void *device);
	/* A machine is there, or gone with its memory and interrupts. */
	void (*attached)(void *device);
	void (*detached)(void *device);
};

struct server {
	const struct device_ops *ops;
	void *device;
	const char *name;
	/* For complaints about the client; NULL: nobody wants to know. */
	FILE *log;
	int listener, client;
	struct pci_config config;
	struct dma dma;
	/* The eventfds of the MSI-X vectors, or -1. */
	int vectors[SERVER_MAX_VECTORS];
	/* Did the client say its version? */
	bool greeted;
	/* The message that arrives, and the descriptors that came with it. */
	_Alignas(8) uint8_t in[VFU_MAX_MESSAGE];
	size_t in_bytes;
	int fds[VFU_MAX_FDS];
	size_t fd_count;
	/* The answer that waits to be sent. */
	_Alignas(8) uint8_t out[VFU_MAX_MESSAGE];
	size_t out_bytes, sent_bytes;
};

/* server_init() - before anything else; no socket yet. */
void server_init(struct server *server, const char *name, const struct pci_identity *identity,
		 const struct device_ops *ops, void *device);
/* Listens at PATH, which must not exist. Returns 0 or an errno. */
int server_listen(struct server *server, const char *path);
/* Takes a connected socket as the client; it is the server's from here on. */
void server_attach(struct server *server, int client);
struct pollfd server_wants(const struct server *server);
void server_serve(struct server *server);
/* Drops the client, if there is one. */
void server_detach(struct server *server);
void server_close(struct server *server);

/* Interrupts the machine, if its driver has that vector. */
void server_raise(const struct server *server, unsigned int vector);

#endif
