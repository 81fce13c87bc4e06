// SPDX-License-Identifier: Apache-2.0
/* What somebody who mistyped a word may have meant: the fewest letters to change, swap, add or leave out. */
#include <string.h>

#include "similar.h"

#define LONGEST	31

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What the last letter of both adds; rows[2] is the row of the letter before. */
static size_t step(const char *a, const char *b, size_t i, size_t j, size_t rows[3][LONGEST + 1])
{
	size_t cost = least(rows[1][j] + 1, rows[0][j - 1] + 1);

	cost = least(cost, rows[1][j - 1] + (a[i - 1] != b[j - 1]));
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		cost = least(cost, rows[2][j - 2] + 1);
	return cost;
}

/* Neither is longer than LONGEST. */
static size_t distance_of(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1] = { 0 }, length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		rows[0][j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		memcpy(rows[2], rows[1], sizeof(rows[1]));
		memcpy(rows[1], rows[0], sizeof(rows[0]));
		rows[0][0] = i;
		for (size_t j = 1; j <= length; j++)
			rows[0][j] = step(a, b, i, j, rows);
	}
	return rows[0][length];
}

void cli_guess_consider(struct cli_guess *guess, const char *candidate)
{
	size_t length = strlen(candidate), typed = strlen(guess->word), distance;

	if (length > LONGEST || typed > LONGEST || !typed)
		return;
	distance = distance_of(guess->word, candidate);
	/* The first letters of a longer word. */
	if (typed > 1 && !strncmp(candidate, guess->word, typed))
		distance = least(distance, 1);
	if (distance > length / 3 + 1 || distance >= length || (guess->best && distance >= guess->distance))
		return;
	guess->best = candidate;
	guess->distance = distance;
}
