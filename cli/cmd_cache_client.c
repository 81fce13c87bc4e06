// SPDX-License-Identifier: Apache-2.0
/* cache put, get, flush, trim: a client of a write cache. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cacheport.h"
#include "donard/cacheclient.h"
#include "errors.h"
#include "fields.h"
#include "help.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "rdma.h"
#include "target.h"

#define DEFAULT_BLOCK_BYTES	(1ULL << 20)
#define DEFAULT_DEPTH		16
#define DEFAULT_TIMEOUT_MS	10000
#define TICK_NS			100000000
#define PATIENCE_SECONDS	1.5

/* One invocation, connected.  A place holds one request: request N is in place N % depth. */
struct client {
	const struct cli *cli;
	struct donard_queue *queue;
	struct donard_cache *cache;
	struct donard_cache_options options;
	struct donard_cache_info info;
	struct cli_port port;
	uint64_t offset, length;	/* on the drive; length 0: as much as comes */
	uint64_t block_bytes, depth;
	uint64_t begun, done;		/* requests */
	uint64_t begun_bytes, done_bytes;
	uint64_t out_bytes;		/* get: how many bytes reached the destination */
	uint64_t *lengths;		/* of the request in each place */
	bool *ready;			/* the request in this place has completed, and was not taken out yet */
	bool trims;
	bool writes, ended;		/* the cache is written; nothing more comes */
	bool lasting;			/* no completion said that a power cut loses its bytes */
	bool gets, settled;		/* a get; its destination was flushed, and @doubt says why it may not be durable */
	bool complete;			/* all that was asked for was done, and flushed */
	char doubt[DONARD_REASON_BYTES];
	bool flushing;			/* the request in flight is a flush to the drive */
	unsigned int told;		/* a bit for each enum wait that was printed */
	bool told_failing;		/* whether the drive failed when that was printed */
	double started, heard;		/* heard: when a request began or completed last */
	struct cli_progress progress;
};

/* ---- options ---- */

static int take_options(struct client *client)
{
	const struct cli *cli = client->cli;
	int rc = cli_server(cli, cli->arguments[0], &client->options.port);

	client->block_bytes = DEFAULT_BLOCK_BYTES;
	client->depth = DEFAULT_DEPTH;
	client->options.timeout_ms = DEFAULT_TIMEOUT_MS;
	if (!rc)
		rc = cli_size(cli, "offset", true, &client->offset);
	if (!rc)
		rc = cli_size(cli, "size", false, &client->length);
	if (!rc)
		rc = cli_size(cli, "block-size", false, &client->block_bytes);
	if (!rc)
		rc = cli_size(cli, client->writes ? "src-offset" : "dst-offset", true, &client->port.offset);
	if (!rc)
		rc = cli_number(cli, "queue-depth", &client->depth);
	if (!rc)
		rc = cli_timeout(cli, &client->options.timeout_ms);
	client->options.address = cli->arguments[0];
	client->options.depth = (uint32_t)client->depth;
	return rc;
}

/* ---- the connection ---- */

static int connect_to(struct client *client)
{
	int rc = donard_queue_open(client->cli->ctx, NULL, &client->queue);

	client->options.size = sizeof(client->options);
	client->info.size = sizeof(client->info);
	client->lasting = true;
	if (!rc)
		rc = donard_cache_connect(client->queue, &client->options, &client->cache);
	if (!rc)
		rc = donard_cache_info(client->cache, &client->info);
	client->started = client->heard = cli_now_seconds();
	return rc ? cli_fail(client->cli, rc) : 0;
}

static int close_all(struct client *client, int rc)
{
	int closed;

	donard_cache_close(client->cache);
	donard_queue_close(client->queue);
	closed = cli_port_close(client->cli, &client->port, rc);
	free(client->lengths);
	free(client->ready);
	return rc ? rc : closed;
}

