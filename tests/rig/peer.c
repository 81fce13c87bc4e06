// SPDX-License-Identifier: Apache-2.0
/*
 * peer serve ADDRESS          runs what others ask for, until a "peer stop"
 * peer run ADDRESS COMMAND... runs COMMAND there, its streams and exit status here
 * peer stop ADDRESS           ends the server
 *
 * How one guest of the lab runs commands in the other, over a wire of their own. As with ssh, a command
 * ends when everything that holds its output has ended; unlike there, it is killed when the client is, so
 * that "labctl peer SERVER & ... kill $!" leaves nothing behind.
 *
 * A connection starts with the command's words in one frame, each ended by a NUL; no words: stop. Then
 * frames of input go one way, frames of output and at last the wait status the other.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 7
#define CHUNK_BYTES 65536
#define MAX_WORDS 4096
/* The command's own status is not known; ssh exits with the same. */
#define EXIT_LOST 255

enum frame_type { FRAME_WORDS, FRAME_STDIN, FRAME_STDOUT, FRAME_STDERR, FRAME_STATUS };

struct frame {
	uint32_t type;
	uint32_t bytes;
	char data[CHUNK_BYTES];
};

#define FRAME_HEAD offsetof(struct frame, data)

static bool write_all(int fd, const void *data, size_t bytes)
{
	const char *from = data;

	while (bytes) {
		ssize_t n = write(fd, from, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		from += n;
		bytes -= n;
	}
	return true;
}

static bool read_all(int fd, void *data, size_t bytes)
{
	char *to = data;

	while (bytes) {
		ssize_t n = read(fd, to, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		bytes -= n;
	}
	return true;
}

static bool send_frame(int sock, const struct frame *frame)
{
	return write_all(sock, frame, FRAME_HEAD + frame->bytes);
}

static bool receive_frame(int sock, struct frame *frame)
{
	return read_all(sock, frame, FRAME_HEAD) && frame->bytes <= CHUNK_BYTES &&
	       read_all(sock, frame->data, frame->bytes);
}

/* Sends what FD holds as one frame; an empty one at its end. False: nothing more will come. */
static bool forward(int fd, int sock, enum frame_type type)
{
	struct frame frame = { .type = type };
	ssize_t n = read(fd, frame.data, sizeof(frame.data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	frame.bytes = n > 0 ? n : 0;
	return send_frame(sock, &frame) && n > 0;
}

/* --- the server's side of one command --- */

struct command {
	pid_t pid;
	int sock, pidfd;
	int in, out, err;	/* pipes; -1 once closed */
	struct frame input;	/* what the command has not read yet ... */
	size_t input_done;	/* ... from here on */
};

static void close_fd(int *fd)
{
	close(*fd);
	*fd = -1;
}

static void exec_words(const struct frame *frame)
{
	char *words[MAX_WORDS + 1];
	size_t count = 0;

	for (const char *word = frame->data; word < frame->data + frame->bytes; word += strlen(word) + 1) {
		if (count == MAX_WORDS)
			errx(126, "too many words");
		words[count++] = (char *)word;
	}
	words[count] = NULL;
	execvp(words[0], words);
	err(errno == ENOENT ? 127 : 126, "%s", words[0]);
}

static void start(struct command *command, const struct frame *words)
{
	int in[2], out[2], errors[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(errors, O_CLOEXEC))
		err(1, "pipe");
	command->pid = fork();
	if (command->pid < 0)
		err(1, "fork");
	if (!command->pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(errors[1], 2);
		signal(SIGPIPE, SIG_DFL);
		exec_words(words);
	}
	close(in[0]);
	close(out[1]);
	close(errors[1]);
	command->in = in[1];
	command->out = out[0];
	command->err = errors[0];
	fcntl(command->in, F_SETFL, O_NONBLOCK);
	command->pidfd = pidfd_open(command->pid, 0);
	if (command->pidfd < 0)
		err(1, "pidfd_open");
}

/* Kept until the command takes it: a command that reads nothing must not hold up its output. */
static void feed(struct command *command)
{
	size_t left = command->input.bytes - command->input_done;
	ssize_t n = write(command->in, command->input.data + command->input_done, left);

	if (n >= 0)
		command->input_done += n;
	else if (errno != EAGAIN && errno != EINTR)
		close_fd(&command->in);
}

static bool has_input(const struct command *command)
{
	return command->in >= 0 && command->input_done < command->input.bytes;
}

/* False: the client is gone. */
static bool take_input(struct command *command)
{
	if (!receive_frame(command->sock, &command->input))
		return false;
	command->input_done = 0;
	if (!command->input.bytes && command->in >= 0)
		close_fd(&command->in);
	return true;
}

/* False: the client is gone. */
static bool serve_once(struct command *command, bool *exited)
{
	struct pollfd polls[] = {
		{ command->sock, has_input(command) ? POLLRDHUP : POLLIN | POLLRDHUP, 0 },
		{ has_input(command) ? command->in : -1, POLLOUT, 0 },
		{ command->out, POLLIN, 0 },
		{ command->err, POLLIN, 0 },
		{ *exited ? -1 : command->pidfd, POLLIN, 0 },
	};

	if (poll(polls, sizeof(polls) / sizeof(polls[0]), -1) < 0)
		return errno == EINTR;
	if (polls[0].revents & POLLIN && !take_input(command))
		return false;
	if (polls[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
		return false;
	if (polls[1].revents)
		feed(command);
	if (polls[2].revents && !forward(command->out, command->sock, FRAME_STDOUT))
		close_fd(&command->out);
	if (polls[3].revents && !forward(command->err, command->sock, FRAME_STDERR))
		close_fd(&command->err);
	*exited |= polls[4].revents != 0;
	return true;
}

static void serve_command(int sock, const struct frame *words)
{
	struct command command = { .sock = sock };
	struct frame end = { .type = FRAME_STATUS, .bytes = sizeof(int) };
	bool exited = false;
	int status;

	start(&command, words);
	while (!exited || command.out >= 0 || command.err >= 0) {
		if (!serve_once(&command, &exited)) {
			kill(-command.pid, SIGKILL);
			exit(1);
		}
	}
	waitpid(command.pid, &status, 0);
	memcpy(end.data, &status, sizeof(status));
	send_frame(sock, &end);
	exit(0);
}

static struct sockaddr_in address_of(const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		errx(2, "no address: %s", text);
	return address;
}

/* Serves until a "peer stop"; init kills the children that are left then. */
static int serve(const char *text)
{
	struct sockaddr_in address = address_of(text);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct frame words;

	signal(SIGCHLD, SIG_IGN);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 64))
		err(1, "%s", text);
	for (;;) {
		int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (sock < 0 || !receive_frame(sock, &words)) {
			close(sock);
			continue;
		}
		if (!words.bytes)
			return 0;
		if (!fork()) {
			signal(SIGCHLD, SIG_DFL);
			serve_command(sock, &words);
		}
		close(sock);
	}
}

/* --- the client --- */

static int dial(const char *text)
{
	struct sockaddr_in address = address_of(text);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (connect(sock, (struct sockaddr *)&address, sizeof(address)))
		err(EXIT_LOST, "the other guest");
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return sock;
}

static void send_words(int sock, char **words)
{
	struct frame frame = { .type = FRAME_WORDS };

	for (; *words; words++) {
		size_t bytes = strlen(*words) + 1;

		if (frame.bytes + bytes > CHUNK_BYTES)
			errx(2, "the command is too long");
		memcpy(frame.data + frame.bytes, *words, bytes);
		frame.bytes += bytes;
	}
	if (!send_frame(sock, &frame))
		err(EXIT_LOST, "the other guest");
}

/* A thread: output must flow while the command is slow to read. */
static void *send_input(void *argument)
{
	while (forward(0, *(int *)argument, FRAME_STDIN))
		;
	return NULL;
}

static int shell_status(const struct frame *frame)
{
	int status;

	memcpy(&status, frame->data, sizeof(status));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(int sock, char **words)
{
	struct frame frame;
	pthread_t input;

	send_words(sock, words);
	if (pthread_create(&input, NULL, send_input, &sock))
		errx(1, "no thread");
	while (receive_frame(sock, &frame)) {
		if (frame.type == FRAME_STATUS)
			return shell_status(&frame);
		if (!write_all(frame.type == FRAME_STDOUT ? 1 : 2, frame.data, frame.bytes))
			return 128 + SIGPIPE;
	}
	errx(EXIT_LOST, "the other guest is gone");
}

int main(int argc, char **argv)
{
	/* A reader that goes away is noticed by write(). */
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc > 3 && !strcmp(argv[1], "run"))
		return run(dial(argv[2]), argv + 3);
	if (argc == 3 && !strcmp(argv[1], "stop")) {
		send_words(dial(argv[2]), argv + argc);
		return 0;
	}
	errx(2, "usage: peer serve|stop ADDRESS, peer run ADDRESS COMMAND...");
}
