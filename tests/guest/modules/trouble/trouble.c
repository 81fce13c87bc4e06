// SPDX-License-Identifier: GPL-2.0
/*
 * Provokes what a debug kernel is to notice, one fault a load (what=NAME), so that the lab's verdict is shown to hear
 * of each. Loads only where the kernel checks itself: elsewhere some of it would do harm.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

static char *what = "";
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "kasan, ubsan, lockdep, sleep, objects, leak or race");

/* Unknown to the compiler. */
static int seven = 7;

static void read_beyond(void)
{
	char *memory = kmalloc(16, GFP_KERNEL);

	if (memory)
		WRITE_ONCE(seven, READ_ONCE(memory[9 + READ_ONCE(seven)]));
	kfree(memory);
}

static void shift_too_far(void)
{
	WRITE_ONCE(seven, 1 << (READ_ONCE(seven) + 32));
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void lock_in_both_orders(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static DEFINE_SPINLOCK(spin);

static void sleep_under_spinlock(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static void never(struct timer_list *timer)
{
}

static void free_armed_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, never, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static void leak(void)
{
	int i;

	/* Several: a stale copy of an address on some stack hides one. */
	for (i = 0; i < 8; i++) {
		void *memory = kmalloc(100, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(memory);
	}
}

static unsigned long raced;

static int count_without_a_lock(void *until)
{
	while (time_before(jiffies, (unsigned long)until)) {
		raced++;
		barrier();
	}
	return 0;
}

static void race(void)
{
	void *until = (void *)(jiffies + 5 * HZ);
	struct task_struct *other = kthread_create(count_without_a_lock, until, "trouble");

	if (IS_ERR(other))
		return;
	get_task_struct(other);
	wake_up_process(other);
	count_without_a_lock(until);
	kthread_stop(other);
	put_task_struct(other);
}

static const struct {
	const char *name;
	void (*provoke)(void);
	bool noticed;
} troubles[] = {
	{ "kasan", read_beyond, IS_ENABLED(CONFIG_KASAN) },
	{ "ubsan", shift_too_far, IS_ENABLED(CONFIG_UBSAN_SHIFT) },
	{ "lockdep", lock_in_both_orders, IS_ENABLED(CONFIG_PROVE_LOCKING) },
	{ "sleep", sleep_under_spinlock, IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP) },
	{ "objects", free_armed_timer, IS_ENABLED(CONFIG_DEBUG_OBJECTS_TIMERS) },
	{ "leak", leak, IS_ENABLED(CONFIG_DEBUG_KMEMLEAK) },
	{ "race", race, IS_ENABLED(CONFIG_KCSAN) },
};

static int __init trouble_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (strcmp(troubles[i].name, what))
			continue;
		if (!troubles[i].noticed)
			return -EOPNOTSUPP;
		pr_info("begin %s\n", what);
		troubles[i].provoke();
		pr_info("end %s\n", what);
		return 0;
	}
	return -EINVAL;
}

static void __exit trouble_exit(void)
{
}

module_init(trouble_init);
module_exit(trouble_exit);
MODULE_DESCRIPTION("Provokes what a debug kernel is to notice");
MODULE_LICENSE("GPL");
