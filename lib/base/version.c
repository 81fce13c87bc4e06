// SPDX-License-Identifier: Apache-2.0
/* Which release of the library this is. */
#include "base/base.h"

DND_PUBLIC const char *donard_version(void)
{
	return DONARD_VERSION;
}
