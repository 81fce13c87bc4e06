# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The library's queues, by queue.c, from a drive and from a file: what arrives, by which way, and how they end.

# shellcheck source=removal.sh
. ./removal.sh

# The program, and what runs it.
QUEUE=(queue)
REGISTERS=
can fixed-buffers && REGISTERS=registers

# without_uring FUNCTION... - its queues go by Linux AIO.
without_uring() {
	local REGISTERS=
	local -a QUEUE=(forbid EPERM io_uring queue)
	"$@"
}

of_queue() {
	data_on_alpha $((8 * MIB))
	"${QUEUE[@]}" "$1" "$LAB_ALPHA" "$REGISTERS"
	within 10 region_is_free p2pmem0
}

on_a_file() {
	with_file_system ext4
	random_file /mnt/fs/queue $((8 * MIB))
	sync /mnt/fs/queue
	"${QUEUE[@]}" "$1" /mnt/fs/queue "$REGISTERS"
	within 10 region_is_free p2pmem0
}

# None of the 4 MiB that a queue moves go through DRAM, and the 4 MiB that the test compares with do. The queue's flush reaches the drive.
counted() {
	data_on_alpha $((8 * MIB))
	watch_dma
	"${QUEUE[@]}" straight "$LAB_ALPHA"
	seen_dma
	[[ $(last_seen 'pci_nvme_write|pci_nvme_io_cmd.* opc 0x0 ') == *' opc 0x0 '* ]] ||
		wrong "no flush behind the last write: $(grep pci_nvme_io_cmd "$WORK/trace" | tail -n 3)"
	# The proof of a read reads its block twice. The proof of a write reads back before and after, and restores the old block.
	exactly "drive reads that went to the BAR" $((2 * MIB + 2 * 512 + 3 * 512)) "$(dma read gpu)"
	exactly "drive writes that came from the BAR" $((2 * MIB + 2 * 512)) "$(dma write gpu)"
	exactly "drive reads that went to DRAM" $((4 * MIB)) "$(dram read)"
	exactly "drive writes that came from DRAM" 0 "$(dram write)"
}

closed_on_a_slow_drive() {
	data_on_alpha $((8 * MIB))
	at_end "labctl slow alpha 0"
	"${QUEUE[@]}" closed-means-ended "$LAB_ALPHA"
}

# journalled data goes through the page cache: refused as a copy is.
refused_file() {
	with_file_system ext4 "$LAB_BETA" nodelalloc	# else ext4 ignores +j
	touch /mnt/fs/journalled
	chattr +j /mnt/fs/journalled
	random_file /mnt/fs/journalled $((8 * MIB))
	"${QUEUE[@]}" as-a-copy /mnt/fs/journalled >"$WORK/said" || fail "$(cat "$WORK/said")"
	matches "what both say" '^bounces .*would go through DRAM' "$(cat "$WORK/said")"
}

# The same, once requests are under way.
becomes_journalled() {
	with_file_system ext4 "$LAB_BETA" nodelalloc
	random_file /mnt/fs/file $((8 * MIB))
	sync /mnt/fs/file
	"${QUEUE[@]}" no-longer-direct /mnt/fs/file "chattr +j /mnt/fs/file"
}

on_a_stalled_drive() {
	modprobe -q dm-mod
	printf '0 16384 linear %s 2048\n' "$LAB_ALPHA" |
		dmsetup create queue --noudevsync >"$WORK/dmsetup" 2>&1 || fail "dmsetup: $(cat "$WORK/dmsetup")"
	at_end "dmsetup resume --noudevsync queue; dmsetup remove --noudevsync queue"
	"${QUEUE[@]}" stalled "/dev/dm-$(dmsetup info --noheadings -c -o minor queue)" queue
}

# Other programs use nearly all, or all, of this machine's requests for Linux AIO.
few_contexts() {
	local limit=/proc/sys/fs/aio-max-nr used
	used=$(</proc/sys/fs/aio-nr)
	at_end "echo $(<$limit) >$limit"
	echo $((used + 3)) >$limit
	of_queue straight
	echo "$used" >$limit
	exits 1 'io_uring is refused.*fs\.aio-max-nr' "${QUEUE[@]}" straight "$LAB_ALPHA"
}

# ends_with WHAT TEST COMMAND... - when the command takes the region away the program ends by itself, and says WHAT.
ends_with() {
	local what=$1 test=$2 pid
	shift 2
	data_on_alpha $((8 * MIB))
	"${QUEUE[@]}" "$test" "$LAB_ALPHA" "$REGISTERS" >"$WORK/seen" 2>"$WORK/err" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 60 grep -qx ready "$WORK/seen"
	in_background "$@"
	wait "$pid" || fail "the program: status $?, $(cat "$WORK/err")"
	event_succeeds
	equal "the last that it said" "$what" "$(tail -n 1 "$WORK/seen")"
}

# The region stays, and works with the drive that comes back.
drive_unplugged() {
	at_end "restore_drive alpha"
	ends_with drive-gone until-the-end labctl unplug alpha
	within 10 region_is_free p2pmem0
	restore_drive alpha
	copy_again
}

killed() {
	local pid
	data_on_alpha $((8 * MIB))
	"${QUEUE[@]}" until-the-end "$LAB_ALPHA" "$REGISTERS" >"$WORK/seen" &
	pid=$!
	within 60 grep -qx ready "$WORK/seen"
	kill -KILL "$pid"
	wait "$pid" || true
	within 20 region_is_free p2pmem0
	copy_again
}

for name in $(tests_of queue); do
	core t "$name" of_queue "$name"
done
core t "without io_uring" without_uring of_queue without-io-uring
for name in $(tests_of queue); do
	t "without io_uring: $name" without_uring of_queue "$name"
done
t "without io_uring: straight on a file" without_uring on_a_file straight
t "without io_uring: every byte counted" without_uring counted
t "without io_uring: a refusal is that of a copy" without_uring refused_file
t "without io_uring: a file that becomes journalled" without_uring becomes_journalled
t "without io_uring: killed in traffic" without_uring killed
t "without io_uring: closed while its reads are slow" without_uring closed_on_a_slow_drive
t "without io_uring: a drive that stands still" without_uring on_a_stalled_drive
t "without io_uring: few requests left" without_uring few_contexts
lt "without io_uring: the region is removed in traffic" without_uring ends_with region-gone until-the-end \
	donard-cli region remove p2pmem0
lt "without io_uring: the region is removed from an idle queue" without_uring ends_with ended idle-until-the-end \
	donard-cli region remove p2pmem0
core t "straight on a file" on_a_file straight
t "registered on a file" on_a_file registered
t "bounced-by-leave on a file" on_a_file bounced-by-leave
t "copies-between on a file" on_a_file copies-between
core t "every byte counted" counted
core t "closed while its reads are slow" closed_on_a_slow_drive
! can passthrough || core t "NVMe commands" of_queue passthrough
core t "a refusal is that of a copy" refused_file
core t "a file that becomes journalled" becomes_journalled
t "killed in traffic" killed
t "a drive that stands still" on_a_stalled_drive
core lt "the region is removed in traffic" ends_with region-gone until-the-end donard-cli region remove p2pmem0
lt "the drive is unplugged in traffic" drive_unplugged
lt "the region is removed from an idle queue" ends_with ended idle-until-the-end donard-cli region remove p2pmem0
