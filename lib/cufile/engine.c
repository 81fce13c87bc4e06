// SPDX-License-Identifier: Apache-2.0
/* See engine.h.  Makes and ends engines, and manages the files and buffers that they know. */
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/engine_own.h"
#include "cufile/locks.h"
#include "cufile/log.h"

static struct cuf_engine *engines;	/* under CUF_LOCK_ENGINES, which is taken before an engine's lock */
static __thread struct cuf_engine *mine;
static pthread_key_t key;		/* if has_key, which CUF_LOCK_ENGINES protects */
static bool has_key;
/* Both conditions belong to CUF_LOCK_USERS. */
static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;	/* signalled when no engine uses a deregistered object */
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;	/* signalled when a request ends while a thread awaits that */
static unsigned int ended, awaited;	/* how many such requests ended, under that lock; how many threads await one, atomic */

/* ---- the begin and the end ---- */

static void end_known(struct cuf_known *known)
{
	unsigned int *users = known->users;

	known->end(known);
	if (!users)
		return;
	cuf_lock(CUF_LOCK_USERS);
	if (--*users == 0)
		pthread_cond_broadcast(&nobody);
	cuf_unlock(CUF_LOCK_USERS);
}

static void end_engine(struct cuf_engine *engine)
{
	cuf_stages_end(cuf_engine_forget(engine));
	donard_queue_close(engine->queue);
	donard_memory_free(engine->host);
	donard_close(engine->ctx);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
}

static void at_thread_end(void *data)
{
	struct cuf_engine *engine = data;
	struct cuf_stage *stages;

	cuf_cancel_later();	/* for good: close() is a cancellation point */
	/* Forget while the engine is in the list, where a thread that deregisters something waits for its lock. */
	pthread_mutex_lock(&engine->lock);
	stages = cuf_engine_forget(engine);
	pthread_mutex_unlock(&engine->lock);
	cuf_stages_end(stages);
	cuf_lock(CUF_LOCK_ENGINES);
	*engine->link = engine->next;
	if (engine->next)
		engine->next->link = engine->link;
	cuf_unlock(CUF_LOCK_ENGINES);
	mine = NULL;
	end_engine(engine);
}

/*
 * In a child of fork(): the parent's engines.  Their threads do not exist here, so their requests never go on.  The child
 * releases the files and memory that they hold, so that it keeps nothing pinned, and leaves the rest.
 */
static struct cuf_engine *volatile inherited;	/* keeps them reachable, so that they are no leak */

void cuf_engines_before_fork(void)
{
	for (struct cuf_engine *engine = engines; engine; engine = engine->next)
		pthread_mutex_lock(&engine->lock);
}

/* Also called in the child of a fork(), whose only thread holds these locks. */
void cuf_engines_unlock_all(void)
{
	for (struct cuf_engine *engine = engines; engine; engine = engine->next)
		pthread_mutex_unlock(&engine->lock);
}

static void end_all_known(struct cuf_map *map)
{
	for (size_t i = 0; i < map->room; i++)
		if (map->entries[i].key)
			end_known(map->entries[i].value);
	cuf_map_free(map);
}

void cuf_engines_in_child(void)
{
	for (struct cuf_engine *engine = inherited; engine; engine = engine->next) {
		for (struct cuf_known *known = engine->forgotten, *next; known; known = next) {
			next = known->next;
			known->users = NULL;	/* on the stack of a thread of the parent */
			end_known(known);
		}
		engine->forgotten = NULL;
		end_all_known(&engine->files);
		end_all_known(&engine->places);
		cuf_stages_unpin(engine);
	}
}

void cuf_engines_after_fork(void)
{
	inherited = engines;
	engines = NULL;
	if (mine)
		pthread_setspecific(key, NULL);
	mine = NULL;
	pthread_cond_init(&nobody, NULL);
	pthread_cond_init(&idle, NULL);
	awaited = 0;
}

/*
 * Makes the key whose destructor ends a thread's engine; without it no engine would end with its thread.  After a failure a
 * later thread tries again, because other libraries delete their keys when they are unloaded.
 */
static bool need_key(void)
{
	int rc = 0;

	cuf_lock(CUF_LOCK_ENGINES);
	if (!has_key)
		rc = pthread_key_create(&key, at_thread_end);
	has_key = !rc;
	cuf_unlock(CUF_LOCK_ENGINES);
	if (rc)
		cuf_log(CUF_LOG_ERROR, "this thread can neither read nor write: pthread_key_create() fails: %s. A process has %d keys: "
			"load fewer libraries that take some.", strerror(rc), PTHREAD_KEYS_MAX);
	return !rc;
}

