// SPDX-License-Identifier: Apache-2.0
/* A server for one client, in a process of its own: donard-cli as "rdma serve". See bench_rdma.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_rdma.h"
#include "errors.h"
#include "process.h"
#include "progress.h"

/* Becomes the server, which ends with this program, however that ends. */
static void become(const char *program, const char *address, const char *target, uint64_t bytes, int out)
{
	char size[32];

	snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	/* A signal may have come while this process still caught it. */
	signal(SIGTERM, SIG_DFL);
	if (cli_stopped(NULL))
		_exit(EXIT_STOPPED);
	/* Its events report failures, too, so its messages are not needed. */
	if (!freopen("/dev/null", "w", stderr) || dup2(out, STDOUT_FILENO) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM))
		_exit(EXIT_FAILED);
	/* The user who names a target knows that it is overwritten, even if it is persistent. */
	execl(program, "donard-cli", "rdma", "serve", target, "--bind", address, "--port", "0", "--size", size,
	      "--once", "--fill", "--json", (char *)NULL);
	_exit(EXIT_FAILED);
}

static int spawn(struct bench_server *server, const char *address, const char *target, uint64_t bytes)
{
	char program[PATH_MAX];
	int ends[2];

	if (cli_find_program("donard-cli", program, sizeof(program)))
		return -ENOENT;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);	/* else the child would write our buffered output again */
	server->pid = fork();
	if (!server->pid)
		become(program, address, target, bytes, ends[1]);
	close(ends[1]);
	server->events = server->pid < 0 ? NULL : fdopen(ends[0], "r");
	if (!server->events) {
		close(ends[0]);
		return -errno;
	}
	return 0;
}

/* Returns the next event of that name. NULL if the server ended before, or a signal came; then *@last is its last event. */
static struct json_object *await(struct bench_server *server, const char *name, struct json_object **last)
{
	struct json_object *event, *word = NULL;
	size_t room = 0;
	char *line = NULL;
	bool found = false;

	*last = NULL;
	while (!found && !cli_stopped(NULL) && getline(&line, &room, server->events) > 0) {
		event = json_tokener_parse(line);
		found = event && json_object_object_get_ex(event, "event", &word) &&
			!strcmp(json_object_get_string(word), name);
		json_object_put(*last);
		*last = event;
	}
	free(line);
	return found ? *last : NULL;
}

static double number(struct json_object *event, const char *key)
{
	return json_object_get_double(json_object_object_get(event, key));
}

/* Returns "" if the event has no such member. */
static const char *word_of(struct json_object *event, const char *key)
{
	struct json_object *word = json_object_object_get(event, key);

	return word ? json_object_get_string(word) : "";
}

static int ends_with(struct bench_server *server)
{
	int status = 0;

	while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
		;
	fclose(server->events);
	server->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

void bench_server_kill(struct bench_server *server)
{
	if (server->pid <= 0)
		return;
	kill(server->pid, SIGTERM);
	ends_with(server);
}

/* Reports the server's own words, if it had any: {"error": {"code", "message"}}, or an event's "message". */
static int failed(struct cli *cli, struct bench_server *server, struct json_object *last)
{
	struct json_object *error = NULL, *text = NULL, *code = NULL;
	int rc;

	if (cli_stopped(NULL)) {	/* without its client, the server would not end by itself */
		bench_server_kill(server);
		json_object_put(last);
		return cli_fail_text(cli, EXIT_STOPPED, "canceled", "stopped by a signal.");
	}
	rc = ends_with(server);
	if (last && json_object_object_get_ex(last, "error", &error))
		json_object_object_get_ex(error, "code", &code);
	json_object_object_get_ex(error ? error : last, "message", &text);
	rc = cli_fail_text(cli, rc ? rc : EXIT_FAILED, code ? json_object_get_string(code) : "failed",
			   text ? json_object_get_string(text) : "the server ended and did not say why.");
	json_object_put(last);
	return rc;
}

int bench_server_start(struct cli *cli, const char *address, const char *target, uint64_t bytes,
		       struct bench_server *server)
{
	struct json_object *event, *last;

	int rc = spawn(server, address, target, bytes);

	if (rc == -ENOENT)
		return cli_fail_text(cli, EXIT_UNSUPPORTED, "unsupported", BENCH_NO_DONARD);
	if (rc)
		return cli_fail_text(cli, EXIT_FAILED, "failed", "no process can be started for the server.");
	event = await(server, "listening", &last);
	if (!event)
		return failed(cli, server, last);
	server->port = (uint16_t)number(event, "port");
	snprintf(server->device, sizeof(server->device), "%s", word_of(event, "device"));
	server->bytes = (uint64_t)json_object_get_int64(json_object_object_get(event, "size"));
	server->memory = (const void *)(uintptr_t)json_object_get_uint64(json_object_object_get(event, "memory"));
	json_object_put(event);
	return EXIT_DONE;
}

int bench_server_end(struct cli *cli, struct bench_server *server, struct bench_server_usage *usage)
{
	struct json_object *event, *last;

	event = await(server, "left", &last);
	if (!event)
		return failed(cli, server, last);
	usage->seconds = number(event, "user_seconds") + number(event, "system_seconds");
	usage->faults = (uint64_t)(number(event, "minor_faults") + number(event, "major_faults"));
	json_object_put(event);
	bench_server_kill(server);
	return EXIT_DONE;
}
