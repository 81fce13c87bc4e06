/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses what a mistyped word may have meant. */
#ifndef DONARD_SIMILAR_H
#define DONARD_SIMILAR_H

#include <stddef.h>

struct cli_guess {
	const char *word;		/* as typed; set by the caller, the rest zero */
	const char *best;		/* the most similar candidate so far, or NULL */
	size_t distance;
};

/* The candidate must live as long as the guess.  Ignores candidates that differ too much. */
void cli_guess_consider(struct cli_guess *guess, const char *candidate);

#endif /* DONARD_SIMILAR_H */