static int open_engine(struct cuf_engine *engine)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int rc = donard_open(&engine->ctx, cuf_donard_config);

	if (rc)
		return rc;
	/* Memory cannot begin at NULL, so it begins at the second page.  Each buffer is checked by itself. */
	rc = donard_memory_from_host(engine->ctx, (void *)page, INT64_MAX - page, &engine->host);
	if (rc)
		cuf_log(CUF_LOG_ERROR, "this thread can neither read nor write: %s", donard_error(engine->ctx));
	return rc;
}

static struct cuf_engine *new_engine(void)
{
	struct cuf_engine *engine = need_key() ? calloc(1, sizeof(*engine)) : NULL;

	if (!engine)
		return NULL;
	pthread_mutex_init(&engine->lock, NULL);
	if (open_engine(engine) || pthread_setspecific(key, engine)) {
		end_engine(engine);
		return NULL;
	}
	cuf_lock(CUF_LOCK_ENGINES);
	engine->next = engines;
	engine->link = &engines;
	if (engines)
		engines->link = &engine->next;
	engines = engine;
	cuf_unlock(CUF_LOCK_ENGINES);
	return engine;
}

struct cuf_engine *cuf_engine_enter(int *code)
{
	struct cuf_engine *engine = mine;

	if (!engine) {
		engine = mine = new_engine();
		*code = CUF_INTERNAL_ERROR;
		if (!engine)
			return NULL;
	}
	pthread_mutex_lock(&engine->lock);
	/* Checked under the lock: the thread that closes the driver takes this lock after it has changed the state. */
	*code = cuf_driver_check();
	engine->busy = !*code;
	if (!*code)
		return engine;
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

void cuf_engine_unlock(struct cuf_engine *engine)
{
	pthread_mutex_unlock(&engine->lock);
}

struct donard_memory *cuf_engine_host(struct cuf_engine *engine, uint64_t *base)
{
	*base = (uint64_t)sysconf(_SC_PAGESIZE);
	return engine->host;
}

bool cuf_engine_is_foreign(struct cuf_engine *engine, const void *address, uint64_t bytes)
{
	struct donard_memory *memory = NULL;

	if (donard_memory_from_host(engine->ctx, (void *)(uintptr_t)address, bytes, &memory) == -EHOSTUNREACH) {
		cuf_log(CUF_LOG_ERROR, "%s", donard_error(engine->ctx));
		return true;
	}
	donard_memory_free(memory);
	return false;
}

/* ---- files ---- */

static int adopt_file(struct cuf_engine *engine, struct cuf_use *use)
{
	struct donard_file_info info = { .size = sizeof(info) };
	int rc = donard_file_adopt(engine->ctx, use->file->direct_fd, &use->donard);

	if (rc) {
		cuf_log(CUF_LOG_ERROR, "%s: %s", use->file->name, donard_error(engine->ctx));
		return cuf_code_of_file(rc);
	}
	donard_file_info(use->donard, &info);
	use->align = info.align_bytes;
	use->memory_align = info.memory_align_bytes;
	use->end = use->file->is_regular ? UINT64_MAX : info.size_bytes;
	return 0;
}

int cuf_engine_look_again(struct cuf_engine *engine, struct cuf_use *use)
{
	struct donard_file *before = use->donard;
	uint64_t bytes;
	int code;

	if (ioctl(use->file->direct_fd, BLKGETSIZE64, &bytes) || bytes <= use->end)
		return 0;
	code = adopt_file(engine, use);
	if (!code)
		donard_file_close(before);	/* a fork() before this finds the file that is open */
	return code;
}

/* The home's lock keeps the file in its table until the engine has it, where a deregistration finds it. */
static int make_use(struct cuf_engine *engine, uint64_t handle, struct cuf_use *use)
{
	int rc = 0;

	use->file = cuf_file_find(handle);
	if (!use->file)
		return CUF_HANDLE_NOT_REGISTERED;
	use->align = use->memory_align = 1;
	use->end = UINT64_MAX;
	if (use->file->direct_fd >= 0)
		rc = adopt_file(engine, use);
	if (!rc && cuf_map_put(&engine->files, handle, use))
		rc = CUF_INTERNAL_ERROR;
	return rc;
}

static void end_use(struct cuf_known *known)
{
	struct cuf_use *use = (struct cuf_use *)known;

	donard_file_close(use->donard);
	free(use);
}

static struct cuf_use *new_use(struct cuf_engine *engine, uint64_t handle, int *code)
{
	struct cuf_use *use = calloc(1, sizeof(*use));

