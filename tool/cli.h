/* SPDX-License-Identifier: Apache-2.0 */
/* What donard-cli and donard-bench share: the command table's shape, options, output. */
#ifndef DONARD_CLI_H
#define DONARD_CLI_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "donard/donard.h"
#include "donard/meter.h"
#include "donard/rdma.h"

/* Exit codes, documented in donard-cli(1). */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_UNSUPPORTED = 3,
	EXIT_MISMATCH = 4,
	EXIT_STOPPED = 130,
};

#define CLI_MAX_OPTIONS 16
#define CLI_ANY_ARGUMENTS 4096

struct cli_option {
	const char *name;	/* without the dashes; NULL ends the table */
	const char *argument;	/* "BYTES", or NULL for a switch */
	const char *help;
};

struct cli_command;

/* One invocation: values[i] belongs to command->options[i], NULL if absent. */
struct cli {
	const struct cli_command *command;
	struct donard_context *ctx;
	bool json;
	const char *values[CLI_MAX_OPTIONS];
	int argument_count;
	char **arguments;
};

struct cli_command {
	const char *name;	/* "list", "region add" */
	const char *arguments;	/* "SRC DST" or "" */
	int min_arguments, max_arguments;	/* CLI_ANY_ARGUMENTS: as many as there are */
	const char *summary;
	const struct cli_option *options;
	bool needs_context;
	bool json_lines;	/* --json: one object a line, failures too */
	bool runs_command;	/* options behind the first argument are not ours */
	int (*run)(struct cli *cli);
	/* Or: another program whose commands these are; all words behind the name are for it. */
	const char *program;
};

/* What each program says of itself, and its table, which ends with NULL. */
struct cli_program {
	const char *name;
	const char *alias;	/* how another program that stands for it calls it, or NULL */
	const char *purpose;
};
extern const struct cli_program cli_program;
extern const struct cli_command *const cli_commands[];

/* main.c: the program's name as the user typed it: "donard-cli", "donard-cli bench" */
extern const char *cli_name;
/* Becomes the program that the command belongs to, as if the user had typed @words behind it. */
int cli_become(const struct cli_command *command, const char *first, int argc, char **argv);

/* commands.c */
const struct cli_command *cli_find_command(int argc, char **argv, int *words);
/* "region" and "rdma" are only the first word of commands. */
bool cli_in_group(const struct cli_command *command, const char *group);
bool cli_is_group(const char *word);

/* options.c */
int cli_parse(struct cli *cli, int argc, char **argv);
const char *cli_value(const struct cli *cli, const char *name);
bool cli_given(const struct cli *cli, const char *name);
/* Absent options leave *value alone; garbage, and 0 unless zero_ok, exit 2. */
int cli_size(const struct cli *cli, const char *name, bool zero_ok, uint64_t *value);
int cli_number(const struct cli *cli, const char *name, uint64_t low, uint64_t high,
	       uint64_t *value);
/* "--timeout", in seconds, as milliseconds. */
int cli_timeout(const struct cli *cli, unsigned int *timeout_ms);

/* errors.c: text to stderr, with --json an error object to stdout */
int cli_fail(const struct cli *cli, int rc);
/* The error stands in @model, beside how far the command came; takes it over. */
int cli_fail_with(const struct cli *cli, int rc, struct json_object *model);
int cli_fail_text(const struct cli *cli, int exit_code, const char *code, const char *text);
int cli_usage(const struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* No command has the name that @words begin with. */
int cli_no_command(bool json, int argc, char **words);
int cli_check_stdout(int exit_code);

/* utf8.c: every string of a JSON model comes from here; NULL is "" */
struct json_object *cli_json_string(const char *text);
/* A copy with U+FFFD for each byte that is no part of UTF-8; the caller's to free, NULL without memory. */
char *cli_to_utf8(const char *text);

/* output.c: one model, two forms; each takes over the reference */
struct cli_column {
	const char *key;
	const char *title;
	bool is_size;
};

void cli_print_json(struct json_object *model);
/* On one line, at once: for programs that follow what happens. */
void cli_print_json_line(struct json_object *model);
void cli_add_text(struct json_object *model, const char *key, const char *value);
void cli_add_number(struct json_object *model, const char *key, uint64_t value);
/* Of a model: "", 0 and false where the key is absent or null. */
const char *cli_text_of(struct json_object *model, const char *key);
uint64_t cli_number_of(struct json_object *model, const char *key);
bool cli_true(struct json_object *model, const char *key);
/* "256 MiB", as donard_format_size(). */
const char *cli_size_of(struct json_object *model, const char *key, char text[DONARD_SIZE_TEXT_BYTES]);
void cli_print_table(struct json_object *rows, const struct cli_column *columns);
struct json_object *cli_model_region(const struct donard_region_info *info);
struct json_object *cli_model_client(const struct donard_client_info *info);

/* rdma.c */
/* Cuts the port off "ADDR:PORT", and brackets. Returns the port, 0 if it has none, -1 if it is none. */
long cli_cut_port(char *address);
/* The same for a server on the command line, or --port; 0 when neither names a port. */
int cli_server(const struct cli *cli, char *address, uint16_t *port);
/* "latency_ns"; DONARD_RDMA_BY_* as a list of words */
void cli_add_latency(struct json_object *model, const struct donard_rdma_latency *latency);
void cli_add_verified_by(struct json_object *model, unsigned int verified_by);

/* help.c */
void cli_print_help(void);
void cli_print_group_help(FILE *to, const char *group);
void cli_print_command_help(const struct cli_command *command);
/*
 * The whole table, a line each, tabs between: "command NAME ARGUMENTS SUMMARY" and "option NAME
 * --OPTION ARGUMENT HELP". The completion is made from it, and the man page compared with it.
 */
int cli_dump_commands(void);

/* progress.c */
struct cli_progress {
	bool show;
	bool terminal;		/* that lets the cursor be moved */
	enum donard_phase phase;
	double started, shown;	/* the phase; the last line */
	bool any;
};
/* Of a clock that never steps. */
double cli_now_seconds(void);
void cli_progress_init(struct cli_progress *progress, bool show);
/* A donard_progress_fn; stops the copy after SIGINT or SIGTERM. */
int cli_progress_tick(void *user, enum donard_phase phase, uint64_t done_bytes,
		      uint64_t total_bytes);
void cli_progress_end(struct cli_progress *progress);
void cli_catch_signals(void);
/* A donard_stop_fn: nonzero after SIGINT or SIGTERM. */
int cli_stopped(void *user);

extern const struct cli_command cmd_version, cmd_help;

#endif /* DONARD_CLI_H */
