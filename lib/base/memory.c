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

/* Volatile: the handler reads it between two plain stores, of which a compiler keeps the second alone. */
static __thread sigjmp_buf *volatile guard;
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

int dnd_memory_copy(void *to, const void *from, size_t bytes)
{
	sigjmp_buf here;

	guard_enter();
	if (sigsetjmp(here, 1)) {
		guard_leave();
		return -ENODEV;
	}
	guard = &here;
	copy_up(to, from, bytes);
	settle(to, bytes);
	guard_leave();
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
