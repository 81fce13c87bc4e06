// SPDX-License-Identifier: Apache-2.0
/*
 * fileprops verity FILE | encrypt DIR | direct FILE - what no shipped tool gives a file or says of it: fs-verity; an
 * encryption policy with a key of its own, for all that is made in DIR; the two alignments of direct I/O by statx().
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void enable_verity(int fd, const char *path)
{
	struct fsverity_enable_arg verity = {
		.version = 1,
		.hash_algorithm = FS_VERITY_HASH_ALG_SHA256,
		.block_size = 4096,
	};

	if (ioctl(fd, FS_IOC_ENABLE_VERITY, &verity))
		err(1, "%s: FS_IOC_ENABLE_VERITY", path);
}

static void encrypt(int fd, const char *path)
{
	struct {
		struct fscrypt_add_key_arg arg;
		unsigned char raw[64];
	} key = {
		.arg = { .key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER, .raw_size = 64 },
	};
	struct fscrypt_policy_v2 policy = {
		.version = FSCRYPT_POLICY_V2,
		.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS,
		.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS,
		.flags = FSCRYPT_POLICY_FLAGS_PAD_32,
	};

	memset(key.raw, 0x5a, sizeof(key.raw));
	if (ioctl(fd, FS_IOC_ADD_ENCRYPTION_KEY, &key))
		err(1, "%s: FS_IOC_ADD_ENCRYPTION_KEY", path);
	memcpy(policy.master_key_identifier, key.arg.key_spec.u.identifier,
	       sizeof(policy.master_key_identifier));
	if (ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, &policy))
		err(1, "%s: FS_IOC_SET_ENCRYPTION_POLICY", path);
}

static void say_alignment(int fd, const char *path)
{
	struct statx st = { 0 };

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st))
		err(1, "%s: statx", path);
	if (!(st.stx_mask & STATX_DIOALIGN))
		puts("not said");
	else
		printf("memory %u offset %u attributes %#llx\n", st.stx_dio_mem_align,
		       st.stx_dio_offset_align, (unsigned long long)st.stx_attributes);
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		err(2, "usage: fileprops verity FILE | encrypt DIR | direct FILE");
	if (!strcmp(argv[1], "verity"))
		enable_verity(fd, argv[2]);
	else if (!strcmp(argv[1], "encrypt"))
		encrypt(fd, argv[2]);
	else
		say_alignment(fd, argv[2]);
	close(fd);
	return 0;
}
