// SPDX-License-Identifier: Apache-2.0
/* rdma serve: offers memory to RDMA clients, and tells who comes and goes. */
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "donard/rdma.h"
#include "errors.h"
#include "fields.h"
#include "options.h"
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
	struct donard_rdma_event event;	/* the one that is printed */
};

/* ---- the text of an event ---- */

static const char *event_word(unsigned int type)
{
	static const char *const words[] = {
		[DONARD_RDMA_LISTENING] = "listening",
		[DONARD_RDMA_CLIENT_CAME] = "came",
		[DONARD_RDMA_CLIENT_LEFT] = "left",
		[DONARD_RDMA_CLIENT_LOST] = "lost",
		[DONARD_RDMA_CLIENT_REFUSED] = "refused",
		[DONARD_RDMA_RESET] = "reset",
	};

	return type < sizeof(words) / sizeof(words[0]) ? words[type] : "unknown";
}

static const char *rights_word(unsigned int rights)
{
	if (rights == DONARD_RDMA_READ)
		return "read";
	return rights == DONARD_RDMA_WRITE ? "write" : "both";
}

#define LISTENING	(1U << DONARD_RDMA_LISTENING)
#define CAME		(1U << DONARD_RDMA_CLIENT_CAME)
#define LEFT		(1U << DONARD_RDMA_CLIENT_LEFT)
#define LOST		(1U << DONARD_RDMA_CLIENT_LOST)
#define RESET		(1U << DONARD_RDMA_RESET)
#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct server, member, ##__VA_ARGS__)
static const struct cli_field fields[] = {
	FIELD("event", CLI_WORD, event.type, .word_of = event_word),
	FIELD("address", CLI_TEXT, event.peer, .kinds = LISTENING),
	FIELD("port", CLI_COUNT, event.port, .kinds = LISTENING),
	FIELD("peer", CLI_TEXT, event.peer, .kinds = ~LISTENING, .unless_empty = true),
	FIELD("device", CLI_TEXT, event.device, .kinds = LISTENING | CAME),
	FIELD("target", CLI_TEXT, event.target, .kinds = LISTENING | CAME | RESET),
	FIELD("offset", CLI_BYTES, event.offset_bytes, .kinds = LISTENING | CAME),
	FIELD("size", CLI_BYTES, event.length_bytes, .kinds = LISTENING | CAME),
	FIELD("memory", CLI_COUNT, event.memory, .kinds = LISTENING | CAME),
	FIELD("access", CLI_WORD, event.rights, .word_of = rights_word, .kinds = LISTENING | CAME),
	FIELD("method", CLI_WORD, event.method, .word_of = donard_rdma_method_text, .kinds = LISTENING | CAME),
	FIELD("reason", CLI_TEXT, event.reason, .kinds = LISTENING | CAME),
	FIELD("seconds", CLI_SECONDS, event.seconds, .kinds = LEFT | LOST),
	FIELD("user_seconds", CLI_SECONDS, used.user_seconds, .kinds = LEFT | LOST),
	FIELD("system_seconds", CLI_SECONDS, used.system_seconds, .kinds = LEFT | LOST),
	FIELD("minor_faults", CLI_COUNT, used.minor_faults, .kinds = LEFT | LOST),
	FIELD("major_faults", CLI_COUNT, used.major_faults, .kinds = LEFT | LOST),
	FIELD("filled_bytes", CLI_BYTES, counts.filled_bytes, .kinds = LEFT | LOST),
	FIELD("checked_bytes", CLI_BYTES, counts.checked_bytes, .kinds = LEFT | LOST),
	FIELD("resets", CLI_COUNT, event.resets, .kinds = RESET | LOST),
	FIELD("durable", CLI_FLAG, event.durable, .kinds = LEFT),
	FIELD("message", CLI_MESSAGE, event.text, .unless_empty = true),
	FIELD("code", CLI_TEXT, event.code, .unless_empty = true),
	{ 0 },
};

#define REGISTERED "[; {device} registers it by {method} ({reason})]\n"
static const char *text_of(enum donard_rdma_event_type type)
{
	switch (type) {
	case DONARD_RDMA_LISTENING:
		return "listening at {address}: {size} of {target} from offset {offset}, access {access}" REGISTERED;
	case DONARD_RDMA_CLIENT_CAME:
		return "client {peer} came" REGISTERED;
	case DONARD_RDMA_CLIENT_LEFT:
		return CLI_EVENT_CLIENT "[{?durable}what {peer} wrote is durable\n]";
	case DONARD_RDMA_RESET:
		return "{message}\n";
	default:
		return CLI_EVENT_CLIENT;
	}
}

static void on_event(void *user, const struct donard_rdma_event *event)
{
	struct server *server = user;
	bool ended = event->type == DONARD_RDMA_CLIENT_LEFT || event->type == DONARD_RDMA_CLIENT_LOST;

	server->event = *event;
	if (event->type == DONARD_RDMA_CLIENT_CAME)
		getrusage(RUSAGE_SELF, &server->came);
	if (ended)
		cli_usage_since(&server->came, &server->used);
	cli_event_print(server->cli, fields, text_of(event->type), server, event->type);
	if (ended)
		server->counts = (struct cli_rdma_counts){ 0 };
}

/* ---- run ---- */

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

	if (!rc && cli_given(cli, "once") && cli_given(cli, "clients"))
		rc = cli_usage(cli, "--once is --clients 1: give one of them");
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
	return rc;
}

static int take_services(const struct cli *cli, const struct donard_memory *memory, struct donard_rdma_serve_options *options)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	int rc = donard_memory_info(memory, &info);

	options->services = cli_rdma_services(options->rights, info.persistent, cli_given(cli, "fill"), cli_given(cli, "compare"));
	return rc;
}

/* A stop is the normal end of a server without --once, so the command succeeds. */
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
	cli_events_begin();
	rc = cli_place_of(cli->ctx, cli->arguments[0], 0, &place);
	if (!rc)
		rc = donard_memory_open(cli->ctx, place.name, place.offset_bytes, length_bytes, &memory);
	if (!rc)
		rc = take_services(cli, memory, &options);
	if (!rc)
		rc = donard_rdma_serve(memory, &options);
	/* A region that is being removed waits for this: free the memory before anything is printed to a slow reader. */
	donard_memory_free(memory);
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
}

static const struct cli_option options_table[] = {
	{ "bind", "ADDR", "listen at this address and nowhere else; default 127.0.0.1" },
	{ "port", "N", "default 7077; 0 lets the kernel choose" },
	{ "size", "SIZE", "how much; default: to the end of the region; 64M of dram and of a GPU" },
	{ "access", "WHAT", "what clients may do: read, write or both; default both" },
	{ "fill", NULL, "fill persistent memory, or what clients may only read, with test data if one asks for it" },
	{ "compare", NULL, "compare what clients may only write with test data if one asks for it, which tells it the bytes" },
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
