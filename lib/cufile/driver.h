/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The "driver" of cuFile's calls is here the module p2pmem and the state that the process
 * keeps for it.  It is open or closed, and most calls open it by themselves.
 *
 * The driver's lock protects opening and closing.  The home's lock protects the tables of
 * files and buffers, and the context in which files are registered, which is the home.
 * locks.h has the order of all locks.
 */
#ifndef CUF_DRIVER_H
#define CUF_DRIVER_H

#include <stdbool.h>

#include "donard/donard.h"

/* Opens the driver if it is closed, and keeps it open until cuf_driver_leave().  Returns 0 or a code. */
int cuf_driver_need(void);
/* Does the same, but fails if the driver is closed. */
int cuf_driver_enter(void);
void cuf_driver_leave(void);
/* Returns 0 if the driver is open; else a code that says why nothing can be read or written. */
int cuf_driver_check(void);

/* For cuFileDriverOpen() and _Close(), which are counted.  @end releases everything. */
int cuf_driver_open(void);
int cuf_driver_close(void (*end)(void));
long cuf_driver_users(void);

/* The driver's lock, under which settings are changed. */
void cuf_driver_lock(void);
void cuf_driver_unlock(void);
/* Is the driver open, or closing, so that its settings are in use?  The caller holds its lock. */
bool cuf_driver_is_open(void);

struct donard_context *cuf_home_lock(void);
void cuf_home_unlock(void);

/* The configuration of all contexts; tests use it to have their own sysfs tree. */
extern const struct donard_config *cuf_donard_config;

#endif /* CUF_DRIVER_H */