/* Says why a power cut loses what was written, or what a get moved into DST; "" if it does not. */
static const char *doubt_of(const struct client *client)
{
	if (client->gets)
		return client->settled ? client->doubt : "it was not flushed";
	if (!client->complete)
		return "the command did not come to its end";
	return client->lasting ? "" : "the server's NVRAM is volatile, and nothing was flushed to its drive";
}

/* ---- the report ---- */

struct outcome {
	struct donard_cache_info info;
	uint64_t bytes;
	double seconds, rate;
	const char *done, *doubt;
	bool durable;
};

#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct outcome, member, ##__VA_ARGS__)
static const struct cli_field fields[] = {
	FIELD("done", CLI_TEXT, done, .only_in_text = true),
	FIELD("bytes", CLI_BYTES, bytes),
	FIELD("seconds", CLI_SECONDS, seconds),
	FIELD("bytes_per_second", CLI_RATE, rate),
	FIELD("requests", CLI_COUNT, info.requests),
	FIELD("messages", CLI_COUNT, info.messages),
	FIELD("waited", CLI_COUNT, info.waited),
	FIELD("durable", CLI_FLAG, durable),
	FIELD("durable_reason", CLI_TEXT, doubt),
	FIELD("drive", CLI_TEXT, info.drive),
	FIELD("nvram", CLI_TEXT, info.nvram),
	FIELD("identity", CLI_IDENTITY, info.identity),
	{ 0 },
};

static const char text_of_transfer[] =
	"{done} {bytes} in {seconds}, {bytes_per_second}\n"
	"cache     {nvram} in front of {drive}\n"
	"waited    {waited} requests, for room in the cache\n"
	"durable   [{?durable}yes][{!durable}no: ]{durable_reason}\n";

static struct outcome result_of(struct client *client)
{
	double seconds = cli_now_seconds() - client->started;
	uint64_t bytes = client->gets ? client->out_bytes : client->done_bytes;
	const char *doubt = doubt_of(client);

	donard_cache_info(client->cache, &client->info);
	return (struct outcome){
		.info = client->info, .bytes = bytes, .seconds = seconds, .rate = seconds > 0 ? (double)bytes / seconds : 0,
		.done = client->writes ? "put      " : "got      ", .doubt = doubt, .durable = !doubt[0],
	};
}

static struct json_object *build(struct client *client)
{
	struct outcome outcome = result_of(client);

	return cli_fields_json(fields, &outcome, 0);
}

static int failed(struct client *client, int rc)
{
	return cli_fail_with(client->cli, rc, build(client));
}

static int stopped(struct client *client)
{
	return cli_fail_text_with(client->cli, EXIT_STOPPED, "canceled", client->trims ?
				  "stopped; the server may trim the blocks all the same" : "stopped", build(client));
}

/* ---- completions ---- */

static int take(struct client *client, const struct donard_completion *completion)
{
	size_t place = (size_t)(uintptr_t)completion->user;

	if (completion->result < 0)
		return cli_fail_completion(client->cli, completion, build(client));
	if (completion->flags & DONARD_COMPLETION_VOLATILE)
		client->lasting = false;
	client->ready[place] = true;
	client->done_bytes += (uint64_t)completion->result;
	client->heard = cli_now_seconds();
	return 0;
}

/*
 * Ends the command after the port failed, which has printed why unless a signal stopped it.  Requests that completed meanwhile
 * are still counted.
 */
static int port_failed(struct client *client, int exit_code)
{
	struct donard_completion done[DEFAULT_DEPTH];
	int count, rc = 0;

	if (exit_code != EXIT_STOPPED)
		return exit_code;
	while (!rc && (count = donard_queue_poll(client->queue, done, DEFAULT_DEPTH)) > 0)
		for (int i = 0; i < count && !rc; i++)
			rc = take(client, &done[i]);
	return rc ? rc : stopped(client);
}

