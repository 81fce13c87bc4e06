// SPDX-License-Identifier: Apache-2.0
/* Sizes as people write them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/letters.h"

static const struct {
	const char *suffix;
	uint64_t factor;
} units[] = {
	{ "", 1 }, { "B", 1 },
	{ "K", 1ULL << 10 }, { "KiB", 1ULL << 10 }, { "kB", 1000ULL },
	{ "M", 1ULL << 20 }, { "MiB", 1ULL << 20 }, { "MB", 1000000ULL },
	{ "G", 1ULL << 30 }, { "GiB", 1ULL << 30 }, { "GB", 1000000000ULL },
	{ "T", 1ULL << 40 }, { "TiB", 1ULL << 40 }, { "TB", 1000000000000ULL },
};

static uint64_t unit_factor(const char *suffix)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (dnd_is_word(suffix, units[i].suffix))
			return units[i].factor;
	return 0;
}

DND_PUBLIC int donard_parse_size(const char *text, uint64_t *bytes)
{
	unsigned long long number;
	uint64_t factor, product;
	bool hex;
	char *end;

	/* Unlike strtoull(), this takes no blanks or signs, and does not read "010" as octal. */
	if (!text || !isdigit((unsigned char)text[0]))
		return -EINVAL;
	hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	errno = 0;
	number = strtoull(text, &end, hex ? 16 : 10);
	if (errno == ERANGE)
		return -ERANGE;
	factor = unit_factor(end);
	if (!factor || (hex && !isxdigit((unsigned char)text[2])))
		return -EINVAL;
	if (__builtin_mul_overflow((uint64_t)number, factor, &product) || product > INT64_MAX)
		return -ERANGE;
	*bytes = product;
	return 0;
}

/* Returns @bytes in hundredths of 2^@shift.  Uses integers, because printf() writes a comma for the point in some locales. */
static unsigned long long hundredths(uint64_t bytes, int shift)
{
	uint64_t whole = bytes >> shift, rest = bytes - (whole << shift);

	if (shift > 50) {	/* else the product overflows; a KiB does not show in an EiB */
		rest >>= 10;
		shift -= 10;
	}
	return whole * 100 + (rest * 100 + (1ULL << (shift - 1))) / (1ULL << shift);
}

DND_PUBLIC char *donard_format_size(char *text, size_t text_bytes, uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t whole = bytes;
	unsigned long long parts;
	int unit = 0;

	while (whole >= 1024 && unit < 6) {
		whole >>= 10;
		unit++;
	}
	if (whole << (10 * unit) == bytes) {
		snprintf(text, text_bytes, "%llu %s", (unsigned long long)whole, names[unit]);
		return text;
	}
	parts = hundredths(bytes, 10 * unit);
	snprintf(text, text_bytes, "%llu.%02llu %s (%llu B)", parts / 100, parts % 100, names[unit],
		 (unsigned long long)bytes);
	return text;
}
