// SPDX-License-Identifier: Apache-2.0
/* doctor: can this machine do it, and what to do if not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "errors.h"
#include "options.h"
#include "output.h"

static const struct cli_column code_columns[] = {
	{ "code", "CODE", false }, { "severity", "SEVERITY", false }, { "meaning", "MEANING", false }, { 0 },
};

static int list_codes(const struct cli *cli)
{
	struct json_object *model = json_object_new_object(), *codes = doctor_codes();

	json_object_object_add(model, "codes", codes);
	if (cli->json) {
		cli_print_json(model);
		return EXIT_DONE;
	}
	cli_print_table(codes, code_columns);
	json_object_put(model);
	return EXIT_DONE;
}

/* A captured machine moves no bytes; leave and scratch are for moving them. */
static const char *contradiction(const struct cli *cli)
{
	if (cli_given(cli, "root") && cli_given(cli, "probe"))
		return "--root and --probe exclude each other";
	if (!cli_given(cli, "probe") && cli_given(cli, "scratch"))
		return "--scratch needs --probe";
	if (!cli_given(cli, "probe") && cli_given(cli, "allow-unlisted-bridge"))
		return "--allow-unlisted-bridge needs --probe";
	return NULL;
}

static int examine(struct cli *cli)
{
	struct doctor_request request = {
		.root = cli_value(cli, "root"), .probe = cli_given(cli, "probe"),
		.unlisted = cli_given(cli, "allow-unlisted-bridge"), .scratch = cli_value(cli, "scratch"),
	};

	return doctor_examine(cli, &request);
}

/* Sets errno if it returns false. */
static bool is_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st) || access(path, R_OK | X_OK))
		return false;
	errno = ENOTDIR;
	return S_ISDIR(st.st_mode);
}

static int run(struct cli *cli)
{
	const char *wrong = contradiction(cli);

	if (wrong)
		return cli_usage(cli, "%s", wrong);
	if (cli_given(cli, "codes"))
		return list_codes(cli);
	if (cli_given(cli, "root") && !is_folder(cli_value(cli, "root"))) {
		char text[512];

		snprintf(text, sizeof(text), "%.400s: not a folder that can be read: %m", cli_value(cli, "root"));
		return cli_fail_text(cli, EXIT_FAILED, "no-such-device", text);
	}
	return examine(cli);
}

static const struct cli_option options[] = {
	{ "probe", NULL, "move bytes each way between each drive or RDMA NIC and region" },
	{ "scratch", "PATH", "with --probe: a file, drive or directory that may be written" },
	{ "allow-unlisted-bridge", NULL, "with --probe: try host bridges that are on no list" },
	{ "root", "DIR", "examine the captured /sys and /proc of another machine, below DIR" },
	{ "codes", NULL, "list what could be found" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_doctor = {
	.name = "doctor", .arguments = "",
	.summary = "Say whether this machine can do it, and what to do if not",
	.options = options, .run = run,
};
