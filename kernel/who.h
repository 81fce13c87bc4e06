/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process, as it is told to people: in sysfs, in the log, in reasons.
 *
 * A process names itself, and a name may hold anything: newlines that begin a line of
 * their own, and what moves the cursor of root's terminal.  So whatever is said of a
 * process passes here.
 */
#ifndef P2PMEM_WHO_H
#define P2PMEM_WHO_H

#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/types.h>

struct file;

/**
 * struct p2pmem_who - a process, which may have ended since
 * @pid: of the thread group, in the first PID namespace
 * @started_ns: tells it from a later one of that number
 * @comm: as it was then: raw
 *
 * Holds no reference, and may be copied.
 */
struct p2pmem_who {
	pid_t pid;
	u64 started_ns;
	char comm[TASK_COMM_LEN];
};

/* Each byte may become "\x1b". */
#define P2PMEM_SHOWN_BYTES	(4 * TASK_COMM_LEN)

/**
 * struct p2pmem_shown - the same, for a reader
 * @pid: in the reader's PID namespace; 0 if it has ended, or cannot be seen from there
 * @name: of printable ASCII, without quotation marks and backslashes but those of "\x0a"
 */
struct p2pmem_shown {
	pid_t pid;
	char name[P2PMEM_SHOWN_BYTES];
};

/* The caller; from process context. */
void p2pmem_who_is_current(struct p2pmem_who *who);
/* @comm, which ends within TASK_COMM_LEN, as p2pmem_shown.name. */
void p2pmem_printable(char name[P2PMEM_SHOWN_BYTES], const char *comm);
void p2pmem_who_show(const struct p2pmem_who *who, struct pid_namespace *ns,
		     struct p2pmem_shown *as);
/* Has it not ended? */
bool p2pmem_who_lives(const struct p2pmem_who *who);
/*
 * Finds a process with a descriptor of @file: the one that *@who is, if that still has
 * one; false, with *@who cleared, if there is none.  The caller keeps the file.  Looks
 * at all processes, but never sleeps.
 */
bool p2pmem_who_has(struct p2pmem_who *who, const struct file *file);

#endif
