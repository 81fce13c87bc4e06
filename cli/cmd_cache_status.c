// SPDX-License-Identifier: Apache-2.0
/* cache status: what a cache's server on this machine holds, and what it has done. */
#include <errno.h>

#include "cachemodel.h"
#include "donard/donard.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "progress.h"

static int run(struct cli *cli)
{
	struct donard_cache_status status = { .size = sizeof(status) };
	int rc;

	/* Ctrl-Z followed by fg interrupts the wait, too: ask again then. */
	cli_catch_signals();
	do {
		rc = donard_cache_status(cli->ctx, cli->arguments[0], &status);
	} while (rc == -ECANCELED && !cli_stopped(NULL));
	if (rc)
		return cli_fail(cli, rc);
	if (cli->json)
		cli_print_json(cli_cache_model(&status));
	else
		cli_cache_print(stdout, &status);
	return EXIT_DONE;
}

static const struct cli_option options_table[] = {
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_cache_status = {
	.name = "cache status", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true,
	.summary = "Show what a cache served from a region of this machine holds, and has done",
	.options = options_table, .run = run,
};
