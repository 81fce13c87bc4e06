// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out whether a queue belongs to the calling thread, without a system call.  Each thread that opens a
 * queue gets a number that no other thread ever gets.  The process has a number, too, in a page that the kernel
 * empties in the child of a fork(), because child and parent share the ring, but not the queue's state.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "queue/queue.h"

static __thread uint64_t thread_number;
static volatile unsigned int *process;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_page(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	madvise(page, bytes, MADV_WIPEONFORK);
	process = page;
}

/* The first queue of a process sets its number, which is higher than the parent's: a child inherits @last. */
static unsigned int this_process(void)
{
	static unsigned int last;
	unsigned int none = 0, mine = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);

	if (__atomic_compare_exchange_n(process, &none, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mine;
	return none;
}

int dnd_queue_own(struct donard_queue *queue)
{
	static uint64_t last;

	pthread_once(&once, make_page);
	if (!process)
		return dnd_fail_memory(queue->ctx);
	if (!thread_number)
		thread_number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	queue->owner = thread_number;
	queue->process = this_process();
	return 0;
}

bool dnd_queue_inherited(const struct donard_queue *queue)
{
	return queue->process != __atomic_load_n(process, __ATOMIC_RELAXED);
}

/* Sets no text: the context belongs to the other thread, which may be reading a text of its own. */
int dnd_queue_check_thread(const struct donard_queue *queue)
{
	return queue->owner == thread_number && !dnd_queue_inherited(queue) ? 0 : -EPERM;
}
