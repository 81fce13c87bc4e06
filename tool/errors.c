// SPDX-License-Identifier: Apache-2.0
/* Failures: text on stderr, an object on stdout with --json, an exit code. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "donard/queue.h"
#include "errors.h"
#include "help.h"
#include "lib/base/printable.h"
#include "output.h"
#include "similar.h"
#include "terms.h"
#include "utf8.h"

static int exit_code_of(const char *code, int rc)
{
	if (!strcmp(code, "bad-option") || !strcmp(code, "bad-name"))
		return EXIT_USAGE;
	switch (rc) {
	case -EBADMSG:
		return EXIT_MISMATCH;
	case -EOPNOTSUPP:
		return EXIT_UNSUPPORTED;
	case -ECANCELED:
	case -EINTR:
		return EXIT_STOPPED;
	}
	return EXIT_FAILED;
}

#define HAS_LIMIT	(DONARD_FAILURE_MOST | DONARD_FAILURE_LEAST | DONARD_FAILURE_MULTIPLE)

static void add_failure(struct json_object *error, const struct cli_command *command, const struct donard_failure *failure)
{
	const char *option = cli_option_of(command, failure->member);

	if (failure->object[0])
		cli_add_text(error, "object", failure->object);
	if (option[0])
		cli_add_text(error, "option", option);
	if (failure->known & DONARD_FAILURE_VALUE)
		json_object_object_add(error, "value", json_object_new_uint64(failure->value));
	if (failure->known & HAS_LIMIT)
		json_object_object_add(error, "limit", json_object_new_uint64(failure->limit));
}

/*
 * Takes over @root, which gets the error. @command: or NULL, if there is none. @failure: the library's, or NULL
 */
static void print_error_object(const struct cli_command *command, struct json_object *root, const char *code,
			       const char *text, const struct donard_failure *failure)
{
	struct json_object *error = json_object_new_object();

	json_object_object_add(error, "code", cli_json_string(code));
	json_object_object_add(error, "message", cli_json_string(text));
	if (failure)
		add_failure(error, command, failure);
	json_object_object_add(root, "error", error);
	if (command && command->json_lines)
		cli_print_json_line(root);
	else
		cli_print_json(root);
}

const char *cli_printable(const char *raw, char text[CLI_TEXT_BYTES])
{
	snprintf(text, CLI_TEXT_BYTES, "%s", raw);
	dnd_make_printable(text, CLI_TEXT_BYTES);
	return text;
}

