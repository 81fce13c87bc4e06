/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of a write cache without its loop: commit.c, read.c and destage.c.  Its two clients, its drive's queue and its NVRAM
 * record what they are asked for, in these letters:
 *
 *	a	APPEND, or a mark in a record
 *	t	TAIL
 *	B	barrier
 *	K	ACK, of the second client: k
 *	S	bytes of a read are sent
 *	D	the drive is told to trim
 *	W	the drive is told to write
 *	R	and to read
 *	F	and to flush
 */
#ifndef CACHE_SCENE_H
#define CACHE_SCENE_H

#include <errno.h>

#include "unit.h"
#include "cache/server.h"
#include "cache/trimmer.h"
#include "drive/drive.h"
#include "join/join.h"

#define BLOCK		4096U
#define NVRAM_BYTES	(24U << 20)	/* for more trims than a plan takes */
#define PLAN_RECORDS	4096U		/* so many */
#define REQUESTS	8U

struct scene {
	struct dnd_cache_server server;
	struct dnd_cache_session session, other, *sessions[2];
	struct dnd_cache_request requests[REQUESTS];
	unsigned int asked;
	uint8_t nvram[NVRAM_BYTES + DND_CACHE_READS * BLOCK];	/* the log, and behind it the places of reads */
	char steps[64];
	bool barrier_fails, drive_lost, not_flushed, trim_lasts, no_memory;
	unsigned int barriers_pass;	/* before the first that fails */
	int read_rc;			/* of the queue */
	struct dnd_cache_io *read_io;	/* of the last read */
	uint8_t *read_into;
	enum dnd_wire_status expected;	/* of each answer */
	uint64_t clock_ns, trim_ns;	/* trim_ns: how long each takes */
	struct ibv_context verbs;
	struct ibv_qp qp;
	struct ibv_mr mr;
	struct rdma_cm_id id;
	struct donard_file file;
	struct donard_memory memory;
};

extern struct scene *scene;

/* Asserts what was recorded since the set-up, or since the last forget_steps(). */
void steps_are(const char *expected);
void forget_steps(void);

void ask_as(struct dnd_cache_session *session, struct dnd_wire_message message);
void ask(struct dnd_wire_message message);
void ask_trim(struct dnd_cache_session *session);
void ask_read(uint64_t block);
/* Puts bytes @at the client's window, and asks to write them. */
void ask_write_as(struct dnd_cache_session *session, uint64_t at, uint64_t block);
void ask_write(uint64_t at, uint64_t block);
/* The bytes of the read at this place have arrived. */
void moved(uint64_t number);

void complete(struct dnd_cache_io *io, int64_t result);
void written(int64_t result);
/* The drive's flush ends with @result, and a round passes, in which the server checks the NVRAM again. */
void flushed(int64_t result);
/* The pause after an error is over. */
void pause_ends(void);

int scene_set_up(void **state);
int scene_tear_down(void **state);
/* Two blocks are acknowledged, and on their way to the drive. */
void drain_two(void);

#define TEST(name)	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

#endif /* CACHE_SCENE_H */
