/* SPDX-License-Identifier: Apache-2.0 */
/* udev, which gives the node of a new region its user, group, mode and links. */
#ifndef DONARD_UDEV_H
#define DONARD_UDEV_H

#include <stdbool.h>

bool cli_udev_runs(void);

/* Makes udev handle the region's node again.  Returns false if only root may ask for that. */
bool cli_tell_udev(const char *region);

/*
 * Returns when udev has handled all events so far, or after five seconds; at once if udev does not run, or if a rule of udev
 * runs this program.  Without this wait, the next command of a script may find a new node that only root can open.
 * Returns false if udev may not have handled them.
 */
bool cli_await_udev(void);

#endif /* DONARD_UDEV_H */