enum wait {
	WAIT_UNKNOWN,	/* the server, its drive or the link is slow or down */
	WAIT_ROOM,	/* until the drive has made room in the log */
	WAIT_FLUSH,	/* until the drive has what only the log holds */
	WAIT_FAILING,	/* for a drive that fails */
};

static enum wait wait_of(const struct client *client)
{
	if (client->info.drive_fails)
		return WAIT_FAILING;
	if (client->flushing)
		return WAIT_FLUSH;
	return client->info.waits_for_room ? WAIT_ROOM : WAIT_UNKNOWN;
}

static void describe_wait(const struct client *client, enum wait wait, char *text, size_t text_bytes)
{
	const struct donard_cache_info *info = &client->info;
	const char *drive = info->drive, *nvram = info->nvram;

	if (wait == WAIT_FAILING)
		snprintf(text, text_bytes, "%s: waiting: the server's drive %s fails what is written to it, and is tried again. What was "
			 "acknowledged is in %s. 'donard-cli cache status %s' on the server says why; Ctrl-C ends the wait.",
			 client->options.address, drive, nvram, nvram);
	else if (wait != WAIT_UNKNOWN)
		snprintf(text, text_bytes, "%s: waiting for the server's drive %s%s", client->options.address, drive,
			 wait == WAIT_FLUSH ? " to take what it has not yet" : ", as the log is full");
	else
		snprintf(text, text_bytes, "%s: nothing has completed for a while: the server, its drive %s or the link is slow or down",
			 client->options.address, drive);
}

/*
 * Tells the user if nothing has completed for a while.  Names each cause once, and again when the drive begins or ceases to
 * fail.
 */
static void tell_wait(struct client *client)
{
	enum wait wait;
	char text[1024];

	donard_cache_info(client->cache, &client->info);
	if (cli_now_seconds() - client->heard < PATIENCE_SECONDS)
		return;
	if (client->told_failing != client->info.drive_fails)
		client->told = 0;
	client->told_failing = client->info.drive_fails;
	wait = wait_of(client);
	if (client->told & 1U << wait)
		return;
	client->told |= 1U << wait;
	describe_wait(client, wait, text, sizeof(text));
	cli_progress_end(&client->progress);
	cli_note(client->cli, "%s", text);
}

/* Waits for one completion, or until it is time to check for signals. */
static int await(struct client *client)
{
	struct donard_completion completions[DEFAULT_DEPTH];
	int rc = 0, count = donard_queue_wait(client->queue, 1, TICK_NS, completions, DEFAULT_DEPTH);

	if (count < 0 && count != -EINTR)
		return failed(client, count);
	for (int i = 0; i < count && !rc; i++)
		rc = take(client, &completions[i]);
	if (!rc && cli_progress_tick(&client->progress, DONARD_PHASE_COPY, client->done_bytes, client->length))
		rc = stopped(client);
	if (!rc)
		tell_wait(client);
	return rc;
}

/* Waits for a flush or a trim, which has no place of its own. */
static int await_one(struct client *client)
{
	int rc = 0;

	client->ready[0] = false;
	while (!rc && !client->ready[0])
		rc = await(client);
	return rc;
}

static int flush(struct client *client, bool to_drive)
{
	int rc = donard_cache_flush(client->cache, to_drive ? DONARD_CACHE_TO_DRIVE : 0, NULL);

	client->flushing = to_drive || !client->info.durable;
	client->heard = cli_now_seconds();
	if (rc)
		return failed(client, rc);
	rc = await_one(client);
	client->lasting = true;
	client->complete = !rc;
	return rc;
}

/* ---- put and get ---- */

static uint64_t memory_offset(const struct client *client, uint64_t number)
{
	return client->port.bytes ? number % client->depth * client->block_bytes : number * client->block_bytes;
}

/* How long the next request is: 0 after the last one. */
static uint64_t next_length(const struct client *client)
{
	uint64_t left = client->length - client->begun_bytes;

	return client->length && left < client->block_bytes ? left : client->block_bytes;
}

