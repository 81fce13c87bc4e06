// SPDX-License-Identifier: Apache-2.0
/* rdma serve: offers memory to RDMA clients, and tells who comes and goes. */
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "donard/rdma.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "place.h"
#include "process.h"
#include "progress.h"
#include "rdma/service.h"
#include "serverevent.h"

struct server {
	struct cli *cli;
	struct cli_rdma_counts counts;	/* of the present client */
	struct rusage came;		/* of this process when that client came */
	struct cli_job_usage used;	/* since then, once the client has ended */
};

static const char *const event_words[] = {
	[DONARD_RDMA_LISTENING] = "listening",
	[DONARD_RDMA_CLIENT_CAME] = "came",
	[DONARD_RDMA_CLIENT_LEFT] = "left",
	[DONARD_RDMA_CLIENT_LOST] = "lost",
	[DONARD_RDMA_CLIENT_REFUSED] = "refused",
	[DONARD_RDMA_RESET] = "reset",
};

static const char *rights_word(unsigned int rights)
{
	if (rights == DONARD_RDMA_READ)
		return "read";
	return rights == DONARD_RDMA_WRITE ? "write" : "both";
}

static void add_what(struct json_object *model, const struct donard_rdma_event *event)
{
	cli_add_text(model, "device", event->device);
	cli_add_text(model, "target", event->target);
	cli_add_number(model, "offset", event->offset_bytes);
	cli_add_number(model, "size", event->length_bytes);
	cli_add_number(model, "memory", (uintptr_t)event->memory);
	cli_add_text(model, "access", rights_word(event->rights));
	cli_add_text(model, "method", donard_rdma_method_text(event->method));
	cli_add_text(model, "reason", event->reason);
}

static void add_end(struct json_object *model, const struct donard_rdma_event *event, const struct server *server)
{
	cli_add_double(model, "seconds", event->seconds);
	cli_add_double(model, "user_seconds", server->used.user_seconds);
	cli_add_double(model, "system_seconds", server->used.system_seconds);
	cli_add_number(model, "minor_faults", server->used.minor_faults);
	cli_add_number(model, "major_faults", server->used.major_faults);
	cli_add_number(model, "filled_bytes", server->counts.filled_bytes);
	cli_add_number(model, "checked_bytes", server->counts.checked_bytes);
}

/* What became of the bytes. */
static void add_fate(struct json_object *model, const struct donard_rdma_event *event)
{
	if (event->type == DONARD_RDMA_RESET)
		cli_add_text(model, "target", event->target);
	if (event->type == DONARD_RDMA_RESET || event->type == DONARD_RDMA_CLIENT_LOST)
		cli_add_number(model, "resets", event->resets);
	if (event->type == DONARD_RDMA_CLIENT_LEFT)
		json_object_object_add(model, "durable", json_object_new_boolean(event->durable));
}

static bool is_end(const struct donard_rdma_event *event)
{
	return event->type == DONARD_RDMA_CLIENT_LEFT || event->type == DONARD_RDMA_CLIENT_LOST;
}

static struct json_object *build(const struct donard_rdma_event *event, const struct server *server)
{
	const char *word = event_words[event->type];
	struct json_object *model = event->type == DONARD_RDMA_LISTENING ?
		cli_event_listening(word, event->peer, event->port) : cli_event_model(word, event->peer);

	if (event->type == DONARD_RDMA_LISTENING || event->type == DONARD_RDMA_CLIENT_CAME)
		add_what(model, event);
	if (is_end(event))
		add_end(model, event, server);
	add_fate(model, event);
	cli_event_message(model, event->text);
	if (event->code[0])
		cli_add_text(model, "code", event->code);
	return model;
}

static void print_registration(struct json_object *model)
{
	if (cli_text_of(model, "method")[0])
		printf("; %s registers it by %s (%s)", cli_text_of(model, "device"), cli_text_of(model, "method"),
		       cli_text_of(model, "reason"));
	putchar('\n');
}

static void print_listening(struct json_object *model)
{
	char size[DONARD_SIZE_TEXT_BYTES], offset[DONARD_SIZE_TEXT_BYTES];

	printf("listening at %s: %s of %s from offset %s, access %s", cli_text_of(model, "address"),
	       cli_size_of(model, "size", size), cli_text_of(model, "target"),
	       cli_size_of(model, "offset", offset), cli_text_of(model, "access"));
	print_registration(model);
}

static void print_text(struct json_object *model, int type)
{
	switch (type) {
	case DONARD_RDMA_LISTENING:
		print_listening(model);
		break;
	case DONARD_RDMA_CLIENT_CAME:
		printf("client %s came", cli_text_of(model, "peer"));
		print_registration(model);
		break;
	case DONARD_RDMA_CLIENT_LEFT:
		cli_event_print_client(model);
		if (cli_true(model, "durable"))
			printf("what %s wrote is durable\n", cli_text_of(model, "peer"));
		break;
	case DONARD_RDMA_RESET:
		puts(cli_text_of(model, "message"));
		break;
	default:
		cli_event_print_client(model);
	}
}

