// SPDX-License-Identifier: Apache-2.0
/* Which release of the library this is. */
#include "base/base.h"

#define TEXT_(x)	#x
#define TEXT(x)		TEXT_(x)
#define DOTTED(a, b, c)	TEXT(a) "." TEXT(b) "." TEXT(c)

DND_PUBLIC const char *donard_version(void)
{
	return DOTTED(DONARD_VERSION_MAJOR, DONARD_VERSION_MINOR, DONARD_VERSION_PATCH);
}
