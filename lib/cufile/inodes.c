// SPDX-License-Identifier: Apache-2.0
/* See inodes.h. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cufile/inodes.h"
#include "cufile/locks.h"

/* An open file of a drive, which may have it with O_EXCL: only the kernel knows of a program's. */
struct claim {
	struct claim *next;
	int fd;
};

struct cuf_inode {
	struct cuf_inode *next, **link;
	uint64_t device, inode;
	uint64_t unit;			/* of the page cache */
	unsigned int users;
	struct claim *claims;		/* the newest first: one of our own, and the program's from before it */
	bool has_claim;			/* the first is our own */
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t unlocked;	/* signalled when a range is unlocked */
	struct cuf_range *ranges;	/* held or waited for; the newest first, so that nobody waits for whoever comes later */
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

/* Takes over @fd, which may be -1.  Returns whether it is kept. */
static bool keep(struct cuf_inode *inode, int fd)
{
	struct claim *claim = fd >= 0 ? malloc(sizeof(*claim)) : NULL;

	if (claim) {
		*claim = (struct claim){ .next = inode->claims, .fd = fd };
		inode->claims = claim;
	} else if (fd >= 0) {
		close(fd);
	}
	return claim;
}

static void let_go(struct cuf_inode *inode)
{
	struct claim *claim;

	while ((claim = inode->claims)) {
		inode->claims = claim->next;
		close(claim->fd);
		free(claim);
	}
}

static void try_claim(struct cuf_inode *inode, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!inode->has_claim)
		inode->has_claim = keep(inode, open(path, O_RDONLY | O_EXCL | O_CLOEXEC));
}

void cuf_inode_claim(struct cuf_inode *inode, int fd)
{
	cuf_lock(CUF_LOCK_INODES);
	try_claim(inode, fd);
	if (!inode->has_claim)
		keep(inode, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	cuf_unlock(CUF_LOCK_INODES);
}

/* A drive could not be claimed while one of its partitions was, and a partition could not while the drive was. */
static void try_claims_again(void)
{
	for (struct cuf_inode *inode = inodes; inode; inode = inode->next)
		if (inode->claims)
			try_claim(inode, inode->claims->fd);
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
		let_go(inode);
		free(inode);
		try_claims_again();
	}
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
	pthread_cond_broadcast(&inode->unlocked);
	pthread_mutex_unlock(&inode->lock);
}
