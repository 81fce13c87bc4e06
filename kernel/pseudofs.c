// SPDX-License-Identifier: GPL-2.0
/*
 * Each region has an anonymous inode.  Its address_space is the f_mapping of every
 * open file, so that one unmap_mapping_range() revokes all their mappings, and so that
 * get_user_pages() judges p2pmem's file system, not the one that the node is on.
 *
 * A second inode does the same for the region's dma-bufs.  It is never a DAX inode: if a
 * file has one, get_user_pages() takes long-term pins only if the file is a character
 * device (vma_is_fsdax()), as the region's node is and a dma-buf is not.
 */
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "p2pmem.h"
#include "pseudofs.h"

#define P2PMEM_FS_MAGIC	0x7032706d	/* "p2pm" */

static struct vfsmount *p2pmem_mnt;

static int p2pmem_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, P2PMEM_FS_MAGIC) ? 0 : -ENOMEM;
}

/*
 * The type has no owner, because its mount lives as long as the module, and would keep the
 * module from ever being unloaded.  Regions and open files hold the module where it matters.
 */
static struct file_system_type p2pmem_fs_type = {
	.name = "p2pmem",
	.init_fs_context = p2pmem_init_fs_context,
	.kill_sb = kill_anon_super,
};

int p2pmem_pseudofs_init(void)
{
	p2pmem_mnt = kern_mount(&p2pmem_fs_type);
	return PTR_ERR_OR_ZERO(p2pmem_mnt);
}

void p2pmem_pseudofs_exit(void)
{
	kern_unmount(p2pmem_mnt);
}

/* @flags: S_* flags of the inode */
struct inode *p2pmem_pseudofs_inode(unsigned int flags)
{
	struct inode *inode = alloc_anon_inode(p2pmem_mnt->mnt_sb);

	if (!IS_ERR(inode))
		inode->i_flags |= flags;
	return inode;
}
