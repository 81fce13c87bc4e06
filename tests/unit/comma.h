/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose numbers have a decimal comma, as after setlocale(LC_ALL, "") in most of Europe.  Few hosts have such a
 * locale installed, and not all can make one, so this writes the one file that it takes, as localedef would (glibc's
 * locale/loadlocale.c).
 */
#ifndef COMMA_H
#define COMMA_H

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define COMMA_MAGIC	(0x20031115 ^ LC_NUMERIC)

struct comma_file {
	uint32_t magic, fields, at[6];
	char point[4], separator[4], grouping[4];
	uint32_t wide_point, wide_separator;
	char codeset[8];
};

static inline void write_comma(const char *path)
{
	const struct comma_file comma = {
		.magic = COMMA_MAGIC,
		.fields = 6,
		.at = {
			offsetof(struct comma_file, point), offsetof(struct comma_file, separator),
			offsetof(struct comma_file, grouping), offsetof(struct comma_file, wide_point),
			offsetof(struct comma_file, wide_separator), offsetof(struct comma_file, codeset),
		},
		.point = ",",
		.wide_point = ',',
		.codeset = "UTF-8",
	};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(&comma, sizeof(comma), 1, file), 1);
	fclose(file);
}

static inline int comma_setup(void **state)
{
	char root[] = "/tmp/donard-unit-XXXXXX", folder[64], path[96], written[8];
	const char *set;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/comma", root);
	assert_int_equal(mkdir(folder, 0755), 0);
	snprintf(path, sizeof(path), "%s/LC_NUMERIC", folder);
	write_comma(path);
	setenv("LOCPATH", root, 1);
	set = setlocale(LC_NUMERIC, "comma");
	unsetenv("LOCPATH");
	unlink(path);
	rmdir(folder);
	rmdir(root);
	assert_non_null(set);
	snprintf(written, sizeof(written), "%.1f", 0.5);
	assert_string_equal(written, "0,5");
	return 0;
}

static inline int comma_teardown(void **state)
{
	(void)state;
	setlocale(LC_NUMERIC, "C");
	return 0;
}

#endif /* COMMA_H */
