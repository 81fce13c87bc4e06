// SPDX-License-Identifier: Apache-2.0
/* cache top: what a cache's server holds and does, over and over. */
#include <errno.h>

#include "cachemodel.h"
#include "donard/donard.h"
#include "follow.h"
#include "progress.h"

struct top {
	struct donard_cache_status now, before;
};

static int take(struct cli_follow *follow)
{
	struct top *top = follow->user;
	struct donard_cache_status status = { .size = sizeof(status) };
	int rc;

	/* A change of the terminal's size interrupts the wait, too: ask again then. */
	do {
		rc = donard_cache_status(follow->cli->ctx, follow->cli->arguments[0], &status);
	} while (rc == -ECANCELED && !cli_stopped(NULL));
	if (rc)
		return rc;
	top->before = top->now;
	top->now = status;
	return 0;
}

static struct json_object *model(const struct cli_follow *follow)
{
	const struct top *top = follow->user;

	return cli_cache_model(&top->now);
}

/* A restarted server counts from 0, so that @now may be less than @before. */
static double rate(const struct cli_follow *follow, uint64_t before, uint64_t now)
{
	return follow->seconds > 0 && now >= before ? (double)(now - before) / follow->seconds : 0;
}

static void print_rates(const struct cli_follow *follow, FILE *out)
{
	const struct top *top = follow->user;
	const struct donard_cache_status *now = &top->now, *before = &top->before;
	const double mib = 1 << 20;

	fprintf(out, "a second    %.0f writes (%.1f MiB), %.0f reads (%.1f MiB), %.0f barriers; to the drive %.1f MiB\n",
		rate(follow, before->writes, now->writes),
		rate(follow, before->written_bytes, now->written_bytes) / mib,
		rate(follow, before->reads, now->reads),
		rate(follow, before->read_bytes, now->read_bytes) / mib,
		rate(follow, before->barriers, now->barriers),
		rate(follow, before->destaged_bytes, now->destaged_bytes) / mib);
}

static void print(const struct cli_follow *follow, FILE *out)
{
	const struct top *top = follow->user;

	cli_cache_print(out, &top->now);
	print_rates(follow, out);
}

static int run(struct cli *cli)
{
	struct top top = { 0 };
	struct cli_follow follow = {
		.cli = cli, .take = take, .model = model, .print = print, .user = &top,
	};

	return cli_follow(&follow);
}

static const struct cli_option options[] = {
	CLI_FOLLOW_OPTIONS,
	{ "json", NULL, "print JSON, an object a line" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	CLI_FOLLOW_LIMITS,
	{ 0 },
};

const struct cli_command cmd_cache_top = {
	.name = "cache top", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .json_lines = true,
	.summary = "Follow what a cache served from a region of this machine holds and does",
	.options = options, .limits = limits, .run = run,
};
