// SPDX-License-Identifier: Apache-2.0
/* See inodes.h. */
#include <pthread.h>
#include <stdlib.h>

#include "cufile/inodes.h"
#include "cufile/locks.h"

struct cuf_inode {
	struct cuf_inode *next, **link;
	uint64_t device, inode;
	unsigned int users;
	pthread_rwlock_t lock;
};

static struct cuf_inode *inodes;	/* under CUF_LOCK_INODES, as are their users */

/* Prefers exclusive lockers, which could otherwise wait for ever while shared ones keep coming. */
static void begin_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
}

/* The holders of these locks are threads of the parent. */
void cuf_inodes_after_fork(void)
{
	for (struct cuf_inode *inode = inodes; inode; inode = inode->next)
		begin_lock(&inode->lock);
}

static struct cuf_inode *add(uint64_t device, uint64_t number)
{
	struct cuf_inode *inode = calloc(1, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->device = device;
	inode->inode = number;
	begin_lock(&inode->lock);
	inode->next = inodes;
	inode->link = &inodes;
	if (inodes)
		inodes->link = &inode->next;
	inodes = inode;
	return inode;
}

struct cuf_inode *cuf_inode_get(uint64_t device, uint64_t number)
{
	struct cuf_inode *inode;

	cuf_lock(CUF_LOCK_INODES);
	inode = inodes;
	while (inode && (inode->device != device || inode->inode != number))
		inode = inode->next;
	if (!inode)
		inode = add(device, number);
	if (inode)
		inode->users++;
	cuf_unlock(CUF_LOCK_INODES);
	return inode;
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
		pthread_rwlock_destroy(&inode->lock);
		free(inode);
	}
	cuf_unlock(CUF_LOCK_INODES);
}

void cuf_inode_lock_alone(struct cuf_inode *inode)
{
	pthread_rwlock_wrlock(&inode->lock);
}

void cuf_inode_lock_shared(struct cuf_inode *inode)
{
	pthread_rwlock_rdlock(&inode->lock);
}

void cuf_inode_unlock(struct cuf_inode *inode)
{
	pthread_rwlock_unlock(&inode->lock);
}
