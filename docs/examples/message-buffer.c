// SPDX-License-Identifier: Apache-2.0
/*
 * Device memory between two processes: the child gets its descriptor over a socket, and both read and write it.
 *
 *	cc -o message-buffer message-buffer.c $(pkg-config --cflags --libs libdonard)
 *	message-buffer p2pmem0
 */
#include <donard/memory.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH 4096

/* Hands a descriptor over, or takes one: @fd is -1 then. */
static int pass(int channel, int fd)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space) };
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);

	if (fd < 0) {
		if (recvmsg(channel, &message, 0) != 1)
			return -1;
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
		return fd;
	}
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	return sendmsg(channel, &message, 0);
}

/* Waits for the message, and answers in the same memory. */
static int child(int channel)
{
	struct donard_memory *memory;
	struct donard_context *ctx;
	char text[32];

	if (donard_open(&ctx, NULL) || donard_memory_adopt(ctx, pass(channel, -1), 0, LENGTH, &memory) ||
	    donard_memory_read(memory, 0, text, sizeof(text)))
		return 1;
	printf("child: %s\n", text);
	return donard_memory_write(memory, 0, "and hello to you", 17);
}

int main(int argc, char **argv)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_memory *memory;
	struct donard_context *ctx;
	int channel[2], status;
	char text[32];

	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, channel))
		return 2;
	if (!fork()) {
		close(channel[0]);	/* or it would wait for a message of its own */
		return child(channel[1]);
	}
	close(channel[1]);
	if (donard_open(&ctx, NULL))
		return 1;
	if (donard_memory_alloc(ctx, argv[1], LENGTH, &memory) || donard_memory_write(memory, 0, "hello", 6) ||
	    donard_memory_info(memory, &info) || pass(channel[0], info.fd) != 1 || wait(&status) < 0 || status ||
	    donard_memory_read(memory, 0, text, sizeof(text))) {
		fprintf(stderr, "%s\n", donard_error(ctx));
		return 1;
	}
	printf("parent: %s\n", text);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
