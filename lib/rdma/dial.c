// SPDX-License-Identifier: Apache-2.0
/*
 * See dial.h.  siw makes its TCP connection within rdma_connect(), and if nobody
 * answers, waits as long as TCP does, for minutes.  Only a signal ends that.  The
 * signal of pthread_cancel() needs no handler of ours in the caller's process.
 */
#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "base/base.h"
#include "rdma/dial.h"

#define TICK_NS		100000000L
#define SECOND_NS	1000000000L

struct dial {
	struct rdma_cm_id *id;
	struct rdma_conn_param *param;
	int error_number;
};

static void *dial(void *user)
{
	struct dial *request = user;

	request->error_number = rdma_connect(request->id, request->param) ? errno : 0;
	return NULL;
}

static bool ends_within_tick(pthread_t thread)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_NS;
	if (until.tv_nsec >= SECOND_NS) {
		until.tv_nsec -= SECOND_NS;
		until.tv_sec++;
	}
	return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
}

int dnd_dial(struct rdma_cm_id *id, struct rdma_conn_param *param,
	     int (*give_up_fn)(void *user), void *user, int *error_number)
{
	struct dial request = { .id = id, .param = param };
	pthread_t thread;
	int rc;

	*error_number = dnd_thread_start(&thread, dial, &request);
	if (*error_number)
		return 0;
	while (!ends_within_tick(thread)) {
		rc = give_up_fn(user);
		if (rc) {
			pthread_cancel(thread);
			pthread_join(thread, NULL);
			return rc;
		}
	}
	*error_number = request.error_number;
	return 0;
}
