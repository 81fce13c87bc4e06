# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the README promises somebody who plays in the lab: a compiler that takes both interfaces, progress that
# any terminal shows, errors that name what was typed.

# A program of its own, against the kernel's interface and the library.
own_program() {
	cat >"$WORK/own.c" <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <sys/ioctl.h>

		#include <donard/donard.h>
		#include <donard/p2pmem.h>

		int main(void)
		{
			struct p2pmem_info info = { .size = sizeof(info) };
			struct donard_region_list *list;
			struct donard_context *ctx;
			int fd = open("/dev/p2pmem0", O_RDWR), count;

			if (ioctl(fd, P2PMEM_IOC_INFO, &info) || donard_open(&ctx, NULL))
				return 1;
			count = donard_region_list(ctx, &list);
			if (count < 1)
				return 1;
			printf("%llu %llu\n", (unsigned long long)info.region_bytes,
			       (unsigned long long)donard_region_get(list, 0)->size_bytes);
			donard_region_list_free(list);
			donard_close(ctx);
			return 0;
		}
	END
	# shellcheck disable=SC2046  # words
	gcc -Wall -Werror -o "$WORK/own" "$WORK/own.c" $(pkg-config --cflags --libs libdonard) ||
		fail "gcc does not compile a program that uses donard/p2pmem.h and libdonard"
	equal "sizes by the ioctl and by the library" "$((512 * MIB)) $((512 * MIB))" "$("$WORK/own")"
}

# terminal TERM - what a copy shows there, slowly enough that it shows something.
terminal() {
	labctl slow alpha $((16 * MIB))
	at_end "labctl slow alpha 0"
	TERM=$1 script -qec "donard-cli copy $LAB_ALPHA p2pmem0 --size 32M --block-size 256K --queue-depth 4 \
		--progress --verify" /dev/null
	labctl slow alpha 0
}

progress_in_any_terminal() {
	local shown
	shown=$(terminal dumb)
	matches "progress in a dumb terminal" 'copying +[0-9]+ %, [0-9.]+ of 32\.0 MiB, [0-9]+ MiB/s' "$shown"
	matches "the second phase" 'verifying +[0-9]+ %' "$shown"
	[[ $shown != *$'\033'* ]] || fail "escapes in a dumb terminal: $(cat -v <<<"$shown")"
	shown=$(terminal xterm)
	[[ $shown == *$'\r\033[K'* ]] || fail "no line drawn over in xterm: $(cat -v <<<"$shown")"
}

t "a program of one's own" own_program
t "progress in any terminal" progress_in_any_terminal