static int no_whole_blocks(struct client *client, uint64_t bytes)
{
	char text[CLI_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: its last %llu bytes are no whole blocks of %u bytes, as drive %s has them. Use "
		 "--pad to have zeros behind them, or --size.", client->port.name, (unsigned long long)bytes,
		 client->info.block_bytes, client->info.drive);
	return cli_fail_text(client->cli, EXIT_USAGE, "alignment", text);
}

/* Adds zeros up to the next block, if --pad asks for that. */
static int pad(struct client *client, uint8_t *bytes, uint64_t *length)
{
	uint64_t rest = *length % client->info.block_bytes;

	if (!rest)
		return 0;
	if (!cli_given(client->cli, "pad"))
		return no_whole_blocks(client, rest);
	memset(bytes + *length, 0, client->info.block_bytes - rest);
	*length += client->info.block_bytes - rest;
	return 0;
}

/* A pipe that ends early, or a file that somebody cut. */
static int ended_early(struct client *client, uint64_t bytes)
{
	char text[CLI_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: it ended after %llu of the %llu bytes that were to come, and these are not all in the "
		 "cache. Put it again.", client->port.name, (unsigned long long)bytes, (unsigned long long)client->length);
	return cli_fail_text(client->cli, EXIT_FAILED, "past-end", text);
}

static int fill(struct client *client, uint64_t *length)
{
	uint8_t *bytes = client->port.bytes ? client->port.bytes + memory_offset(client, client->begun) : NULL;
	int64_t got;

	if (!client->writes || !bytes)
		return 0;
	got = cli_port_read(client->cli, &client->port, client->begun_bytes, bytes, *length);
	if (got < 0)
		return port_failed(client, (int)-got);
	client->ended = (uint64_t)got < *length;
	if (client->begun_bytes + (uint64_t)got < client->length && client->ended)
		return ended_early(client, client->begun_bytes + (uint64_t)got);
	*length = (uint64_t)got;
	return pad(client, bytes, length);
}

static int begin_next(struct client *client)
{
	uint64_t length = next_length(client), at = client->offset + client->begun_bytes;
	void *user = (void *)(uintptr_t)(client->begun % client->depth);
	int rc = length ? fill(client, &length) : 0;

	if (rc || !length) {
		client->ended = true;
		return rc;
	}
	if (client->writes)
		rc = donard_cache_write(client->cache, at, client->port.memory, memory_offset(client, client->begun), length,
					user);
	else
		rc = donard_cache_read(client->cache, at, client->port.memory, memory_offset(client, client->begun), length,
				       user);
	if (rc)
		return failed(client, rc);
	client->heard = cli_now_seconds();
	client->lengths[client->begun++ % client->depth] = length;
	client->begun_bytes += length;
	if (client->length && client->begun_bytes >= client->length)	/* more, if it was padded */
		client->ended = true;
	return 0;
}

/* Hands the oldest request's bytes to the port, so that they arrive in the order of their offsets on the drive. */
static int take_out(struct client *client)
{
	uint64_t place = client->done % client->depth, at = client->done * client->block_bytes;
	int64_t put = 0;

	if (!client->writes && client->port.bytes)
		put = cli_port_write(client->cli, &client->port, at, client->port.bytes + memory_offset(client, client->done),
				     client->lengths[place]);
	if (put < 0)
		return port_failed(client, (int)-put);
	client->out_bytes += client->lengths[place];
	client->ready[place] = false;
	client->done++;
	return 0;
}

static int move(struct client *client)
{
	int rc = 0;

	while (!rc && (!client->ended || client->done < client->begun)) {
		if (client->done < client->begun && client->ready[client->done % client->depth])
			rc = take_out(client);
		else if (!client->ended && client->begun - client->done < client->depth)
			rc = begin_next(client);
		else
			rc = await(client);
	}
	return rc;
}

