// SPDX-License-Identifier: GPL-2.0
/* Processes, as they are shown to people.  See who.h. */
#include <linux/fdtable.h>
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string_helpers.h>

#include "compat/compat.h"
#include "who.h"

/* The caller keeps the task by RCU or by a reference. */
static void who_is(struct p2pmem_who *who, struct task_struct *task)
{
	who->pid = task_tgid_nr(task);
	who->started_ns = task->group_leader->start_boottime;
	get_task_comm(who->comm, task);
}

void p2pmem_who_is_current(struct p2pmem_who *who)
{
	rcu_read_lock();
	who_is(who, current);
	rcu_read_unlock();
}

/* The kernel's isprint() is not enough: it takes bytes from 0xa0 on for printable (Latin-1). */
void p2pmem_printable(char name[P2PMEM_SHOWN_BYTES], const char *comm)
{
	int used = string_escape_mem(comm, strnlen(comm, TASK_COMM_LEN - 1), name,
				     P2PMEM_SHOWN_BYTES - 1,
				     ESCAPE_HEX | ESCAPE_NAP | ESCAPE_APPEND, "\"\\");

	name[used] = '\0';
}

/* The task, which RCU keeps; NULL if it has ended, even if its parent has yet to be told. */
static struct task_struct *living(const struct p2pmem_who *who)
{
	struct task_struct *task;

	task = pid_task(find_pid_ns(who->pid, &init_pid_ns), PIDTYPE_TGID);
	if (!task || task->start_boottime != who->started_ns ||
	    !atomic_read(&task->signal->live))
		return NULL;
	return task;
}

void p2pmem_who_show(const struct p2pmem_who *who, struct pid_namespace *ns,
		     struct p2pmem_shown *as)
{
	struct task_struct *task;

	rcu_read_lock();
	task = living(who);
	as->pid = task ? task_tgid_nr_ns(task, ns) : 0;
	rcu_read_unlock();
	p2pmem_printable(as->name, who->comm);
}

static bool has_file(struct task_struct *task, p2pmem_is_fn *is, const void *what)
{
	bool has;

	task_lock(task);	/* keeps its descriptors */
	has = task->files && iterate_fd(task->files, 0, is, what);
	task_unlock(task);
	return has;
}

bool p2pmem_who_lives(const struct p2pmem_who *who)
{
	bool lives;

	rcu_read_lock();
	lives = living(who);
	rcu_read_unlock();
	return lives;
}

bool p2pmem_who_has(struct p2pmem_who *who, p2pmem_is_fn *is, const void *what,
		    unsigned long until)
{
	struct task_struct *task;

	rcu_read_lock();
	task = living(who);
	if (task && has_file(task, is, what))
		goto out;
	memset(who, 0, sizeof(*who));
	for_each_process(task) {
		if (time_after(jiffies, until))
			break;
		if (!has_file(task, is, what))
			continue;
		who_is(who, task);
		break;
	}
out:
	rcu_read_unlock();
	return who->pid;
}

/*
 * While a fork() is under way, the child's task at first has its parent's pid and start
 * time, which name the parent.  Later it has its own pid with the parent's start time, for
 * which living() finds no process.
 */
bool p2pmem_who_owns(struct p2pmem_who *who, const struct mm_struct *mm)
{
	struct task_struct *task;

	rcu_read_lock();
	task = compat_mm_owner(mm);
	if (task) {
		who_is(who, task);
		task = living(who);
	}
	rcu_read_unlock();
	return task;
}