	*code = CUF_INTERNAL_ERROR;
	if (!use)
		return NULL;
	use->known.end = end_use;
	cuf_home_lock();
	*code = make_use(engine, handle, use);
	cuf_home_unlock();
	if (!*code)
		return use;
	end_use(&use->known);
	return NULL;
}

struct cuf_use *cuf_engine_file(struct cuf_engine *engine, uint64_t handle, int *code)
{
	struct cuf_use *use = handle ? cuf_map_get(&engine->files, handle) : NULL;

	if (!use)
		use = new_use(engine, handle, code);
	engine->file = use ? &use->known : NULL;
	return use;
}

/* ---- buffers ---- */

/* Opens the same pages in this engine's context. */
static int adopt_buffer(struct cuf_engine *engine, struct cuf_place *place)
{
	int rc;

	if (!place->buffer->memory)
		return 0;
	rc = cuf_engine_adopt(engine, &place->buffer->info, &place->memory);
	if (!rc)
		return 0;
	cuf_log(CUF_LOG_ERROR, "the buffer at %#llx: %s", (unsigned long long)place->buffer->base,
		donard_error(engine->ctx));
	return cuf_code_of_buffer(rc);
}

static void end_place(struct cuf_known *known)
{
	struct cuf_place *place = (struct cuf_place *)known;

	donard_memory_free(place->memory);
	free(place);
}

/* The caller holds the home's lock, for the same reason as make_use(). */
static struct cuf_place *make_place(struct cuf_engine *engine, struct cuf_buffer *buffer, int *code)
{
	struct cuf_place *place = calloc(1, sizeof(*place));

	*code = CUF_INTERNAL_ERROR;
	if (!place)
		return NULL;
	place->known.end = end_place;
	place->buffer = buffer;
	*code = adopt_buffer(engine, place);
	if (!*code && cuf_map_put(&engine->places, buffer->base, place))
		*code = CUF_INTERNAL_ERROR;
	if (!*code)
		return place;
	end_place(&place->known);
	return NULL;
}

/* Its buffer is being deregistered.  The engine's request does not use it, so that nobody has to wait for its end. */
static void drop_place(struct cuf_engine *engine, struct cuf_place *place)
{
	if (engine->latest == place)
		engine->latest = NULL;
	cuf_map_take(&engine->places, place->buffer->base);
	end_known(&place->known);
}

static struct cuf_place *look_up_place(struct cuf_engine *engine, struct cuf_buffer *buffer, int *code)
{
	struct cuf_place *place = buffer ? cuf_map_get(&engine->places, buffer->base) : NULL;

	if (place && place->buffer != buffer) {
		drop_place(engine, place);
		place = NULL;
	}
	return place || !buffer ? place : make_place(engine, buffer, code);
}

/*
 * A place whose buffer was taken out of its table stays until the thread that deregisters it gets to this engine.  A request
 * that begins meanwhile does not use it: who registers the address anew, and deregisters that, would not wait for the request.
 */
static bool is_current(const struct cuf_place *place)
{
	return place && !__atomic_load_n(&place->buffer->taken, __ATOMIC_ACQUIRE);
}

struct cuf_place *cuf_engine_buffer(struct cuf_engine *engine, uint64_t base, int *code)
{
	struct cuf_place *place = base ? cuf_map_get(&engine->places, base) : NULL;

	*code = 0;
	if (base && !is_current(place)) {
		cuf_home_lock();
		place = look_up_place(engine, cuf_buffer_find(base), code);
		cuf_home_unlock();
	}
	engine->place = place ? &place->known : NULL;
	return place;
}

struct cuf_place *cuf_engine_around(struct cuf_engine *engine, uint64_t start, uint64_t bytes, int *code)
{
	struct cuf_place *place;

