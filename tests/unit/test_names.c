// SPDX-License-Identifier: Apache-2.0
/* The module's list of names in a reason, the very file that the kernel runs. */
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "../../kernel/names.c"

static struct p2pmem_names names_of(unsigned int count, const char *domain)
{
	struct p2pmem_names names;
	char name[16];

	memset(&names, 0, sizeof(names));
	for (unsigned int i = 1; i <= count; i++) {
		snprintf(name, sizeof(name), "%s:%02x:00.0", domain, i);
		p2pmem_names_add(&names, name);
	}
	p2pmem_names_end(&names);
	return names;
}

static void test_all_fit(void **state)
{
	(void)state;
	assert_string_equal(names_of(0, "0000").text, "");
	assert_string_equal(names_of(2, "0000").text, "0000:01:00.0, 0000:02:00.0");
}

/* However many there are, the text says of how many it has no name. */
static void test_some_are_left_out(void **state)
{
	static const char *const domains[] = { "0000", "10000", "0000a" };
	struct p2pmem_names names;
	unsigned int more;

	(void)state;
	assert_string_equal(names_of(9, "0000").text,
			    "0000:01:00.0, 0000:02:00.0, 0000:03:00.0, 0000:04:00.0, 0000:05:00.0 and 4 more");
	for (unsigned int count = 4; count < 300; count++) {
		for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
			names = names_of(count, domains[i]);
			assert_int_equal(names.count + names.left_out, count);
			if (!names.left_out)
				continue;
			assert_int_equal(sscanf(strstr(names.text, " and "), " and %u more", &more), 1);
			assert_int_equal(more, names.left_out);
			assert_string_equal(names.text + strlen(names.text) - 5, " more");
		}
	}
}

/* A short name behind one that did not fit would look like the last. */
static void test_none_behind_the_first_that_is_left_out(void **state)
{
	struct p2pmem_names names = names_of(4, "10000");

	(void)state;
	assert_int_equal(names.left_out, 0);
	p2pmem_names_add(&names, "0000:ff:00.0");
	p2pmem_names_add(&names, "a");
	p2pmem_names_end(&names);
	assert_int_equal(names.left_out, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fit),
		cmocka_unit_test(test_some_are_left_out),
		cmocka_unit_test(test_none_behind_the_first_that_is_left_out),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