/* Called before anything is moved or created.  A length of 0 means that it is not known yet. */
static int check_length(struct client *client)
{
	uint64_t rest = client->length % client->info.block_bytes;

	if (client->block_bytes % client->info.block_bytes)
		return cli_usage(client->cli, "--block-size %llu is no multiple of %u, the blocks of drive %s",
				 (unsigned long long)client->block_bytes, client->info.block_bytes, client->info.drive);
	if (client->block_bytes > INT64_MAX / client->depth)
		return cli_usage(client->cli, "%llu times --block-size %llu is more memory than there can be",
				 (unsigned long long)client->depth, (unsigned long long)client->block_bytes);
	if (client->offset % client->info.block_bytes)
		return cli_usage(client->cli, "--offset %llu is no multiple of %u, the blocks of drive %s",
				 (unsigned long long)client->offset, client->info.block_bytes, client->info.drive);
	if (client->offset >= client->info.drive_bytes)
		return cli_usage(client->cli, "--offset %llu is past the end of drive %s, which has %llu bytes",
				 (unsigned long long)client->offset, client->info.drive,
				 (unsigned long long)client->info.drive_bytes);
	if (client->length > client->info.drive_bytes - client->offset)
		return cli_usage(client->cli, "%llu bytes from offset %llu go past the end of drive %s, which has %llu bytes",
				 (unsigned long long)client->length, (unsigned long long)client->offset, client->info.drive,
				 (unsigned long long)client->info.drive_bytes);
	if (!rest || (client->writes && cli_given(client->cli, "pad") && client->port.fd >= 0))
		return 0;
	/* Memory is sent from where it lies, so there is no room behind it for zeros. */
	return client->writes && client->port.fd >= 0 ? no_whole_blocks(client, rest) :
	       cli_usage(client->cli, "%llu bytes are no multiple of %u, the blocks of drive %s: give a --size that is",
			 (unsigned long long)client->length, client->info.block_bytes, client->info.drive);
}

static int choose_length(struct client *client)
{
	uint64_t left = cli_port_left(&client->port), drive_bytes = client->info.drive_bytes;

	if (client->length)
		return 0;
	if (client->writes)
		client->length = left;
	else if (client->offset < drive_bytes)
		client->length = drive_bytes - client->offset;
	if (!client->writes && client->port.memory && left < client->length)
		client->length = left;
	if (client->length || !client->writes || client->port.fd >= 0)
		return 0;
	return cli_usage(client->cli, "'%s' has no end of its own: give --size", client->port.name);
}

static int prepare(struct client *client)
{
	int rc = choose_length(client);

	if (!rc)
		rc = check_length(client);
	if (!rc && client->gets)
		rc = cli_port_reserve(client->cli, &client->port, client->length);
	if (!rc)
		rc = cli_port_memory(client->cli, &client->port, (unsigned int)client->depth, client->block_bytes);
	client->lengths = calloc(client->depth, sizeof(*client->lengths));
	client->ready = calloc(client->depth, sizeof(*client->ready));
	if (!rc && (!client->lengths || !client->ready))
		rc = cli_fail_text(client->cli, EXIT_FAILED, "no-memory", "no memory");
	return rc;
}

/* Prints nothing if the bytes themselves go to standard output. */
static int tell(struct client *client)
{
	struct outcome outcome = result_of(client);

	if (client->port.fd == 1)
		return EXIT_DONE;
	if (client->cli->json)
		cli_print_json(cli_fields_json(fields, &outcome, 0));
	else
		cli_fields_print(stdout, fields, text_of_transfer, &outcome);
	return EXIT_DONE;
}

static int settle(struct client *client)
{
	int rc = cli_port_settle(client->cli, &client->port, !client->info.copies_by_cpu, client->doubt);

	client->settled = !rc;
	return rc;
}

