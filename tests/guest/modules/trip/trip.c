// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the calls of a kernel function, and kills who makes one of them.  A
 * test says by it how much work a call did, or went on to do after its end had
 * come, and needs no clock.  Or makes the function slow, or gives it another
 * third argument: the size of a buffer that no machine of the lab could fill.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

static char *symbol;
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "the function");

static ulong nth;
module_param(nth, ulong, 0444);
MODULE_PARM_DESC(nth, "which call ends its process, from 1 on; 0: none");

static uint delay_ms;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "each call takes so much longer");

static ulong third;
module_param(third, ulong, 0444);
MODULE_PARM_DESC(third, "argument of each call; 0: what its caller gave");

static ulong hits;
module_param(hits, ulong, 0444);
MODULE_PARM_DESC(hits, "calls until now, the one that kills included");

static ulong after;
module_param(after, ulong, 0444);
MODULE_PARM_DESC(after, "calls of the process that was to end");

static atomic_long_t calls, late;
static pid_t victim;	/* a task's struct is soon another's, its number is not */

static int on_call(struct kprobe *probe, struct pt_regs *regs)
{
	WRITE_ONCE(hits, atomic_long_inc_return(&calls));
	if (READ_ONCE(victim) == task_pid_nr(current))
		WRITE_ONCE(after, atomic_long_inc_return(&late));
	if (nth && hits == nth) {
		WRITE_ONCE(victim, task_pid_nr(current));
		send_sig(SIGKILL, current, 1);
	}
	if (third)
		regs->dx = third;
	mdelay(delay_ms);
	return 0;
}

static struct kprobe probe = { .pre_handler = on_call };

static int __init trip_init(void)
{
	if (!symbol)
		return -EINVAL;
	probe.symbol_name = symbol;
	return register_kprobe(&probe);
}

static void __exit trip_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(trip_init);
module_exit(trip_exit);

MODULE_DESCRIPTION("Counts calls of a kernel function, for tests");
MODULE_LICENSE("GPL");
