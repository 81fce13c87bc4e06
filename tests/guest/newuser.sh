# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the README promises somebody who plays in the lab: a compiler that takes both interfaces, progress that
# any terminal shows, errors that name what was typed.

# A user builds a program against the kernel's interface and the library.
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

# example FILE - builds and runs it as its comment says, and compares its output with the table.
example() {
	local program=$WORK/${1%.*}
	# shellcheck source=helpers/examples.sh
	. helpers/examples.sh
	build_example "$1" "$program"
	data_on_alpha $((64 * MIB))
	case $1 in
	own-read.c)
		example_says "$program" 'reaches p2pmem0 by: switch' "$LAB_ALPHA" p2pmem0
		example_says "$program" "$(od -An -v -tx1 -N16 "$WORK/data" | sed 's/^ //')" "$LAB_ALPHA" p2pmem0
		;;
	event-loop.c) example_says "$program" '^67108864 bytes, none by way of DRAM' "$LAB_ALPHA" p2pmem0 ;;
	dma-buf.c) example_says "$program" '^cpu: hello'$'\n''verbs: no device'$'\n''donard: region of p2pmem0, pages: device, bytes: hello' p2pmem0 ;;
	message-buffer.c) example_says "$program" 'child: hello'$'\n''parent: and hello to you' p2pmem0 ;;
	queue.cpp) example_says "$program" '^1048576 bytes, route switch' "$LAB_ALPHA" p2pmem0 ;;
	esac
	within 10 region_is_free p2pmem0
	exits 2 '' "$program"
}

# No call fails, so each example has to notice the short file by itself.
examples_of_short_file() {
	local example
	# shellcheck source=helpers/examples.sh
	. helpers/examples.sh
	with_file_system ext4 "$LAB_BETA"
	random_file /mnt/fs/file $((MIB - 4096))
	sync /mnt/fs/file
	for example in own-read.c event-loop.c queue.cpp; do
		build_example "$example" "$WORK/${example%.*}"
		exits 1 'the file ends too early' "$WORK/${example%.*}" /mnt/fs/file p2pmem0
	done
	within 10 region_is_free p2pmem0
}

# A plain read of such a file would be served by the page cache.
example_refuses_to_bounce() {
	# shellcheck source=helpers/examples.sh
	. helpers/examples.sh
	build_example own-read.c "$WORK/own-read"
	with_file_system ext4 "$LAB_BETA" data=journal
	random_file /mnt/fs/file "$MIB"
	exits 1 'data=journal' "$WORK/own-read" /mnt/fs/file p2pmem0
	within 10 region_is_free p2pmem0
}

# terminal TERM - what a copy shows there.
terminal() {
	TERM=$1 script -qec "donard-cli copy $LAB_ALPHA p2pmem0 --size 32M --block-size 256K --queue-depth 4 \
		--progress --verify" /dev/null
}

progress_in_any_terminal() {
	local shown
	# So that each shows something before it ends.
	labctl slow alpha $((16 * MIB))
	at_end "labctl slow alpha 0"
	shown=$(terminal dumb)
	matches "progress in a dumb terminal" 'copying +[0-9]+ %, [0-9.]+ of 32\.0 MiB, [0-9]+ MiB/s' "$shown"
	matches "the second phase" 'verifying +[0-9]+ %' "$shown"
	[[ $shown != *$'\033'* ]] || fail "escapes in a dumb terminal: $(cat -v <<<"$shown")"
	shown=$(terminal xterm)
	[[ $shown == *$'\r\033[K\033[?7l'*$'\033[?7h'* ]] || fail "no line drawn over, and cut off at the edge, in xterm: $(cat -v <<<"$shown")"
}

core t "a program of one's own" own_program
for example in own-read.c event-loop.c dma-buf.c message-buffer.c queue.cpp; do
	t "example $example" example "$example"
done
t "example own-read.c, of a file that bounces" example_refuses_to_bounce
t "examples, of a file that ends too early" examples_of_short_file
t "progress in any terminal" progress_in_any_terminal
