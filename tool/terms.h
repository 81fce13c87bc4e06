/* SPDX-License-Identifier: Apache-2.0 */
/* The library's texts in the words of the command line. */
#ifndef DONARD_TERMS_H
#define DONARD_TERMS_H

#include <stddef.h>

#include "command.h"

#define CLI_ERROR_BYTES	1024

/*
 * The library calls an option what its headers call it: "options.block_bytes", "ALLOW_BOUNCE". Writes @text with the
 * names that the command line has for them: "--block-size", "--allow-bounce". Returns @out.
 */
const char *cli_in_options(const char *text, char *out, size_t out_bytes);

/* donard_error() so. */
const char *cli_error(const struct cli *cli, char text[CLI_ERROR_BYTES]);

#endif /* DONARD_TERMS_H */
