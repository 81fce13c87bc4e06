// SPDX-License-Identifier: Apache-2.0
/* Options from the command's table, by getopt_long without abbreviations. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "donard/donard.h"
#include "errors.h"
#include "help.h"
#include "options.h"
#include "similar.h"

static size_t option_count(const struct cli_command *command)
{
	size_t count = 0;

	while (command->options[count].name)
		count++;
	return count;
}

static void fill_long_options(const struct cli_command *command, struct option *options)
{
	size_t count = option_count(command);

	for (size_t i = 0; i < count; i++) {
		options[i].name = command->options[i].name;
		options[i].has_arg = command->options[i].argument ? required_argument : no_argument;
		options[i].val = (int)i + 256;
	}
	options[count].name = "help";
	options[count].val = 'h';
}

/* getopt_long takes "--siz" for "--size": scripts would break with a new option. */
static bool is_abbreviated(const struct cli_command *command, const char *word)
{
	size_t length;

	if (!word || strncmp(word, "--", 2))
		return false;
	length = strcspn(word + 2, "=");
	for (size_t i = 0; command->options[i].name; i++)
		if (strlen(command->options[i].name) == length &&
		    !strncmp(command->options[i].name, word + 2, length))
			return false;
	return length && (length != 4 || strncmp(word + 2, "help", 4));
}

/* Does the option that stands in @word take the next word? */
static bool takes_next_word(const struct cli_command *command, const char *word)
{
	if (strncmp(word, "--", 2))
		return false;
	for (size_t i = 0; command->options[i].name; i++)
		if (!strcmp(command->options[i].name, word + 2))
			return command->options[i].argument;
	return false;
}

/* Asked before the options are parsed, so that errors come as JSON too. */
static bool asks_for_json(const struct cli_command *command, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json"))
			return true;
		if (argv[i][0] != '-' && command->runs_command)
			return false;
		i += takes_next_word(command, argv[i]);
	}
	return false;
}

static int unknown_option(struct cli *cli, const char *word)
{
	struct cli_guess guess = { 0 };
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	guess.word = name;
	for (size_t i = 0; cli->command->options[i].name; i++)
		cli_guess_consider(&guess, cli->command->options[i].name);
	cli_guess_consider(&guess, "help");
	return cli_usage(cli, "%s is not an option of '%s'%s%s%s", word, cli->command->name,
			 guess.best ? " (did you mean --" : "", guess.best ? guess.best : "",
			 guess.best ? "?)" : "");
}

static int bad_option(struct cli *cli, int symbol, const char *word)
{
	if (symbol == ':' && !is_abbreviated(cli->command, word))
		return cli_usage(cli, "%s needs a value", word);
	/* Within "-xy" optind still names the word before it. */
	if (optopt && optopt < 256 && optopt != 'h')
		return cli_usage(cli, "-%c is not an option of '%s'", optopt, cli->command->name);
	return unknown_option(cli, word);
}

static int parse_options(struct cli *cli, int argc, char **argv)
{
	struct option options[CLI_MAX_OPTIONS + 2] = { 0 };
	const char *shorts = cli->command->runs_command ? "+:h" : ":h";
	int symbol, at = 1;

	fill_long_options(cli->command, options);
	cli->json = cli->json || asks_for_json(cli->command, argc, argv);
	opterr = 0;
	optind = 1;
	while ((symbol = getopt_long(argc, argv, shorts, options, NULL)) != -1) {
		if (symbol == 'h') {
			cli_print_command_help(cli->command);
			return -1;
		}
		at = symbol >= 256 && optarg && optarg == argv[optind - 1] ? optind - 2 : optind - 1;
		if (symbol < 256 || is_abbreviated(cli->command, argv[at]))
			return bad_option(cli, symbol, argv[symbol < 256 ? optind - 1 : at]);
		cli->values[symbol - 256] = optarg ? optarg : "";
	}
	return 0;
}

