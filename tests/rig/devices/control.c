// SPDX-License-Identifier: Apache-2.0
#include "control.h"
#include "listen.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int control_listen(struct control *control, const char *path, control_fn obey, void *device)
{
	*control = (struct control){ .obey = obey, .device = device };
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		control->clients[i].socket = -1;
	control->listener = listen_at(path);
	return control->listener < 0 ? control->listener : 0;
}

void control_wants(const struct control *control, struct pollfd *polled)
{
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		polled[i] = (struct pollfd){ .fd = control->clients[i].socket, .events = POLLIN };
	polled[CONTROL_CLIENTS] = (struct pollfd){ .fd = control->listener, .events = POLLIN };
}

static void drop_client(struct control_client *client)
{
	close(client->socket);
	client->socket = -1;
	client->used = 0;
}

static void accept_client(struct control *control)
{
	int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < CONTROL_CLIENTS; i++)
		if (control->clients[i].socket < 0) {
			control->clients[i].socket = fd;
			return;
		}
	if (fd >= 0)
		close(fd);
}

/* A client that does not read an answer of some lines is dropped. */
static void answer(struct control *control, struct control_client *client, const char *line)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);

	if (!file) {
		drop_client(client);
		return;
	}
	fputs(control->obey(control->device, line, file) ? "ok\n" : "error unknown word\n", file);
	fclose(file);
	if (send(client->socket, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)bytes)
		drop_client(client);
	free(text);
}

static void answer_lines(struct control *control, struct control_client *client)
{
	char *end;

	while ((end = memchr(client->line, '\n', client->used))) {
		size_t done = end - client->line + 1;

		*end = '\0';
		answer(control, client, client->line);
		if (client->socket < 0)
			return;
		client->used -= done;
		memmove(client->line, client->line + done, client->used);
	}
}

static void hear(struct control *control, struct control_client *client)
{
	ssize_t n = recv(client->socket, client->line + client->used, sizeof(client->line) - client->used, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A line that is too long ends here, too: there is no room for more of it. */
	if (n <= 0) {
		drop_client(client);
		return;
	}
	client->used += n;
	answer_lines(control, client);
}

void control_serve(struct control *control, const struct pollfd *polled)
{
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		if (polled[i].revents && control->clients[i].socket >= 0)
			hear(control, &control->clients[i]);
	if (polled[CONTROL_CLIENTS].revents)
		accept_client(control);
}
