// SPDX-License-Identifier: Apache-2.0
/* See inodes.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cufile/inodes.h"
#include "cufile/locks.h"

struct cuf_inode {
	struct cuf_inode *next, **link;
	uint64_t device, inode;
	uint64_t unit;			/* of the page cache */
	unsigned int users;
	int claim_fd;			/* has the drive open, with O_EXCL if is_claimed; -1: nobody asked for a claim */
	bool is_claimed;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t unlocked;	/* signalled when a range is unlocked */
	struct cuf_range *ranges;	/* held or waited for; the newest first, so that no range waits for a later one */
};

static struct cuf_inode *inodes;	/* under CUF_LOCK_INODES, as are their users and claims */

static void begin(struct cuf_inode *inode)
{
	pthread_mutex_init(&inode->lock, NULL);
	pthread_cond_init(&inode->unlocked, NULL);
	inode->ranges = NULL;
}

/* The holders of these ranges are threads of the parent. */
void cuf_inodes_after_fork(void)
{
	for (struct cuf_inode *inode = inodes; inode; inode = inode->next)
		begin(inode);
}

static struct cuf_inode *add(uint64_t device, uint64_t number, uint64_t unit)
{
	struct cuf_inode *inode = calloc(1, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->device = device;
	inode->inode = number;
	inode->unit = unit;
	inode->claim_fd = -1;
	begin(inode);
	inode->next = inodes;
	inode->link = &inodes;
	if (inodes)
		inodes->link = &inode->next;
	inodes = inode;
	return inode;
}

struct cuf_inode *cuf_inode_get(uint64_t device, uint64_t number, uint64_t unit)
{
	struct cuf_inode *inode;

	cuf_lock(CUF_LOCK_INODES);
	inode = inodes;
	while (inode && (inode->device != device || inode->inode != number))
		inode = inode->next;
	if (!inode)
		inode = add(device, number, unit);
	if (inode)
		inode->users++;
	cuf_unlock(CUF_LOCK_INODES);
	return inode;
}

static void close_claim(struct cuf_inode *inode)
{
	if (inode->claim_fd >= 0)
		close(inode->claim_fd);
}

static void try_claim(struct cuf_inode *inode, int fd)
{
	char path[64];
	int claim_fd;

	if (inode->is_claimed)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	claim_fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (claim_fd < 0)
		return;
	close_claim(inode);
	inode->claim_fd = claim_fd;
	inode->is_claimed = true;
}

/* Returns 0 or -errno. */
static int duplicate(int fd, int *into)
{
	*into = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *into < 0 ? -errno : 0;
}

int cuf_inode_claim(struct cuf_inode *inode, int fd, int *program_fd)
{
	int rc = 0;

	*program_fd = -1;
	cuf_lock(CUF_LOCK_INODES);
	try_claim(inode, fd);
	if (!inode->is_claimed)
		rc = duplicate(fd, program_fd);
	if (!rc && inode->claim_fd < 0)
		rc = duplicate(fd, &inode->claim_fd);
	cuf_unlock(CUF_LOCK_INODES);
	return rc;
}

static void try_claims_again(void)
{
	for (struct cuf_inode *inode = inodes; inode; inode = inode->next)
		if (inode->claim_fd >= 0)
			try_claim(inode, inode->claim_fd);
}

void cuf_inode_put(struct cuf_inode *inode)
{
	if (!inode)
		return;
	cuf_lock(CUF_LOCK_INODES);
	if (--inode->users == 0) {
		*inode->link = inode->next;
		if (inode->next)
			inode->next->link = inode->link;
		pthread_cond_destroy(&inode->unlocked);
		pthread_mutex_destroy(&inode->lock);
		close_claim(inode);
		free(inode);
	}
	try_claims_again();
	cuf_unlock(CUF_LOCK_INODES);
}

struct cuf_range cuf_inode_cached(const struct cuf_inode *inode, uint64_t start, uint64_t end)
{
	const uint64_t unit = inode->unit;

	return (struct cuf_range){ .start = start - start % unit, .end = (end + unit - 1) / unit * unit, .alone = true };
}

static bool must_wait(const struct cuf_range *range)
{
	for (const struct cuf_range *other = range->next; other; other = other->next)
		if ((range->alone || other->alone) && range->start < other->end && other->start < range->end)
			return true;
	return false;
}

void cuf_inode_lock(struct cuf_inode *inode, struct cuf_range *range)
{
	pthread_mutex_lock(&inode->lock);
	range->next = inode->ranges;
	range->link = &inode->ranges;
	if (range->next)
		range->next->link = &range->next;
	inode->ranges = range;
	while (must_wait(range))
		pthread_cond_wait(&inode->unlocked, &inode->lock);
	pthread_mutex_unlock(&inode->lock);
}

void cuf_inode_unlock(struct cuf_inode *inode, struct cuf_range *range)
{
	pthread_mutex_lock(&inode->lock);
	*range->link = range->next;
	if (range->next)
		range->next->link = range->link;
	if (inode->ranges)
		pthread_cond_broadcast(&inode->unlocked);
	pthread_mutex_unlock(&inode->lock);
}
