// SPDX-License-Identifier: Apache-2.0
/*
 * Accesses are aligned and at most 8 bytes wide: what every controller's BAR
 * takes.  The volatile words keep the compiler from making memcpy of a loop.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/base.h"

#define COMPARE_BYTES 65536

static __thread sigjmp_buf *guard;
static struct sigaction former;

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	if (guard)
		siglongjmp(*guard, 1);
	if (former.sa_flags & SA_SIGINFO)
		former.sa_sigaction(signal_number, info, context);
	else
		signal(SIGBUS, SIG_DFL);	/* the access repeats and kills */
}

/* Users of the handler, over all threads: the first installs it. */
static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int guard_users;

static void guard_enter(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER };

	pthread_mutex_lock(&guard_lock);
	if (!guard_users++)
		sigaction(SIGBUS, &action, &former);
	pthread_mutex_unlock(&guard_lock);
}

static void guard_leave(void)
{
	guard = NULL;
	pthread_mutex_lock(&guard_lock);
	if (!--guard_users)
		sigaction(SIGBUS, &former, NULL);
	pthread_mutex_unlock(&guard_lock);
}

typedef uint64_t __attribute__((may_alias)) word_t;

static bool words_fit(const void *a, const void *b)
{
	return !(((uintptr_t)a | (uintptr_t)b) % sizeof(word_t));
}

static void copy_up(uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t i = 0;

	if (words_fit(to, from))
		for (; i + sizeof(word_t) <= bytes; i += sizeof(word_t))
			*(volatile word_t *)(to + i) = *(const volatile word_t *)(from + i);
	for (; i < bytes; i++)
		*(volatile uint8_t *)(to + i) = *(const volatile uint8_t *)(from + i);
}

static void copy_down(uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t i = bytes;

	while (i && (i % sizeof(word_t) || !words_fit(to, from))) {
		i--;
		*(volatile uint8_t *)(to + i) = *(const volatile uint8_t *)(from + i);
	}
	for (; i; i -= sizeof(word_t))
		*(volatile word_t *)(to + i - sizeof(word_t)) =
			*(const volatile word_t *)(from + i - sizeof(word_t));
}

/*
 * Stores may wait in write-combining buffers, and be posted on the way to the
 * BAR, while a device's DMA takes another path.  A fence and a load from the
 * same place leave none behind.
 */
static void settle(const uint8_t *to, size_t bytes)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_sfence();
#else
	__sync_synchronize();
#endif
	if (bytes)
		(void)*(const volatile uint8_t *)(to + bytes - 1);
}

typedef void (*copy_fn)(uint8_t *to, const uint8_t *from, size_t bytes);

static int guarded(copy_fn fn, void *to, const void *from, size_t bytes)
{
	sigjmp_buf here;

	guard_enter();
	if (sigsetjmp(here, 1)) {
		guard_leave();
		return -ENODEV;
	}
	guard = &here;
	fn(to, from, bytes);
	settle(to, bytes);
	guard_leave();
	return 0;
}

int dnd_memory_copy(void *to, const void *from, size_t bytes)
{
	return guarded(copy_up, to, from, bytes);
}

int dnd_memory_move(void *to, const void *from, size_t bytes)
{
	uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;

	return guarded(target > source && target < source + bytes ? copy_down : copy_up, to,
		       from, bytes);
}

int dnd_memory_zero(void *to, size_t bytes)
{
	static const uint8_t zeros[COMPARE_BYTES] __attribute__((aligned(8)));
	int rc = 0;

	for (size_t at = 0; at < bytes && !rc; at += sizeof(zeros))
		rc = dnd_memory_copy((uint8_t *)to + at, zeros,
				     dnd_min(bytes - at, sizeof(zeros)));
	return rc;
}

int dnd_memory_compare(const void *device, const void *dram, size_t bytes, size_t *where)
{
	const uint8_t *left = device, *right = dram;
	uint8_t line[COMPARE_BYTES];
	int rc;

	for (size_t at = 0; at < bytes; at += sizeof(line)) {
		size_t part = bytes - at < sizeof(line) ? bytes - at : sizeof(line);

		rc = dnd_memory_copy(line, left + at, part);
		if (rc)
			return rc;
		if (!memcmp(line, right + at, part))
			continue;
		for (*where = at; line[*where - at] == right[*where]; (*where)++)
			;
		return 1;
	}
	return 0;
}

void dnd_memory_nonce(void *dram, size_t bytes)
{
	uint8_t *byte = dram;
	ssize_t got;

	for (size_t at = 0; at < bytes; at += (size_t)got) {
		got = getrandom(byte + at, bytes - at, 0);
		if (got <= 0) {
			byte[at] = (uint8_t)random();
			got = 1;
		}
	}
}
