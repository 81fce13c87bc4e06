/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes of the programs, documented in donard-cli(1). */
#ifndef DONARD_EXIT_H
#define DONARD_EXIT_H

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_UNSUPPORTED = 3,
	EXIT_MISMATCH = 4,
	EXIT_STOPPED = 130,
};

#endif /* DONARD_EXIT_H */
