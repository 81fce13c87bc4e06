/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of cuFile is here the module p2pmem and what the process keeps
 * of it: it is open or not, and most calls open it by themselves.
 *
 * Its lock opens and closes; the home's has the table of files and that of buffers,
 * and the context in which they are registered.  locks.h has the order of all.
 */
#ifndef CUF_DRIVER_H
#define CUF_DRIVER_H

#include <stdbool.h>

#include "donard/donard.h"

/* Opens it if need be: 0, and it stays open until cuf_driver_leave(); or a code. */
int cuf_driver_need(void);
/* The same, of a call that does not open it. */
int cuf_driver_enter(void);
void cuf_driver_leave(void);
/* 0, or why nothing is read or written: a code. */
int cuf_driver_check(void);

/* Of cuFileDriverOpen(), _Close(): counted.  @end lets go of everything. */
int cuf_driver_open(void);
int cuf_driver_close(void (*end)(void));
long cuf_driver_users(void);

/* Settings are changed under the driver's lock. */
void cuf_driver_lock(void);
void cuf_driver_unlock(void);
/* Or closing: its settings are in use.  With its lock held. */
bool cuf_driver_is_open(void);

struct donard_context *cuf_home_lock(void);
void cuf_home_unlock(void);

/* Where contexts look; tests have a tree of their own. */
extern const struct donard_config *cuf_donard_config;

#endif /* CUF_DRIVER_H */
