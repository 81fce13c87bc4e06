/* SPDX-License-Identifier: Apache-2.0 */
/* A device by its PCI address, which users write as lspci prints it, too. */
#ifndef DONARD_CLI_DEVICE_H
#define DONARD_CLI_DEVICE_H

#include "command.h"
#include "donard/donard.h"

/*
 * Sets @device to the value of "--device", in the form in which regions and candidates have addresses; to "" without that
 * option.  Returns 0, or an exit code after it has printed why the value is bad.
 */
int cli_device(const struct cli *cli, char device[DONARD_BDF_BYTES]);

#endif /* DONARD_CLI_DEVICE_H */
