/* SPDX-License-Identifier: Apache-2.0 */
/* udev, which gives the node of a new region its user, group, mode and links. */
#ifndef DONARD_UDEV_H
#define DONARD_UDEV_H

#include <stdbool.h>

bool cli_udev_runs(void);

/* Has udev look at the region's node again; false if only root may ask for that. */
bool cli_tell_udev(const char *region);

/*
 * Returns when udev has handled what the kernel told it so far, or after five seconds; at once where udev does not run,
 * and in a program that a rule of udev runs.
 * Without it, the command that follows "region add" in a script may still find the node as root's alone.  False if udev is
 * not known to have done it.
 */
bool cli_await_udev(void);

#endif /* DONARD_UDEV_H */
