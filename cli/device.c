// SPDX-License-Identifier: Apache-2.0
/* See device.h. */
#include "device.h"
#include "errors.h"
#include "lib/base/bdf.h"
#include "options.h"

int cli_device(const struct cli *cli, char device[DONARD_BDF_BYTES])
{
	const char *text = cli_value(cli, "device");
	struct dnd_bdf bdf;

	device[0] = '\0';
	if (!text)
		return 0;
	if (dnd_bdf_parse(text, &bdf))
		return cli_usage(cli, "--device %s: not a PCI address; they look like 0000:03:00.0", text);
	dnd_bdf_format(device, bdf);
	return 0;
}
