// SPDX-License-Identifier: Apache-2.0
/* top: regions, their holders, and drives, over and over. */
#include "donard/donard.h"
#include "follow.h"
#include "topmodel.h"

struct top {
	bool holders;
	struct cli_top_sample *sample, *before;
};

static int take(struct cli_follow *follow)
{
	struct top *top = follow->user;
	struct cli_top_sample *sample;
	int rc = cli_top_sample(follow->cli->ctx, top->holders, &sample);

	if (rc)
		return rc;
	cli_top_forget(top->before);
	top->before = top->sample;
	top->sample = sample;
	return 0;
}

static struct json_object *model(const struct cli_follow *follow)
{
	const struct top *top = follow->user;

	return cli_top_json(top->sample);
}

static void print(const struct cli_follow *follow, FILE *out)
{
	const struct top *top = follow->user;

	cli_top_print(out, top->sample, top->before, follow->seconds, top->holders);
}

static int run(struct cli *cli)
{
	struct top top = { .holders = !cli_given(cli, "no-holders") };
	struct cli_follow follow = {
		.cli = cli, .take = take, .model = model, .print = print, .user = &top,
	};
	int status = cli_follow(&follow);

	cli_top_forget(top.sample);
	cli_top_forget(top.before);
	return status;
}

static const struct cli_option options[] = {
	CLI_FOLLOW_OPTIONS,
	{ "no-holders", NULL, "leave out who holds memory, which costs most where regions are large" },
	{ "json", NULL, "print JSON, an object a line" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	CLI_FOLLOW_LIMITS,
	{ 0 },
};

const struct cli_command cmd_top = {
	.name = "top", .arguments = "", .needs_context = true, .json_lines = true,
	.summary = "Follow regions, who holds them, and the requests of drives",
	.options = options, .limits = limits, .run = run,
};
