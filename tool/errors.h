/* SPDX-License-Identifier: Apache-2.0 */
/* Failures: text on stderr, and with --json an error object on stdout.  Calls that print return the exit code. */
#ifndef DONARD_ERRORS_H
#define DONARD_ERRORS_H

#include <limits.h>

#include <json-c/json.h>

#include "command.h"

/* Room for a text with a path in it; cli_fail_text() shortens it. */
#define CLI_TEXT_BYTES	(PATH_MAX + 1024)

/* Prints the failure of the last call of the library, which returned @rc. */
int cli_fail(const struct cli *cli, int rc);
/* Adds the error to @model, which says how far the command came; takes @model over. */
int cli_fail_with(const struct cli *cli, int rc, struct json_object *model);
/* Prints the failure of a request that a queue completed. */
struct donard_completion;
int cli_fail_completion(const struct cli *cli, const struct donard_completion *completion, struct json_object *model);
int cli_fail_text(const struct cli *cli, int exit_code, const char *code, const char *text);
/* The same with @model, as cli_fail_with(). */
int cli_fail_text_with(const struct cli *cli, int exit_code, const char *code, const char *text, struct json_object *model);
int cli_usage(const struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* @raw with the escapes of printable.h; returns @text. */
const char *cli_printable(const char *raw, char text[CLI_TEXT_BYTES]);
/* A line on stderr that is no failure: what is worth knowing. */
void cli_note(const struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Is --json among the words before "--"? */
bool cli_wants_json(int argc, char **words);
/* Says that no command has the name with which @words begin. */
int cli_no_command(bool json, int argc, char **words);
/* Returns @exit_code, or EXIT_FAILED instead of 0 if the output could not be written. */
int cli_check_stdout(int exit_code);

#endif /* DONARD_ERRORS_H */
