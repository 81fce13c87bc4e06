/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands for a device while it runs: lines over a socket. Each is answered by lines, the last of which is "ok" or
 * "error WHY". The guests' emulators connect the socket to a port of the guest, for labctl.
 */
#ifndef LAB_DEVICES_CONTROL_H
#define LAB_DEVICES_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONTROL_CLIENTS 4
#define CONTROL_LINE 128

/* Writes its answer but for the last line; false if there is no such word. */
typedef bool (*control_fn)(void *device, const char *line, FILE *answer);

struct control_client {
	int socket;
	char line[CONTROL_LINE];
	size_t used;
};

struct control {
	int listener;
	control_fn obey;
	void *device;
	struct control_client clients[CONTROL_CLIENTS];
};

int control_listen(struct control *control, const char *path, control_fn obey, void *device);
/* Fills in CONTROL_CLIENTS + 1 entries for poll(); hand them to control_serve() afterwards. */
void control_wants(const struct control *control, struct pollfd *polled);
void control_serve(struct control *control, const struct pollfd *polled);

#endif
