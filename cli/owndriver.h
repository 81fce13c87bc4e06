/* SPDX-License-Identifier: Apache-2.0 */
/* The driver that a device may get at the next boot, though a region has it now. */
#ifndef DONARD_OWNDRIVER_H
#define DONARD_OWNDRIVER_H

#include <stdbool.h>

#define OWNDRIVER_BYTES	64

/* @driver is the first module of the running kernel that names the PCI function as one of its devices.  False if none does. */
bool owndriver_find(const char *bdf, char driver[OWNDRIVER_BYTES]);
/* Looks the modalias up in the file @aliases, which has the form of modules.alias. */
bool owndriver_in(const char *aliases, const char *modalias, char driver[OWNDRIVER_BYTES]);

#endif /* DONARD_OWNDRIVER_H */
