/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for users: what they must say somewhere. */
#ifndef SAYS_H
#define SAYS_H

#include "unit.h"

static inline void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in: %s", part, text);
}

#endif /* SAYS_H */