static int transfer(struct client *client)
{
	int rc = prepare(client);

	if (rc)
		return rc;
	cli_progress_init(&client->progress, cli_given(client->cli, "progress"));
	cli_catch_signals();
	rc = move(client);
	if (!rc && client->writes)
		rc = cli_port_check_source(client->cli, &client->port);
	if (!rc && client->writes)
		rc = flush(client, cli_given(client->cli, "to-drive"));
	else if (!rc)
		rc = settle(client);
	cli_progress_end(&client->progress);
	return rc ? rc : tell(client);
}

/* Opens the source, and finds out before anything is moved whether a file is too short. */
static int open_source(struct client *client)
{
	const struct cli_port *port = &client->port;
	int rc = cli_port_open(client->cli, &client->port, false, client->length);
	char text[CLI_TEXT_BYTES];

	if (rc || !port->regular || (client->length <= cli_port_left(port) && port->offset <= port->file_bytes))
		return rc;
	snprintf(text, sizeof(text), "%s: it holds %llu bytes, and what is asked for begins at %llu and ends at %llu. Use a smaller "
		 "--size or --src-offset.", port->name, (unsigned long long)port->file_bytes, (unsigned long long)port->offset,
		 (unsigned long long)(port->offset + client->length));
	return cli_fail_text(client->cli, EXIT_FAILED, "past-end", text);
}

/* Keeps the connection alive while the port is slow; takes no completions. */
static void keep_up(void *user)
{
	struct client *client = user;

	donard_queue_poll(client->queue, NULL, 0);
}

/* Refuses a get whose report would be printed among the bytes that it writes, or over them. */
static int check_target(const struct client *client)
{
	const struct cli *cli = client->cli;
	const char *name = client->port.name;

	if (!strcmp(name, "-"))
		return cli->json ? cli_usage(cli, "--json and '-' both go to standard output: choose one") : 0;
	return cli_check_target(cli, name, "Write '-' to have the bytes alone there");
}

static int run_transfer(struct cli *cli, bool writes)
{
	struct client client = {
		.cli = cli, .writes = writes, .gets = !writes,
		.port = { .name = cli->arguments[1], .fd = -1, .while_moving = keep_up, .user = &client },
	};
	int rc = take_options(&client);

	if (!rc && !writes)
		rc = check_target(&client);
	if (!rc && writes)
		rc = open_source(&client);
	if (!rc)
		rc = connect_to(&client);
	if (!rc && !writes)
		rc = check_length(&client);
	if (!rc && !writes)	/* which a refusal does not make */
		rc = cli_port_open(cli, &client.port, true, client.length);
	if (!rc)
		rc = transfer(&client);
	return close_all(&client, rc);
}

static int run_put(struct cli *cli)
{
	return run_transfer(cli, true);
}

static int run_get(struct cli *cli)
{
	return run_transfer(cli, false);
}

/* ---- flush and trim ---- */

static int open_single(struct client *client)
{
	int rc = take_options(client);

	client->ready = calloc(1, sizeof(*client->ready));
	if (!rc && !client->ready)
		rc = cli_fail_text(client->cli, EXIT_FAILED, "no-memory", "no memory");
	cli_progress_init(&client->progress, false);
	if (!rc)
		rc = connect_to(client);
	cli_catch_signals();	/* until then one ends it, before anything is sent */
	return rc;
}

static int run_flush(struct cli *cli)
{
	struct client client = { .cli = cli, .port.fd = -1 };
	int rc = open_single(&client);

	if (!rc)
		rc = flush(&client, cli_given(cli, "to-drive"));
	if (!rc && cli->json)
		cli_print_json(build(&client));
	else if (!rc)
		printf("flushed   %s\n", cli_given(cli, "to-drive") || !client.info.durable ? client.info.drive :
		       client.info.nvram);
	return close_all(&client, rc);
}