/* POSIXLY_CORRECT has getopt_long take options behind arguments for arguments. What we start may want it. */
static int parse_in_any_order(struct cli *cli, int argc, char **argv)
{
	static const char name[] = "POSIXLY_CORRECT";
	const char *set = getenv(name);
	char *before = set ? strdup(set) : NULL;
	int rc;

	unsetenv(name);
	rc = parse_options(cli, argc, argv);
	if (set)
		setenv(name, before ? before : "", true);
	free(before);
	return rc;
}

/* "DST is missing", "SRC and DST are missing" */
static int missing_arguments(const struct cli *cli)
{
	const char *word = cli->command->arguments;
	int count = cli->command->min_arguments - cli->argument_count;
	char names[128] = "";
	size_t used = 0;

	for (int i = 0; i < cli->command->min_arguments && used < sizeof(names); i++) {
		if (i >= cli->argument_count)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
						 used ? " and " : "", (int)strcspn(word, " "), word);
		word += strcspn(word, " ");
		word += *word == ' ';
	}
	return cli_usage(cli, "%s %s missing", names, count > 1 ? "are" : "is");
}

static const struct cli_option *find_option(const struct cli *cli, const char *name)
{
	const struct cli_option *option = cli->command->options;

	while (option->name && strcmp(option->name, name))
		option++;
	return option;
}

int cli_parse(struct cli *cli, int argc, char **argv)
{
	int rc = parse_in_any_order(cli, argc, argv);

	if (rc)
		return rc;
	if (cli->json && !find_option(cli, "json")->name)
		return cli_usage(cli, "--json is not an option of '%s'", cli->command->name);
	cli->json = cli->json || cli_given(cli, "json");
	cli->argument_count = argc - optind;
	cli->arguments = argv + optind;
	if (cli->argument_count < cli->command->min_arguments)
		return missing_arguments(cli);
	if (cli->argument_count > cli->command->max_arguments)
		return cli_usage(cli, "'%s' is one argument too many",
				 cli->arguments[cli->command->max_arguments]);
	return 0;
}

const char *cli_value(const struct cli *cli, const char *name)
{
	const struct cli_option *option = find_option(cli, name);

	return option->name ? cli->values[option - cli->command->options] : NULL;
}

bool cli_given(const struct cli *cli, const char *name)
{
	return cli_value(cli, name) != NULL;
}

int cli_size(const struct cli *cli, const char *name, bool zero_ok, uint64_t *value)
{
	const char *text = cli_value(cli, name);
	int rc;

	if (!text)
		return 0;
	rc = donard_parse_size(text, value);
	if (rc == -ERANGE)
		return cli_usage(cli, "--%s: '%s' is too large; the largest size is %lld, one byte less than 8 EiB", name, text,
				 (long long)INT64_MAX);
	if (rc)
		return cli_usage(cli, "--%s: '%s' is not a size; examples: 4096, 64K, 1MiB, 2GB",
				 name, text);
	if (!*value && !zero_ok)
		return cli_usage(cli, "--%s: 0 is too small", name);
	return 0;
}

int cli_number(const struct cli *cli, const char *name, uint64_t *value)
{
	const struct cli_limit *limit = cli_find_limit(cli->command, name);
	const char *text = cli_value(cli, name);
	bool digits = text && *text && strspn(text, "0123456789") == strlen(text);

	if (!text)
		return 0;
	if (digits)
		*value = strtoull(text, NULL, 10);	/* ULLONG_MAX if it is more */
	if (!digits || *value < limit->low || *value > limit->high)
		return cli_usage(cli, "--%s: '%s' is not a number from %llu to %llu", name, text,
				 (unsigned long long)limit->low, (unsigned long long)limit->high);
	return 0;
}

int cli_timeout(const struct cli *cli, unsigned int *timeout_ms)
{
	uint64_t seconds = *timeout_ms / 1000;
	int rc = cli_number(cli, "timeout", &seconds);

	*timeout_ms = (unsigned int)seconds * 1000;
	return rc;
}