	*code = 0;
	pthread_mutex_lock(&engine->lock);
	place = engine->latest;
	if (!is_current(place) || !cuf_buffer_has(place->buffer, start, bytes)) {
		cuf_home_lock();
		place = look_up_place(engine, cuf_buffer_around(start, bytes), code);
		cuf_home_unlock();
	}
	engine->latest = place;
	engine->place = place ? &place->known : NULL;
	pthread_mutex_unlock(&engine->lock);
	return place;
}

/* ---- forgetting ---- */

void cuf_engine_leave(struct cuf_engine *engine)
{
	struct cuf_known *known;

	pthread_mutex_lock(&engine->lock);
	engine->busy = false;
	engine->file = engine->place = NULL;
	while ((known = engine->forgotten)) {
		engine->forgotten = known->next;
		end_known(known);
	}
	pthread_mutex_unlock(&engine->lock);
	/*
	 * A thread that awaits this request has counted itself in @awaited before it saw the request under the engine's lock.
	 */
	if (!__atomic_load_n(&awaited, __ATOMIC_ACQUIRE))
		return;
	cuf_lock(CUF_LOCK_USERS);
	ended++;
	pthread_cond_broadcast(&idle);
	cuf_unlock(CUF_LOCK_USERS);
}

/* The engine is locked; @known is not in its maps any more, or NULL. */
static void forget(struct cuf_engine *engine, struct cuf_known *known, unsigned int *users)
{
	if (engine->latest && known == &engine->latest->known)
		engine->latest = NULL;
	if (!known)
		return;
	if (known != engine->file && known != engine->place) {
		end_known(known);	/* does not use the context, which the engine's thread may be using now */
		return;
	}
	cuf_lock(CUF_LOCK_USERS);
	known->users = users;
	++*users;
	cuf_unlock(CUF_LOCK_USERS);
	known->next = engine->forgotten;
	engine->forgotten = known;
}

static struct cuf_known *take_file(struct cuf_engine *engine, const void *handle)
{
	return cuf_map_take(&engine->files, *(const uint64_t *)handle);
}

/* A buffer that was registered at the same address before or since is another's to take out, and to wait for. */
static struct cuf_known *take_place(struct cuf_engine *engine, const void *which)
{
	const struct cuf_buffer *buffer = which;
	const struct cuf_place *place = cuf_map_get(&engine->places, buffer->base);

	return place && place->buffer == buffer ? cuf_map_take(&engine->places, buffer->base) : NULL;
}

/* It was taken out of its table before, so that no engine can find it again. */
static void forget_in_all(struct cuf_known *(*take)(struct cuf_engine *, const void *), const void *which)
{
	unsigned int users = 0;		/* under CUF_LOCK_USERS */

	cuf_lock(CUF_LOCK_ENGINES);
	for (struct cuf_engine *engine = engines; engine; engine = engine->next) {
		pthread_mutex_lock(&engine->lock);
		forget(engine, take(engine, which), &users);
		pthread_mutex_unlock(&engine->lock);
	}
	cuf_unlock(CUF_LOCK_ENGINES);
	cuf_lock(CUF_LOCK_USERS);
	while (users)
		pthread_cond_wait(&nobody, &cuf_locks[CUF_LOCK_USERS]);
	cuf_unlock(CUF_LOCK_USERS);
}

void cuf_engines_forget_file(uint64_t handle)
{
	forget_in_all(take_file, &handle);
}

void cuf_engines_forget_buffer(const struct cuf_buffer *buffer)
{
	forget_in_all(take_place, buffer);
}

struct cuf_stage *cuf_engine_forget(struct cuf_engine *engine)
{
	engine->latest = NULL;
	end_all_known(&engine->files);
	end_all_known(&engine->places);
	return cuf_stages_detach(engine);
}

static struct cuf_stage *append(struct cuf_stage *stages, struct cuf_stage *more)
{
	struct cuf_stage **at = &stages;

	while (*at)
		at = &(*at)->next;
	*at = more;
	return stages;
}

/* Returns whether an engine has a request, so that it cannot forget yet. */
static bool forget_in_idle(struct cuf_stage **stages)
{
	bool any = false;

	cuf_lock(CUF_LOCK_ENGINES);
	for (struct cuf_engine *engine = engines; engine; engine = engine->next) {
		pthread_mutex_lock(&engine->lock);
		if (engine->busy)
			any = true;
		else
			*stages = append(cuf_engine_forget(engine), *stages);
		pthread_mutex_unlock(&engine->lock);
	}
	cuf_unlock(CUF_LOCK_ENGINES);
	return any;
}

/*
 * Waits without CUF_LOCK_ENGINES.  The request may wait for a stream, and the stream for another request of ours.  That one
 * needs a lock that comes before CUF_LOCK_ENGINES, and a fork() may hold that lock while it waits for this one.
 */
void cuf_engines_forget_all(void)
{
	struct cuf_stage *stages = NULL;
	unsigned int seen;

	__atomic_add_fetch(&awaited, 1, __ATOMIC_SEQ_CST);
	cuf_lock(CUF_LOCK_USERS);
	seen = ended;
	cuf_unlock(CUF_LOCK_USERS);
	while (forget_in_idle(&stages)) {
		cuf_lock(CUF_LOCK_USERS);
		while (ended == seen)
			pthread_cond_wait(&idle, &cuf_locks[CUF_LOCK_USERS]);
		seen = ended;
		cuf_unlock(CUF_LOCK_USERS);
	}
	__atomic_sub_fetch(&awaited, 1, __ATOMIC_SEQ_CST);
	cuf_stages_end(stages);
}
