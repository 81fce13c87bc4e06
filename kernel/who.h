/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process as it is shown to people: in sysfs, in the log, and in reasons.
 *
 * A process chooses its own name, which can contain anything: newlines that forge a line,
 * and escapes that move the cursor of root's terminal.  So each name that is shown passes
 * through this file.
 */
#ifndef P2PMEM_WHO_H
#define P2PMEM_WHO_H

#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/types.h>

struct file;
struct mm_struct;

/**
 * struct p2pmem_who - a process, which may have ended since
 * @pid: its thread group in the initial PID namespace
 * @started_ns: when it started, which tells it from a later process with the same pid
 * @comm: its name when this struct was filled in, unescaped
 *
 * It holds no reference, and may be copied.
 */
struct p2pmem_who {
	pid_t pid;
	u64 started_ns;
	char comm[TASK_COMM_LEN];
};

/* Each byte may become four, as in "\x1b". */
#define P2PMEM_SHOWN_BYTES	(4 * TASK_COMM_LEN)

/**
 * struct p2pmem_shown - a process as one reader sees it
 * @pid: in the reader's PID namespace; 0 if it has ended, or cannot be seen from there
 * @name: in printable ASCII, without quotation marks; backslashes only in escapes such as "\x0a"
 */
struct p2pmem_shown {
	pid_t pid;
	char name[P2PMEM_SHOWN_BYTES];
};

/* Fills in the calling process; call it in process context. */
void p2pmem_who_is_current(struct p2pmem_who *who);
/* Escapes @comm, which ends within TASK_COMM_LEN, as for p2pmem_shown.name. */
void p2pmem_printable(char name[P2PMEM_SHOWN_BYTES], const char *comm);
void p2pmem_who_show(const struct p2pmem_who *who, struct pid_namespace *ns,
		     struct p2pmem_shown *as);
/* Is it still running? */
bool p2pmem_who_lives(const struct p2pmem_who *who);
/* Does @file refer to @what?  A callback of iterate_fd(), which never sleeps. */
typedef int p2pmem_is_fn(const void *what, struct file *file, unsigned int fd);
/*
 * Finds a process that has a descriptor of a file for which @is returns true, and prefers
 * the process in *@who.  Returns false, with *@who cleared, if there is none, or if none is
 * found before @until (jiffies).  The call looks at all processes, but never sleeps.
 */
bool p2pmem_who_has(struct p2pmem_who *who, p2pmem_is_fn *is, const void *what,
		    unsigned long until);
/*
 * Fills in the process that has @mm.  The caller keeps the mm_struct.  Returns false, with
 * *@who undefined, if there is none, for example because it is ending.  While a fork() is
 * making @mm, the answer is the parent or none.  Never sleeps.
 */
bool p2pmem_who_owns(struct p2pmem_who *who, const struct mm_struct *mm);

#endif
