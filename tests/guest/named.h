/* SPDX-License-Identifier: Apache-2.0 */
/* For programs with many tests, one of which a run chooses by its name. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entry without a name: the tests after it need more arguments, and are not in --list. */
struct named_test {
	const char *name;
	void (*run)(void);
};

#define RUN_NAMED(tests, name)	run_named(tests, sizeof(tests) / sizeof((tests)[0]), name)

/* Runs the test of that name, or none for "--list", which prints the names; ends the program where there is none. */
static inline void run_named(const struct named_test *tests, size_t count, const char *name)
{
	bool list = !strcmp(name, "--list"), hidden = false;

	for (size_t i = 0; i < count; i++) {
		hidden |= !tests[i].name;
		if (list && !hidden)
			puts(tests[i].name);
		if (list || !tests[i].name || strcmp(tests[i].name, name))
			continue;
		tests[i].run();
		return;
	}
	if (!list)
		errx(2, "there is no test %s", name);
}
