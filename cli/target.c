// SPDX-License-Identifier: Apache-2.0
/* See target.h. */
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "target.h"

static bool is_descriptor(int fd, const char *path)
{
	struct stat out, at;

	return !fstat(fd, &out) && !stat(path, &at) && !S_ISCHR(at.st_mode) && out.st_dev == at.st_dev && out.st_ino == at.st_ino;
}

int cli_check_target(const struct cli *cli, const char *path, const char *remedy)
{
	if (is_descriptor(STDOUT_FILENO, path))
		return cli_usage(cli, "'%s' is standard output, where this command's own report goes, too. %s", path, remedy);
	if (is_descriptor(STDERR_FILENO, path))
		return cli_usage(cli, "'%s' is standard error, where this command's messages go, too. Name the file, and send "
				 "these elsewhere", path);
	return 0;
}