/* A text has names that others chose, and words of the command line. */
void cli_note(const struct cli *cli, const char *format, ...)
{
	char text[3 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dnd_make_printable(text, sizeof(text));
	fprintf(stderr, "%s: %s: %s\n", cli_name, cli->command->name, text);
}

static int fail(const struct cli *cli, int exit_code, const char *code, const char *raw,
		const struct donard_failure *failure, struct json_object *model)
{
	char text[3 * PATH_MAX];

	snprintf(text, sizeof(text), "%s", raw);
	dnd_make_printable(text, sizeof(text));
	dnd_shorten(text, 2 * CLI_ERROR_BYTES);
	cli_note(cli, "%s", text);
	if (cli->json)
		print_error_object(cli->command, model, code, text, failure);
	else
		json_object_put(model);
	return exit_code;
}

int cli_fail_text(const struct cli *cli, int exit_code, const char *code, const char *text)
{
	return cli_fail_text_with(cli, exit_code, code, text, json_object_new_object());
}

int cli_fail_text_with(const struct cli *cli, int exit_code, const char *code, const char *text, struct json_object *model)
{
	return fail(cli, exit_code, code, text, NULL, model);
}

int cli_fail_with(const struct cli *cli, int rc, struct json_object *model)
{
	struct donard_failure failure = { .size = sizeof(failure) };
	char text[CLI_ERROR_BYTES];

	donard_failure_get(cli->ctx, &failure);
	return fail(cli, exit_code_of(failure.code, rc), failure.code, cli_error(cli, text), &failure, model);
}

int cli_fail_completion(const struct cli *cli, const struct donard_completion *completion, struct json_object *model)
{
	char text[CLI_ERROR_BYTES];

	return fail(cli, exit_code_of(completion->error_code, (int)completion->result), completion->error_code,
		    cli_in_options(completion->error, text, sizeof(text)), completion->failure, model);
}

int cli_fail(const struct cli *cli, int rc)
{
	return cli_fail_with(cli, rc, json_object_new_object());
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
	char text[CLI_TEXT_BYTES], more[CLI_TEXT_BYTES + 128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(more, sizeof(more), "%s. See '%s help %s'.", text, cli_name, cli->command->name);
	return cli_fail_text(cli, EXIT_USAGE, "usage", more);
}

bool cli_wants_json(int argc, char **words)
{
	for (int i = 0; i < argc && strcmp(words[i], "--"); i++)
		if (!strcmp(words[i], "--json"))
			return true;
	return false;
}

/* "list, info, topo, region, copy": of the commands of a group only the group. */
static void list_commands(char *text, size_t text_bytes)
{
	size_t used = 0, length, before = 0;
	const char *name, *last = "";

	text[0] = '\0';
	for (size_t i = 0; cli_commands[i] && used < text_bytes; i++) {
		name = cli_commands[i]->name;
		length = strcspn(name, " ");
		if (length != before || strncmp(name, last, length))
			used += (size_t)snprintf(text + used, text_bytes - used, "%s%.*s",
						 used ? ", " : "", (int)length, name);
		last = name;
		before = length;
	}
}

/* " Did you mean 'list'?", or nothing. @typed may be the second word of a command alone. */
static void suggest(char *text, size_t text_bytes, const char *typed)
{
	struct cli_guess guess = { .word = typed };
	const char *second;

	for (size_t i = 0; cli_commands[i]; i++) {
		cli_guess_consider(&guess, cli_commands[i]->name);
		second = strchr(cli_commands[i]->name, ' ');
		if (second && !strcmp(second + 1, typed) && (!guess.best || guess.distance))
			guess = (struct cli_guess){ .word = typed, .best = cli_commands[i]->name };
	}
	text[0] = '\0';
	if (guess.best)
		snprintf(text, text_bytes, " Did you mean '%s'?", guess.best);
}

/* Which is why no command was found. */
static void explain(char *text, size_t text_bytes, int argc, char **words, bool group)
{
	const char *second = group && argc > 1 && words[1][0] != '-' ? words[1] : "";
	char names[256], two[256], hint[64];

	list_commands(names, sizeof(names));
	snprintf(two, sizeof(two), "%.200s%s%.50s", argc ? words[0] : "", second[0] ? " " : "", second);
	suggest(hint, sizeof(hint), two);
	if (!argc)
		snprintf(text, text_bytes, "a command is missing. The commands are: %s", names);
	else if (words[0][0] == '-')
		snprintf(text, text_bytes, "%.200s stands before the command, where only --json, --help and "
			 "--version may. Options follow the command: '%s COMMAND --option'. The commands are: %s",
			 words[0], cli_name, names);
	else if (group && !second[0])
		snprintf(text, text_bytes, "'%s' needs a second word.", words[0]);
	else if (group)
		snprintf(text, text_bytes, "'%s %.200s' is no command.%s", words[0], second, hint);
	else
		snprintf(text, text_bytes, "'%.200s' is no command.%s The commands are: %s", words[0], hint,
			 names);
}

int cli_no_command(bool json, int argc, char **words)
{
	bool group = argc && cli_is_group(words[0]);
	char text[1024];

	explain(text, sizeof(text), argc, words, group);
	dnd_make_printable(text, sizeof(text));
	fprintf(stderr, "%s: %s\n", cli_name, text);
	if (group)
		cli_print_group_help(stderr, words[0]);
	else
		fprintf(stderr, "'%s help' explains them.\n", cli_name);
	if (json || cli_wants_json(argc, words))
		print_error_object(NULL, json_object_new_object(), "usage", text, NULL);
	return EXIT_USAGE;
}

/* A network's file system says at close() alone that it is full.  Whoever started the program may have closed stdout. */
static bool is_written(void)
{
	if (fflush(stdout) || ferror(stdout))
		return false;
	return !fclose(stdout) || errno == EBADF;
}

/* A full disk or closed pipe must not look like success. */
int cli_check_stdout(int exit_code)
{
	if (is_written())
		return exit_code;
	fprintf(stderr, "%s: writing the output failed: %s\n", cli_name, strerror(errno));
	return exit_code ? exit_code : EXIT_FAILED;
}
