// SPDX-License-Identifier: Apache-2.0
/* May a benchmark overwrite the region's contents? */
#include <stdio.h>

#include "bench.h"
#include "donard/donard.h"
#include "errors.h"
#include "options.h"

/* Only the user knows whether persistent memory may be overwritten: the program that wrote it need not be running. */
int bench_check_contents(const struct cli *cli, const struct donard_region_info *region)
{
	char text[256];

	if (!region->persistent || cli_given(cli, "allow-persistent"))
		return 0;
	snprintf(text, sizeof(text), "%s: its memory is persistent, and the benchmark overwrites it. Name another region, or give "
		 "--allow-persistent if what it holds may be lost.", region->name);
	return cli_fail_text(cli, EXIT_FAILED, "persistent", text);
}
