// SPDX-License-Identifier: Apache-2.0
/* cache serve: a write cache in NVRAM in front of a drive, and what happens to it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "donard/cache.h"
#include "donard/donard.h"
#include "errors.h"
#include "options.h"
#include "progress.h"
#include "serverevent.h"

#define FORMATTED	(1U << DONARD_CACHE_FORMATTED)
#define RECOVERED	(1U << DONARD_CACHE_RECOVERED)
#define LISTENING	(1U << DONARD_CACHE_LISTENING)
#define DRAINING	(1U << DONARD_CACHE_DRAINING)
#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct donard_cache_event, member, ##__VA_ARGS__)
static const struct cli_field fields[] = {
	FIELD("event", CLI_WORD, type, .word_of = donard_cache_event_text),
	FIELD("address", CLI_TEXT, peer, .kinds = LISTENING),
	FIELD("port", CLI_COUNT, port, .kinds = LISTENING),
	FIELD("peer", CLI_TEXT, peer, .kinds = ~LISTENING, .unless_empty = true),
	FIELD("identity", CLI_IDENTITY, identity, .kinds = FORMATTED | RECOVERED),
	FIELD("records", CLI_COUNT, number, .kinds = RECOVERED | DRAINING),
	FIELD("message", CLI_MESSAGE, text, .unless_empty = true),
	{ 0 },
};

static const char *text_of(enum donard_cache_event_type type)
{
	switch (type) {
	case DONARD_CACHE_FORMATTED:
		return "formatted: log {identity}\n";
	case DONARD_CACHE_RECOVERED:
		return "recovered: log {identity}, {records} records\n";
	case DONARD_CACHE_LISTENING:
		return "listening at {address}\n";
	case DONARD_CACHE_DRIVE_FAILED:
		return "the drive failed: {message}\n";
	case DONARD_CACHE_DRIVE_WORKS:
		return "the drive works again\n";
	case DONARD_CACHE_DRAINING:
		return "ending: {records} records go to the drive first[, which fails: {message}]"
		       "[{?records} (Ctrl-C from now on, or SIGKILL, ends it at once, and the log keeps them)]\n";
	default:
		return CLI_EVENT_CLIENT;
	}
}

static void on_event(void *user, const struct donard_cache_event *event)
{
	cli_event_print(user, fields, text_of(event->type), event, event->type);
}

/* The identity of a log, as a refusal printed it. */
static int take_discard(const struct cli *cli, uint64_t *identity)
{
	const char *text = cli_value(cli, "discard");

	if (!text)
		return 0;
	if (!strncmp(text, "0x", 2))
		text += 2;
	*identity = strtoull(text, NULL, 16);
	if (strspn(text, "0123456789abcdefABCDEF") != 16 || text[16] || !*identity)
		return cli_usage(cli, "--discard: '%s' is no identity of a log: these are 16 hexadecimal digits", text);
	return 0;
}

static int take_number(const struct cli *cli, const char *name, unsigned int *value)
{
	uint64_t number = *value;
	int rc = cli_number(cli, name, &number);

	*value = (unsigned int)number;
	return rc;
}

static unsigned int take_flags(const struct cli *cli)
{
	return (cli_given(cli, "format") ? DONARD_CACHE_FORMAT : 0) |
	       (cli_given(cli, "volatile-ok") ? DONARD_CACHE_VOLATILE_OK : 0) |
	       (cli_given(cli, "no-cleaner") ? DONARD_CACHE_NO_CLEANER : 0) |
	       (cli_given(cli, "read-back") ? DONARD_CACHE_READ_BACK : 0) |
	       (cli_given(cli, "passthrough") ? DONARD_CACHE_PASSTHROUGH : 0) |
	       (cli_given(cli, "give-up-damaged") ? DONARD_CACHE_GIVE_UP_DAMAGED : 0);
}

static int take_options(const struct cli *cli, struct donard_cache_serve_options *options)
{
	uint64_t port = DONARD_CACHE_PORT;
	int rc = take_discard(cli, &options->discard);

	if (!cli_given(cli, "nvram") || !cli_given(cli, "backing"))
		return cli_usage(cli, "--nvram and --backing are both needed: the region that holds the log, and the drive behind it");
	if (!rc)
		rc = cli_number(cli, "port", &port);
	if (!rc)
		rc = take_number(cli, "clients", &options->clients);
	if (!rc)
		rc = take_number(cli, "high", &options->high_percent);
	if (!rc)
		rc = take_number(cli, "low", &options->low_percent);
	if (!rc)
		rc = take_number(cli, "idle-ms", &options->idle_ms);
	if (!rc)
		rc = cli_timeout(cli, &options->timeout_ms);
	options->listen = cli_value(cli, "listen");
	options->status_path = cli_value(cli, "status");
	options->port = (uint16_t)port;
	options->flags = take_flags(cli);
	return rc;
}

/* A stop is the normal end: the command succeeds once everything is on the drive.  A second Ctrl-C kills it; the log stays. */
static int run(struct cli *cli)
{
	struct donard_cache_serve_options options = {
		.size = sizeof(options),
		.event_fn = on_event,
		.stop_fn = cli_stopped,
		.user = cli,
	};
	int rc = take_options(cli, &options);

	if (rc)
		return rc;
	cli_catch_signals();
	cli_events_begin();
	rc = donard_cache_serve(cli->ctx, cli_value(cli, "nvram"), cli_value(cli, "backing"), &options);
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
}

static const struct cli_option options_table[] = {
	{ "nvram", "REGION", "the region that holds the log: all of it" },
	{ "backing", "DRIVE", "the drive, partition or file behind it; what it holds stays" },
	{ "listen", "ADDR", "listen at this address and nowhere else; default 127.0.0.1" },
	{ "port", "N", "default 7078; 0 lets the kernel choose" },
	{ "format", NULL, "lay a new log: into zeros, or over an empty log" },
	{ "discard", "ID", "with --format: the records of this log may be lost" },
	{ "clients", "N", "with --format: how many at once; default 8" },
	{ "volatile-ok", NULL, "take NVRAM that a power cut empties; acknowledgements say so" },
	{ "high", "PERCENT", "of the log, above which it goes to the drive; default 60" },
	{ "low", "PERCENT", "down to which it goes; default half of --high" },
	{ "idle-ms", "N", "after so long without a write it goes to the drive; default 500" },
	{ "no-cleaner", NULL, "leave the log as it is while nobody writes, and a part of it is free for the next client" },
	{ "read-back", NULL, "have clients of soft devices read back what they wrote, too" },
	{ "passthrough", NULL, "write to the drive by commands of its driver, past the block layer" },
	{ "give-up-damaged", NULL, "lose acknowledged records whose bytes are damaged, and no others" },
	{ "timeout", "SECONDS", "how long a client may be silent; default 10" },
	{ "status", "PATH", "of the socket that 'cache status' asks; default /run/donard/cache-REGION" },
	{ "json", NULL, "print one JSON object a line" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "port", 0, 65535 },
	{ "clients", 1, 256 },
	{ "high", 2, 100 },
	{ "low", 1, 99 },
	{ "idle-ms", 1, 3600000 },
	{ "timeout", 1, 3600 },
	{ 0 },
};

const struct cli_command cmd_cache_serve = {
	.name = "cache serve", .arguments = "", .needs_context = true, .json_lines = true,
	.summary = "Acknowledge clients' writes in NVRAM, and let a drive pull them out of it later",
	.options = options_table, .limits = limits, .run = run,
};
