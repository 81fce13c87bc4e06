// SPDX-License-Identifier: Apache-2.0
/* See trimmer.h. */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"
#include "cache/log.h"
#include "cache/trimmer.h"

#define TRIM_BYTES	(256ULL << 20)	/* in one call, for which the end of the server may have to wait */

struct dnd_trimmer {
	int fd;
	bool regular;
	int told;			/* an eventfd */
	pthread_t thread;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t more;
	const struct dnd_cache_run *runs;	/* NULL: there is nothing to do */
	size_t count;
	uint64_t ignored;
	bool ending;
};

/* ---- the thread ---- */

static int trim(const struct dnd_trimmer *trimmer, uint64_t offset, uint64_t length)
{
	uint64_t range[2] = { offset, length };

	if (trimmer->regular)
		return fallocate(trimmer->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length);
	return ioctl(trimmer->fd, BLKDISCARD, range);
}

static bool is_ending(struct dnd_trimmer *trimmer)
{
	bool ending;

	pthread_mutex_lock(&trimmer->lock);
	ending = trimmer->ending;
	pthread_mutex_unlock(&trimmer->lock);
	return ending;
}

/* Returns false if the drive did not do it. */
static bool trim_run(struct dnd_trimmer *trimmer, const struct dnd_cache_run *run)
{
	for (uint64_t at = 0; at < run->length_bytes && !is_ending(trimmer); at += TRIM_BYTES)
		if (trim(trimmer, run->drive_offset + at, dnd_min(TRIM_BYTES, run->length_bytes - at)))
			return false;
	return true;
}

static uint64_t trim_all(struct dnd_trimmer *trimmer, const struct dnd_cache_run *runs, size_t count)
{
	uint64_t ignored = 0;

	for (size_t i = 0; i < count && !is_ending(trimmer); i++)
		ignored += !trim_run(trimmer, &runs[i]);
	return ignored;
}

static void *work(void *user)
{
	struct dnd_trimmer *trimmer = user;

	pthread_mutex_lock(&trimmer->lock);
	while (!trimmer->ending) {
		const struct dnd_cache_run *runs = trimmer->runs;
		size_t count = trimmer->count;
		uint64_t ignored;

		if (!runs) {
			pthread_cond_wait(&trimmer->more, &trimmer->lock);
			continue;
		}
		pthread_mutex_unlock(&trimmer->lock);
		ignored = trim_all(trimmer, runs, count);
		pthread_mutex_lock(&trimmer->lock);
		trimmer->ignored = ignored;
		trimmer->runs = NULL;
		eventfd_write(trimmer->told, 1);
	}
	pthread_mutex_unlock(&trimmer->lock);
	return NULL;
}

/* ---- its owner ---- */

static void give_up(struct dnd_trimmer *trimmer)
{
	pthread_cond_destroy(&trimmer->more);
	pthread_mutex_destroy(&trimmer->lock);
	if (trimmer->told >= 0)
		close(trimmer->told);
	free(trimmer);
}

int dnd_trimmer_open(struct donard_context *ctx, int fd, bool regular, struct dnd_trimmer **out)
{
	struct dnd_trimmer *trimmer = calloc(1, sizeof(*trimmer));
	int rc;

	if (!trimmer)
		return dnd_fail_memory(ctx);
	trimmer->fd = fd;
	trimmer->regular = regular;
	pthread_mutex_init(&trimmer->lock, NULL);
	pthread_cond_init(&trimmer->more, NULL);
	trimmer->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = trimmer->told < 0 ? errno : dnd_thread_start(&trimmer->thread, work, trimmer);
	if (rc) {
		give_up(trimmer);
		return dnd_fail_errno(ctx, rc, "no thread that trims the drive");
	}
	*out = trimmer;
	return 0;
}

void dnd_trimmer_close(struct dnd_trimmer *trimmer)
{
	if (!trimmer)
		return;
	pthread_mutex_lock(&trimmer->lock);
	trimmer->ending = true;
	pthread_cond_signal(&trimmer->more);
	pthread_mutex_unlock(&trimmer->lock);
	pthread_join(trimmer->thread, NULL);
	give_up(trimmer);
}

void dnd_trimmer_begin(struct dnd_trimmer *trimmer, const struct dnd_cache_run *runs, size_t count)
{
	pthread_mutex_lock(&trimmer->lock);
	trimmer->runs = runs;
	trimmer->count = count;
	pthread_cond_signal(&trimmer->more);
	pthread_mutex_unlock(&trimmer->lock);
}

bool dnd_trimmer_done(struct dnd_trimmer *trimmer, uint64_t *ignored)
{
	eventfd_t times;
	bool done;

	pthread_mutex_lock(&trimmer->lock);
	done = !trimmer->runs;
	*ignored = trimmer->ignored;
	if (done)
		eventfd_read(trimmer->told, &times);
	pthread_mutex_unlock(&trimmer->lock);
	return done;
}

int dnd_trimmer_descriptor(const struct dnd_trimmer *trimmer)
{
	return trimmer->told;
}