static void on_event(void *user, const struct donard_rdma_event *event)
{
	struct server *server = user;

	if (event->type == DONARD_RDMA_CLIENT_CAME)
		getrusage(RUSAGE_SELF, &server->came);
	if (is_end(event))
		cli_usage_since(&server->came, &server->used);
	cli_event_print(server->cli, build(event, server), (int)event->type, print_text);
	if (is_end(event))
		server->counts = (struct cli_rdma_counts){ 0 };
}

static int answer(void *user, const struct donard_rdma_asked *asked, struct donard_rdma_answer *answer_out)
{
	struct server *server = user;

	return cli_rdma_answer(&server->counts, asked, answer_out);
}

static int take_access(const struct cli *cli, unsigned int *rights)
{
	const char *word = cli_value(cli, "access");

	if (!word || !strcmp(word, "both"))
		*rights = DONARD_RDMA_READ | DONARD_RDMA_WRITE;
	else if (!strcmp(word, "read"))
		*rights = DONARD_RDMA_READ;
	else if (!strcmp(word, "write"))
		*rights = DONARD_RDMA_WRITE;
	else
		return cli_usage(cli, "--access: '%s' is none of read, write, both", word);
	return 0;
}

static int take_options(const struct cli *cli, struct donard_rdma_serve_options *options, uint64_t *length_bytes)
{
	uint64_t port = DONARD_RDMA_PORT, clients = cli_given(cli, "once");
	int rc = take_access(cli, &options->rights);

	if (cli_given(cli, "once") && cli_given(cli, "clients"))
		return cli_usage(cli, "--once is --clients 1: give one of them");
	if (!rc)
		rc = cli_number(cli, "port", &port);
	if (!rc)
		rc = cli_number(cli, "clients", &clients);
	if (!rc)
		rc = cli_size(cli, "size", false, length_bytes);
	if (!rc)
		rc = cli_timeout(cli, &options->timeout_ms);
	options->bind = cli_value(cli, "bind");
	options->port = (uint16_t)port;
	options->clients = (unsigned int)clients;
	options->flags = cli_given(cli, "read-back") ? DONARD_RDMA_READ_BACK : 0;
	options->services = cli_rdma_services(options->rights, cli_given(cli, "fill"));
	return rc;
}

/* To be stopped is how a server without --once ends: that is success. */
static int run(struct cli *cli)
{
	struct server server = { .cli = cli };
	struct donard_rdma_serve_options options = {
		.size = sizeof(options),
		.event_fn = on_event,
		.stop_fn = cli_stopped,
		.answer_fn = answer,
		.user = &server,
	};
	struct donard_memory *memory = NULL;
	uint64_t length_bytes = 0;
	struct cli_place place;
	int rc = take_options(cli, &options, &length_bytes);

	if (rc)
		return rc;
	cli_catch_signals();
	rc = cli_place_of(cli->ctx, cli->arguments[0], 0, &place);
	if (!rc)
		rc = donard_memory_open(cli->ctx, place.name, place.offset_bytes, length_bytes, &memory);
	if (!rc)
		rc = donard_rdma_serve(memory, &options);
	/* A region that went away waits for this, and not for the reader of what is printed. */
	donard_memory_free(memory);
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
}

static const struct cli_option options_table[] = {
	{ "bind", "ADDR", "listen at this address and nowhere else; default 127.0.0.1" },
	{ "port", "N", "default 7077; 0 lets the kernel choose" },
	{ "size", "SIZE", "how much; default: to the end of the region; 64M of dram and of a GPU" },
	{ "access", "WHAT", "what clients may do: read, write or both; default both" },
	{ "fill", NULL, "fill the memory with test data if a client that may only read asks for it" },
	{ "read-back", NULL, "have clients of soft devices read back the end of what they wrote, too" },
	{ "clients", "N", "end after N clients have taken what is offered" },
	{ "once", NULL, "end after one client" },
	{ "timeout", "SECONDS", "how long a client may be silent; default 10" },
	{ "json", NULL, "print one JSON object a line" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "port", 0, 65535 },
	{ "clients", 1, 999999999 },
	{ "timeout", 1, 3600 },
	{ 0 },
};

const struct cli_command cmd_rdma_serve = {
	.name = "rdma serve", .arguments = "TARGET", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .json_lines = true,
	.summary = "Offer a region (p2pmem0+64M), memory of a GPU (gpu:0) or plain memory (dram) to RDMA clients",
	.options = options_table, .limits = limits, .run = run,
};
