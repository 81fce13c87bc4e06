// SPDX-License-Identifier: Apache-2.0
/* See driver.h. */
#include <errno.h>
#include <pthread.h>

#include "cufile/buffers.h"
#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/locks.h"
#include "cufile/log.h"
#include "cufile/pool.h"
#include "cufile/settings.h"

enum state {
	CLOSED,
	OPEN,
	CLOSING,
};

const struct donard_config *cuf_donard_config;

static enum state state;
static long opened;		/* how often the program opened it; 0 also if a call opened it by itself */
static unsigned int inside;	/* how many calls are between cuf_driver_need() or _enter() and _leave() */
static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
static struct donard_context *home;
static void (*ending)(void);	/* the @end of the close that is under way */

void cuf_driver_lock(void)
{
	cuf_lock(CUF_LOCK_DRIVER);
}

void cuf_driver_unlock(void)
{
	cuf_unlock(CUF_LOCK_DRIVER);
}

bool cuf_driver_is_open(void)
{
	return state != CLOSED;
}

struct donard_context *cuf_home_lock(void)
{
	cuf_lock(CUF_LOCK_HOME);
	return home;
}

void cuf_home_unlock(void)
{
	cuf_unlock(CUF_LOCK_HOME);
}

/* The calls that were inside are the parent's. */
void cuf_driver_after_fork(void)
{
	pthread_cond_init(&nobody, NULL);
	inside = 0;
}

/* Direct access needs the module; compatibility mode does not. */
static int check_module(void)
{
	struct donard_region_list *list;
	int rc = donard_region_list_parts(home, 0, &list);

	if (rc >= 0) {
		donard_region_list_free(list);
		return 0;
	}
	if (cuf_flag(CUF_FLAG_ALLOW_COMPAT) || cuf_flag(CUF_FLAG_FORCE_COMPAT)) {
		cuf_log(CUF_LOG_NOTICE, "only compatibility mode: %s", donard_error(home));
		return 0;
	}
	cuf_log(CUF_LOG_ERROR, "the driver cannot be opened: %s", donard_error(home));
	return rc == -EACCES ? CUF_PERMISSION_DENIED : CUF_DRIVER_NOT_INITIALIZED;
}

static int open_locked(void)
{
	int rc = cuf_settings_load();

	if (rc)
		return rc;
	if (donard_open(&home, cuf_donard_config))
		rc = CUF_NVFS_SETUP_ERROR;
	else
		rc = check_module();
	if (rc) {
		donard_close(home);
		home = NULL;
		cuf_settings_unload();
		return rc;
	}
	cuf_pool_begin();
	__atomic_store_n(&state, OPEN, __ATOMIC_RELEASE);
	return 0;
}

/* A thread that is inside is not canceled: the driver could not be closed any more. */
static void count_in(int rc)
{
	if (rc)
		return;
	inside++;
	cuf_cancel_later();
}

int cuf_driver_need(void)
{
	int rc;

	cuf_lock(CUF_LOCK_DRIVER);
	rc = state == CLOSED ? open_locked() : cuf_driver_check();
	count_in(rc);
	cuf_unlock(CUF_LOCK_DRIVER);
	return rc;
}

int cuf_driver_enter(void)
{
	int rc;

	cuf_lock(CUF_LOCK_DRIVER);
	rc = cuf_driver_check();
	count_in(rc);
	cuf_unlock(CUF_LOCK_DRIVER);
	return rc;
}

void cuf_driver_leave(void)
{
	cuf_lock(CUF_LOCK_DRIVER);
	if (--inside == 0)
		pthread_cond_broadcast(&nobody);
	cuf_unlock(CUF_LOCK_DRIVER);
	cuf_cancel_again();
}

int cuf_driver_check(void)
{
	switch (__atomic_load_n(&state, __ATOMIC_ACQUIRE)) {
	case OPEN:
		return 0;
	case CLOSING:
		return CUF_DRIVER_CLOSING;
	default:
		return CUF_DRIVER_NOT_INITIALIZED;
	}
}

int cuf_driver_open(void)
{
	int rc;

	cuf_lock(CUF_LOCK_DRIVER);
	rc = state == CLOSED ? open_locked() : cuf_driver_check();
	if (!rc)
		opened++;
	cuf_unlock(CUF_LOCK_DRIVER);
	return rc;
}

long cuf_driver_users(void)
{
	long users;

	cuf_lock(CUF_LOCK_DRIVER);
	users = opened ? opened : state == OPEN;
	cuf_unlock(CUF_LOCK_DRIVER);
	return users;
}

static void finish_close(void)
{
	donard_close(home);
	home = NULL;
	cuf_settings_forget();
	cuf_log_close();
	__atomic_store_n(&state, CLOSED, __ATOMIC_RELEASE);
	ending = NULL;
}

/*
 * The caller holds the driver's lock, which this releases meanwhile; calls that come then
 * fail because the driver is closing.  Calls inside end first, and @end waits for requests
 * that have begun.
 */
static void close_locked(void (*end)(void))
{
	opened = 0;
	ending = end;
	__atomic_store_n(&state, CLOSING, __ATOMIC_RELEASE);
	while (inside)
		pthread_cond_wait(&nobody, &cuf_locks[CUF_LOCK_DRIVER]);
	cuf_unlock(CUF_LOCK_DRIVER);
	end();
	cuf_lock(CUF_LOCK_DRIVER);
	finish_close();
}

/* Registered buffers are the parent's alone; and no other thread continues a close that was under way. */
void cuf_driver_in_child(void)
{
	cuf_buffers_end();
	if (state != CLOSING)
		return;
	ending();
	cuf_lock(CUF_LOCK_DRIVER);
	finish_close();
	cuf_unlock(CUF_LOCK_DRIVER);
}

int cuf_driver_close(void (*end)(void))
{
	int rc;

	cuf_cancel_later();
	cuf_lock(CUF_LOCK_DRIVER);
	rc = cuf_driver_check();
	if (!rc && opened > 1)
		opened--;
	else if (!rc)
		close_locked(end);
	cuf_unlock(CUF_LOCK_DRIVER);
	cuf_cancel_again();
	return rc;
}