static int trim(struct client *client)
{
	char text[DONARD_SIZE_TEXT_BYTES];
	int rc;

	client->block_bytes = client->info.block_bytes;
	rc = check_length(client);
	if (rc)
		return rc;
	rc = donard_cache_trim(client->cache, client->offset, client->length, NULL);
	if (rc)
		return failed(client, rc);
	rc = await_one(client);
	if (rc)
		return rc;
	client->complete = true;
	client->done_bytes = client->length;
	if (client->cli->json)
		cli_print_json(build(client));
	else
		printf("trimmed   %s of %s\n", donard_format_size(text, sizeof(text), client->length), client->info.drive);
	return EXIT_DONE;
}

static int run_trim(struct cli *cli)
{
	struct client client = { .cli = cli, .trims = true, .port.fd = -1 };
	int rc;

	if (!cli_given(cli, "size"))
		return cli_usage(cli, "what shall be trimmed? Give --size");
	rc = open_single(&client);
	if (!rc)
		rc = trim(&client);
	return close_all(&client, rc);
}

/* ---- tables ---- */

#define PORT_OPTION { "port", "N", "port of the server, if ADDR has none; default 7078" }
#define COMMON_OPTIONS \
	{ "timeout", "SECONDS", "give up when nothing comes back for this long; default 10" }, \
	{ "json", NULL, "print JSON" }, \
	{ 0 }
#define TRANSFER_OPTIONS \
	PORT_OPTION, \
	{ "offset", "SIZE", "where to start on the drive; default 0" }, \
	{ "block-size", "SIZE", "size of one request; default 1M" }, \
	{ "queue-depth", "N", "requests in flight; default 16" }, \
	{ "progress", NULL, "show progress on stderr" }

static const struct cli_option put_options[] = {
	TRANSFER_OPTIONS,
	{ "src-offset", "SIZE", "where to start in SRC; default 0" },
	{ "size", "SIZE", "how much; default: to the end of SRC" },
	{ "pad", NULL, "put zeros behind a SRC that ends within a block" },
	{ "to-drive", NULL, "wait until all is on the drive" },
	COMMON_OPTIONS,
};

static const struct cli_option get_options[] = {
	TRANSFER_OPTIONS,
	{ "dst-offset", "SIZE", "where to start in DST; default 0" },
	{ "size", "SIZE", "how much; default: to the end of the drive, or of a region" },
	COMMON_OPTIONS,
};

static const struct cli_option flush_options[] = {
	PORT_OPTION,
	{ "to-drive", NULL, "as far as the drive, not only the NVRAM" },
	COMMON_OPTIONS,
};

static const struct cli_option trim_options[] = {
	PORT_OPTION,
	{ "offset", "SIZE", "where to start on the drive; default 0" },
	{ "size", "SIZE", "how much; required" },
	COMMON_OPTIONS,
};

static const struct cli_limit limits[] = {
	{ "port", 1, 65535 },
	{ "queue-depth", 1, 1024 },
	{ "timeout", 1, 3600 },
	{ 0 },
};

static const struct cli_limit single_limits[] = {
	{ "port", 1, 65535 },
	{ "timeout", 1, 3600 },
	{ 0 },
};

const struct cli_command cmd_cache_put = {
	.name = "cache put", .arguments = "ADDR[:PORT] SRC", .min_arguments = 2, .max_arguments = 2,
	.needs_context = true, .summary = "Write a file, standard input (-) or a region to a write cache",
	.options = put_options, .limits = limits, .run = run_put,
};

const struct cli_command cmd_cache_get = {
	.name = "cache get", .arguments = "ADDR[:PORT] DST", .min_arguments = 2, .max_arguments = 2,
	.needs_context = true, .summary = "Read the newest bytes from a write cache",
	.options = get_options, .limits = limits, .run = run_get,
};

const struct cli_command cmd_cache_flush = {
	.name = "cache flush", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Wait until what was written to a write cache is durable",
	.options = flush_options, .limits = single_limits, .run = run_flush,
};

const struct cli_command cmd_cache_trim = {
	.name = "cache trim", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Say that blocks behind a write cache are not needed any more",
	.options = trim_options, .limits = single_limits, .run = run_trim,
};
