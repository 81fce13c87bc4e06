# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Files of every kind that ext4 and XFS know: each is copied past DRAM, by the emulator's trace, or refused by name with
# nothing changed. No silent bounce: a copy may say "bounced 0" only where the drives moved the bytes to and from the BAR.

readonly BYTES=$((2 * MIB))
readonly SOURCE=/mnt/fs/source TARGET=/mnt/fs/target
# The route is proven by a few blocks; what a file system writes beside the data is its own.
readonly PROOF=$((16 << 10)) METADATA=$((256 << 10))

# with_fs TYPE "MKFS-OPTION..." "MOUNT-OPTIONS" FUNCTION... - on drive beta.
with_fs() {
	local type=$1 mount=$3 force
	local -a mkfs
	read -ra mkfs <<<"$2"
	shift 3
	[[ $type == xfs ]] && force=-f || force=-F
	modprobe -q "$type" || true
	mkdir -p /mnt/fs
	"mkfs.$type" -q "$force" "${mkfs[@]}" "$LAB_BETA"
	mount -t "$type" -o "$mount" "$LAB_BETA" /mnt/fs
	at_end "umount /mnt/fs"
	"$@"
}

ext4() {
	with_fs ext4 "$@"
}

xfs() {
	with_fs xfs "$@"
}

# filled FILE [BYTES] - random bytes on the drive, none of them in the page cache.
filled() {
	random_file "$1" "${2:-$BYTES}"
	sync "$1"
	echo 3 >/proc/sys/vm/drop_caches
}

# moved_straight read|write BYTES BOUNCED - by the trace: all but BOUNCED bytes in the BAR, and no payload in DRAM.
moved_straight() {
	local seen dram
	read -r seen dram < <(jq -r ".bytes | \"\(.$1.gpu) \([.read, .write | .ram + .elsewhere] | add)\"" "$WORK/witness")
	((seen >= $2 - $3 && seen <= $2 + PROOF)) ||
		wrong "NVMe ${1}s in the BAR: expected $(($2 - $3)) bytes, seen $seen: $(cat "$WORK/witness")"
	((dram <= METADATA)) ||
		wrong "NVMe in DRAM: expected at most $METADATA bytes of metadata, seen $(cat "$WORK/witness")"
}

# out_of FILE [BYTES] - into the BAR, past DRAM.
out_of() {
	local bytes=${2:-$BYTES}
	watch_dma
	copy "$1" p2pmem0
	seen_dma
	result_is "$bytes" switch 0
	equal "how that is known" watched "$(field bounced_evidence)"
	moved_straight read "$bytes" 0
	same_bytes "the BAR" "$(backing gpu)" "$1" "$bytes"
}

# into FILE [BYTES [BOUNCED [ARG...]]] - out of the BAR.
into() {
	local file=$1 bytes=${2:-$BYTES} bounced=${3:-0}
	shift $(($# < 3 ? $# : 3))
	random_file "$WORK/data" "$bytes"
	regio write p2pmem0 0 "$bytes" "$WORK/data"
	watch_dma
	copy p2pmem0 "$file" --size "$bytes" "$@"
	seen_dma
	result_is "$bytes" switch "$bounced"
	moved_straight write "$bytes" "$bounced"
}

# holds_data FILE [BYTES]
holds_data() {
	echo 3 >/proc/sys/vm/drop_caches
	same_bytes "$1" "$1" "$WORK/data" "${2:-$BYTES}"
}

straight() {
	filled "$SOURCE"
	out_of "$SOURCE"
	into "$TARGET"
	equal "how that is known" watched "$(field bounced_evidence)"
	equal "durable, and why not" "true " "$(field durable) $(field durable_reason)"
	holds_data "$TARGET"
	into "$TARGET"
	holds_data "$TARGET"
}

# refused REGEX FROM TO - exit code 3, no data moved, and the file is as it was.
refused() {
	local file before folder
	[[ $2 == p2pmem* ]] && file=$3 || file=$2
	before=$(state_of "$file")
	folder=$(ls -A "$(dirname "$file")")
	watch_dma
	exits 3 "$1.*--allow-bounce" donard-cli copy "$2" "$3" --size "$BYTES"
	seen_dma
	exactly "bytes that were moved" "0 0" "$(dma read gpu) $(dma write gpu)"
	equal "state of $file" "$before" "$(state_of "$file")"
	equal "what is in its folder" "$folder" "$(ls -A "$(dirname "$file")")"
}

state_of() {
	[[ -e $1 ]] || { echo absent; return; }
	stat -c '%s %b %Y' "$1"
	cksum <"$1"
}

# counted FROM TO - with --allow-bounce all of it counts, whatever the file system does.
counted() {
	watch_dma
	copy "$1" "$2" --size "$BYTES" --allow-bounce
	seen_dma
	result_is "$BYTES" bounced "$BYTES"
	equal "how that is known" certain "$(field bounced_evidence)"
	exactly "bytes that drives moved at the BAR" "0 0" "$(dma read gpu) $(dma write gpu)"
}

# bounces REGEX SOURCE TARGET - neither goes straight.
bounces() {
	filled "$2"
	refused "$1" "$2" p2pmem0
	refused "$1" p2pmem0 "$3"
	filled "$3"
	refused "$1" p2pmem0 "$3"
	counted "$2" p2pmem0
	same_bytes "the BAR" "$(backing gpu)" "$2" "$BYTES"
	counted p2pmem0 "$3"
	same_bytes "$3" "$3" "$2" "$BYTES"
}

# Files inherit from their folder.
journalled_files() {
	mkdir /mnt/fs/j
	chattr +j /mnt/fs/j
	bounces 'attribute \+j' /mnt/fs/j/source /mnt/fs/j/target
}

# ext4 ignores +j with delayed allocation, and +c always.
ignored_flags() {
	local flag
	for flag in j c; do
		mkdir "/mnt/fs/$flag"
		chattr "+$flag" "/mnt/fs/$flag"
		filled "/mnt/fs/$flag/source"
		out_of "/mnt/fs/$flag/source"
		into "/mnt/fs/$flag/target"
		matches "attributes" "$flag" "$(lsattr "/mnt/fs/$flag/target" | cut -d' ' -f1)"
	done
}

verity() {
	filled "$SOURCE"
	fileprops verity "$SOURCE"
	refused 'fs-verity' "$SOURCE" p2pmem0
	counted "$SOURCE" p2pmem0
	same_bytes "the BAR" "$(backing gpu)" "$SOURCE" "$BYTES"
}

encrypted() {
	mkdir /mnt/fs/e
	fileprops encrypt /mnt/fs/e
	bounces 'encrypted' /mnt/fs/e/source /mnt/fs/e/target
}

inline_data() {
	straight
	echo "a few bytes" >/mnt/fs/few
	sync /mnt/fs/few
	refused 'inline_data' p2pmem0 /mnt/fs/few
	exits 3 'inline_data.*--allow-bounce' donard-cli copy /mnt/fs/few p2pmem0
}

# Reads go straight, and so would writes but for the holes.
without_extents() {
	filled "$SOURCE"
	out_of "$SOURCE"
	refused 'block by block' p2pmem0 "$TARGET"
	truncate -s "$BYTES" "$TARGET"
	refused 'block by block' p2pmem0 "$TARGET"
	counted p2pmem0 "$TARGET"
}

sparse_files() {
	truncate -s "$BYTES" /mnt/fs/hole
	into /mnt/fs/hole
	holds_data /mnt/fs/hole
	fallocate -l "$BYTES" /mnt/fs/unwritten
	into /mnt/fs/unwritten
	holds_data /mnt/fs/unwritten
	truncate -s "$BYTES" /mnt/fs/empty
	watch_dma
	copy /mnt/fs/empty p2pmem0
	seen_dma
	exactly "bytes that a drive moved of a hole" 0 "$(dma read gpu)"
	result_is "$BYTES" switch 0
	same_bytes "what the region has of a hole" "$(backing gpu)" /mnt/fs/empty "$BYTES"
}

# The last bytes are written alone, and not merged with what another program may write beside them.
tails() {
	into /mnt/fs/a $((MIB + 123)) 123
	holds_data /mnt/fs/a $((MIB + 123))
	out_of /mnt/fs/a $((MIB + 123))
	into /mnt/fs/b $((MIB + 512)) 0
	into /mnt/fs/c $((MIB + 4096)) 0
	filled /mnt/fs/d
	into /mnt/fs/d $((MIB + 123)) 123
	exactly "kept" $((BYTES - MIB - 123)) "$(field kept_bytes)"
	equal "length" "$BYTES" "$(stat -c %s /mnt/fs/d)"
}

# All of the source is all of the file; beside a part the rest is kept, and the result says how much.
length_of_file() {
	filled "$SOURCE" "$MIB"
	filled "$TARGET" $((3 * MIB))
	copy "$SOURCE" "$TARGET" --via p2pmem0 --verify
	equal "length" "$MIB" "$(stat -c %s "$TARGET")"
	same_bytes "$TARGET" "$TARGET" "$SOURCE" "$MIB"
	exactly "kept" 0 "$(field kept_bytes)"
	filled "$TARGET" $((3 * MIB))
	exits 0 'kept +1 MiB' donard-cli copy "$SOURCE" "$TARGET" --via p2pmem0 --dst-offset 1M
	equal "length" $((3 * MIB)) "$(stat -c %s "$TARGET")"
	exits 0 'kept +2 MiB' donard-cli copy "$SOURCE" "$TARGET" --via p2pmem0 --dst-offset 0
	equal "length from an offset of 0" $((3 * MIB)) "$(stat -c %s "$TARGET")"
}

# copy_appended BYTES LENGTH - a copy of SOURCE into TARGET, to which another program adds in the middle until it
# has that length. Prints "done", or the code of the failure.
copy_appended() {
	python3 - "$SOURCE" "$TARGET" "$2" "$1" <<-'END'
		import donard, os, sys
		source, target, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
		def progress(phase, done, total):
		    if done and os.stat(target).st_size < length:
		        os.truncate(target, length)
		try:
		    donard.copy(source, target, via="p2pmem0", block_bytes=65536, progress=progress, length_bytes=int(sys.argv[4]))
		    print("done")
		except donard.Error as error:
		    print(error.code)
	END
}

# Bytes that another program appends to the file stay, even if the copy would have truncated it.
appended() {
	filled "$SOURCE" $((4 * MIB))
	filled "$TARGET" $((8 * MIB))
	cp "$TARGET" "$WORK/before"
	equal "a part" 'done' "$(copy_appended $((4 * MIB)) $((16 * MIB)))"
	equal "length after a part" $((16 * MIB)) "$(stat -c %s "$TARGET")"
	same_bytes "the copy" "$TARGET" "$SOURCE" $((4 * MIB))
	same_bytes "behind it" "$TARGET" "$WORK/before" $((4 * MIB)) $((4 * MIB)) $((4 * MIB))
	truncate -s 8M "$TARGET"
	equal "all of it" busy "$(copy_appended 0 $((16 * MIB)))"
	equal "length after all of it" $((16 * MIB)) "$(stat -c %s "$TARGET")"
	truncate -s 2M "$TARGET"
	equal "grown by both" 'done' "$(copy_appended $((4 * MIB)) $((3 * MIB)))"
	equal "length after both" $((4 * MIB)) "$(stat -c %s "$TARGET")"
	same_bytes "the copy that grew" "$TARGET" "$SOURCE" $((4 * MIB))
}

# Two copies into adjacent parts of a file, one of them behind its end.
side_by_side() {
	local first
	filled "$SOURCE" $((4 * MIB))
	filled "$TARGET" $((4 * MIB))
	donard-cli copy "$SOURCE" "$TARGET" --via p2pmem0 --dst-offset 4M --block-size 64K >"$WORK/first" 2>&1 &
	first=$!
	at_end "kill -KILL $first 2>/dev/null"
	copy "$SOURCE" "$TARGET" --via p2pmem0 --size 4M --block-size 64K
	wait "$first" || fail "the first copy failed: $(cat "$WORK/first")"
	equal "length" $((8 * MIB)) "$(stat -c %s "$TARGET")"
	same_bytes "the first part" "$TARGET" "$SOURCE" $((4 * MIB))
	same_bytes "the second part" "$TARGET" "$SOURCE" $((4 * MIB)) $((4 * MIB)) 0
}

# copy_while ACTION [OPTION] - copies SOURCE into TARGET, and a shell runs ACTION in the middle. Prints "CODE BYTES EVIDENCE": "done" or the
# code of the failure, and the bytes that count as bounced.
copy_while() {
	python3 - "$SOURCE" "$TARGET" "$@" <<-'END'
		import donard, subprocess, sys
		source, target, action, *allow = sys.argv[1:]
		todo = [action]
		def progress(phase, done, total):
		    if done >= total // 2 and todo:
		        subprocess.run(todo.pop(), shell=True, check=True)
		try:
		    result = donard.copy(source, target, via="p2pmem0", block_bytes=65536, queue_depth=1, progress=progress,
		                         allow_bounce=bool(allow))
		    print("done", result.bounced_bytes, result.bounced_evidence)
		except donard.Error as error:
		    print(error.code, error.result.bounced_bytes, error.result.bounced_evidence)
	END
}

# Bytes that are gone again, or that no name leads to, were not copied.
taken_away() {
	local action
	filled "$SOURCE" $((4 * MIB))
	for action in "truncate -s 0 $TARGET" "fallocate --punch-hole --offset 64K --length 64K $TARGET" "fallocate --zero-range --offset 64K --length 64K $TARGET" \
		"rm $TARGET" "cp $SOURCE /mnt/fs/other; mv /mnt/fs/other $TARGET" "mv $TARGET /mnt/fs/moved"; do
		filled "$TARGET" $((4 * MIB))
		matches "$action" '^busy ' "$(copy_while "$action")"
	done
	filled "$TARGET" $((4 * MIB))
	matches "nothing" '^done 0 watched' "$(copy_while true)"
	same_bytes "the copy" "$TARGET" "$SOURCE" $((4 * MIB))
}

# It is unknown since when the file system journals the data, so all bytes count as bounced. The copy succeeds if that is allowed.
journalled_meanwhile() {
	filled "$SOURCE" $((4 * MIB))
	filled "$TARGET" $((4 * MIB))
	equal "refused" "bounces $((4 * MIB)) at-most" "$(copy_while "chattr +j $TARGET")"
	chattr -j "$TARGET"
	equal "allowed" "done $((4 * MIB)) at-most" "$(copy_while "chattr +j $TARGET" allow)"
	same_bytes "the copy" "$TARGET" "$SOURCE" $((4 * MIB))
}

# without_proc USER ARGUMENT... - of donard-cli.
without_proc() {
	# shellcheck disable=SC2016  # the inner shell's own
	unshare --mount sh -c 'umount -l /proc && exec setpriv --reuid "$0" --regid "$0" --init-groups -- donard-cli "$@"' "$@"
}

# Before Linux 6.10 an ordinary user can give an open file a name only by way of /proc.
new_file_without_proc() {
	local new=/mnt/fs/folder/new
	mkdir /mnt/fs/folder
	chmod 777 /mnt/fs/folder
	without_proc root copy p2pmem0 "$new" --size "$BYTES"
	rm "$new"
	if can linkat; then
		without_proc user copy p2pmem0 "$new" --size "$BYTES"
	else
		exits 3 "$new: the new file cannot be given its name: .*/proc" without_proc user copy p2pmem0 "$new" --size "$BYTES"
		[[ ! -e $new ]] || fail "the file was made"
	fi
}

# stopped_copy SIGNAL TARGET - gets that signal in the middle.
stopped_copy() {
	: >"$WORK/copy"
	stopat "$(readlink -f /usr/lib/libdonard.so)" dnd_copy_progress 4 \
		donard-cli copy p2pmem0 "$2" --size 8M --block-size 64K --queue-depth 2 >"$WORK/copy" 2>&1 &
	at_end "kill -KILL $! 2>/dev/null"
	within 30 grep -qx stopped "$WORK/copy"
	kill "-$1" $!
	wait $! || true
}

# A file is never longer than the copied bytes, and a new one does not exist before it is complete.
killed() {
	local used length
	used=$(stat -f -c %f /mnt/fs)
	random_file "$WORK/data" $((8 * MIB))
	regio write p2pmem0 0 $((8 * MIB)) "$WORK/data"
	stopped_copy KILL /mnt/fs/new
	[[ ! -e /mnt/fs/new ]] || fail "a copy that was killed left $(stat -c %s /mnt/fs/new) bytes under the new name"
	sync -f /mnt/fs
	within 10 eval "(( \$(stat -f -c %f /mnt/fs) >= $used - 16 ))"
	filled "$TARGET" 4096
	stopped_copy KILL "$TARGET"
	length=$(stat -c %s "$TARGET")
	((length >= 4096 && length < 8 * MIB)) || wrong "length of the file: expected less than 8 MiB, seen $length"
	((length == 4096)) || same_bytes "what it has" "$TARGET" "$WORK/data" "$length"
}

reached_otherwise() {
	filled "$SOURCE"
	ln "$SOURCE" /mnt/fs/link
	out_of /mnt/fs/link
	mkdir -p /mnt/bound
	mount --bind /mnt/fs /mnt/bound
	at_end "umount /mnt/bound"
	out_of /mnt/bound/source
	chattr +i "$SOURCE"
	at_end "chattr -i $SOURCE"
	out_of "$SOURCE"
}

# Refusals that apply to root as well are not about permissions.
# kept_from DESTINATION REGEX [ARGUMENT...] - a copy is refused so, before its first write.
kept_from() {
	exits 1 "$1: .*$2" donard-cli copy p2pmem0 "$1" --size "$BYTES" "${@:3}"
	head -c "$BYTES" "$1" | cmp - "$WORK/before" || wrong "$1 was changed"
}

# Without this, reclaim might write to the swap space whose bytes are compared.
without_swapping() {
	at_end "echo $(cat /proc/sys/vm/swappiness) >/proc/sys/vm/swappiness"
	echo 0 >/proc/sys/vm/swappiness
}

# Files that the kernel writes to or runs may be read, but not written.
used_by_the_kernel() {
	local place
	filled "$TARGET"
	chmod 600 "$TARGET"
	without_swapping
	at_end "swapoff $TARGET $LAB_ALPHA 2>/dev/null"
	for place in "$TARGET" "$LAB_ALPHA"; do
		mkswap "$place"
		sync "$place"
		swapon "$place"
		head -c "$BYTES" "$place" >"$WORK/before"
		kept_from "$place" swap
		kept_from "$place" 'swap space that is in use.*swapoff' --allow-bounce
		copy "$place" p2pmem0 --size "$BYTES"
		same_bytes "the BAR" "$(backing gpu)" "$WORK/before" "$BYTES"
		swapoff "$place"
	done
	kept_back_longer
	into "$TARGET"
}

kept_back_longer() {
	swapon "$TARGET"
	head -c "$BYTES" "$TARGET" >"$WORK/before"
	exits 1 "$TARGET: cannot be written: it is swap space.*swapoff" donard-cli copy p2pmem0 "$TARGET" --size $((2 * BYTES))
	equal "its length" "$BYTES" "$(stat -c %s "$TARGET")"
	swapoff "$TARGET"
}

below_a_loop_device() {
	local place loop
	modprobe -q loop || true
	filled "$TARGET"
	for place in "$TARGET" "$LAB_ALPHA"; do
		loop=$(losetup --find --show "$place")
		at_end "losetup --detach $loop 2>/dev/null"
		head -c "$BYTES" "$place" >"$WORK/before"
		kept_from "$place" "the loop device ${loop#/dev/} lies on it.*losetup -d $loop"
		losetup --detach "$loop"
		within 10 test ! -e "/sys/block/${loop#/dev/}/loop/backing_file"
	done
	# The name is gone, but it was not this file's only one.
	ln "$TARGET" "$TARGET.link"
	loop=$(losetup --find --show "$TARGET.link")
	at_end "losetup --detach $loop 2>/dev/null"
	rm "$TARGET.link"
	head -c "$BYTES" "$TARGET" >"$WORK/before"
	kept_from "$TARGET" "the loop device ${loop#/dev/} lies on it"
	losetup --detach "$loop"
	within 10 test ! -e "/sys/block/${loop#/dev/}/loop/backing_file"
	into "$TARGET"
}

# The shell, because other programs may do another thing under another name.
program_that_runs() {
	cp "$BASH" "$TARGET"
	sync "$TARGET"
	# shellcheck disable=SC2016  # its own number
	"$TARGET" -c 'kill -STOP $$' &
	at_end "kill -KILL $!; wait $!"
	within 10 test "/proc/$!/exe" -ef "$TARGET"
	cp "$TARGET" "$WORK/before"
	kept_from "$TARGET" 'cannot be opened for writing: it is a program that runs'
}

protected_files() {
	filled "$TARGET"
	chattr +i "$TARGET"
	at_end "chattr -ia $TARGET"
	exits 1 "$TARGET: cannot be opened for writing: it is immutable.*chattr -i" donard-cli copy p2pmem0 "$TARGET" --size "$BYTES"
	chattr -i "$TARGET"
	chattr +a "$TARGET"
	exits 1 "$TARGET: .*can only be appended to.*chattr -a" donard-cli copy p2pmem0 "$TARGET" --size "$BYTES"
	out_of "$TARGET"
	mkdir /mnt/fs/folder
	chattr +i /mnt/fs/folder
	at_end "chattr -ia /mnt/fs/folder"
	exits 1 "new: cannot be created in /mnt/fs/folder: it is immutable.*chattr -i" donard-cli copy p2pmem0 /mnt/fs/folder/new --size "$BYTES"
	chattr -i /mnt/fs/folder
	chattr +a /mnt/fs/folder
	into /mnt/fs/folder/new
}

# Pages of the file in the page cache do not matter, whether clean or dirty.
cached_before() {
	filled "$SOURCE"
	cat "$SOURCE" >/dev/null
	out_of "$SOURCE"
	filled "$TARGET"
	cat "$TARGET" >/dev/null
	into "$TARGET"
	holds_data "$TARGET"
	random_file "$SOURCE" "$BYTES"
	copy "$SOURCE" p2pmem0
	result_is "$BYTES" switch 0
	same_bytes "the BAR" "$(backing gpu)" "$SOURCE" "$BYTES"
}

shared_blocks() {
	straight
	cp --reflink=always "$SOURCE" /mnt/fs/shared
	out_of /mnt/fs/shared
	# Linux 7 tells the alignment of writes, which are of whole blocks, from that of reads.
	exits 0 'route +switch' donard-cli copy /mnt/fs/shared p2pmem0 --src-offset 512 --size 512
	into /mnt/fs/shared
	holds_data /mnt/fs/shared
	cp --reflink=always "$SOURCE" /mnt/fs/unaligned
	exits 1 'multiple of 4096, the block size of the file system' donard-cli copy p2pmem0 /mnt/fs/unaligned --size 512 --dst-offset 512
	same_bytes "the shared file" /mnt/fs/unaligned "$SOURCE" "$BYTES"
}

# Drives that are formatted with checksums want stable pages. From Linux 7 on XFS then copies through pages of its own.
stable_pages() {
	local knob
	knob=/sys/block/${LAB_BETA##*/}/queue/stable_writes
	echo 1 >"$knob"
	at_end "echo 0 >$knob"
	"$@"
}

# Another program reads the file all the while: no copy fails because of that, and none claims more than it knows.
beside_a_reader() {
	local round
	filled "$SOURCE" $((8 * MIB))
	: >"$WORK/reading"
	while [[ -e $WORK/reading ]]; do
		dd if="$SOURCE" bs=1M of=/dev/null status=none
		dd if="$SOURCE" iflag=nocache count=0 status=none
	done &
	# Not ended by a signal: a dd that outlives its shell would keep the file system from being unmounted.
	at_end "rm $WORK/reading; wait $!"
	for ((round = 0; round < 5; round++)); do
		copy "$SOURCE" p2pmem0 --verify
		equal "route" switch "$(field route)"
		case $(field bounced_evidence) in
		watched | stated) exactly "bounced" 0 "$(field bounced_bytes)" ;;
		at-most) (($(field bounced_bytes) > 0)) || fail "at most 0 bytes: $RESULT" ;;
		*) fail "how is that known? $RESULT" ;;
		esac
	done
}

# A user who may only read the file cannot see its page cache, so only the file system's statement remains.
by_a_mere_reader() {
	filled "$SOURCE"
	chmod 644 "$SOURCE"
	RESULT=$(as user donard-cli copy --json "$SOURCE" p2pmem0) || fail "status $?: $RESULT"
	result_is "$BYTES" switch 0
	equal "how that is known" stated "$(field bounced_evidence)"
}

whole_drives() {
	watch_dma
	copy "$LAB_BETA" p2pmem0 --size "$BYTES"
	equal "how that is known" watched "$(field bounced_evidence)"
	copy p2pmem0 "$LAB_BETA" --size "$BYTES"
	equal "how that is known" watched "$(field bounced_evidence)"
	seen_dma
	moved_straight read "$BYTES" 0
	moved_straight write "$BYTES" 0
	copy p2pmem0 p2pmem1 --size "$BYTES"
	equal "how that is known" certain "$(field bounced_evidence)"
}

# other_place PATH - a file that no NVMe drive holds by a file system that is known.
other_place() {
	exits 1 "$1.*(not an NVMe|ext4 or xfs)" donard-cli copy p2pmem0 "$1" --size "$MIB"
	[[ ! -e $1 ]] || fail "$1 was made"
}

other_places() {
	other_place /dev/shm/file
	other_place /root/file
	modprobe -q loop || true
	truncate -s 64M /mnt/fs/image
	mkfs.ext4 -q /mnt/fs/image
	mkdir -p /mnt/image /mnt/fs/{lower,upper,work} /mnt/over
	mount -o loop /mnt/fs/image /mnt/image
	at_end "umount /mnt/image"
	other_place /mnt/image/file
	mount -t overlay -o lowerdir=/mnt/fs/lower,upperdir=/mnt/fs/upper,workdir=/mnt/fs/work none /mnt/over
	at_end "umount /mnt/over"
	other_place /mnt/over/file
}

# Bytes that stay in the page cache would be compared with themselves.
cached_verify() {
	filled "$TARGET"
	random_file "$WORK/data" "$BYTES"
	regio write p2pmem0 0 "$BYTES" "$WORK/data"
	copy p2pmem0 "$TARGET" --size "$BYTES" --allow-bounce --verify
	equal "verified" true "$(field verified)"
	python3 -c 'import mmap, sys, time
file = open(sys.argv[1], "rb")
map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
sum(map[::4096])
print("ready", flush=True)
time.sleep(1000)' "$TARGET" >"$WORK/mapper" &
	at_end "kill -KILL $! 2>/dev/null"
	within 30 grep -q ready "$WORK/mapper"
	exits 1 'stay in the page cache' donard-cli copy p2pmem0 "$TARGET" --size "$BYTES" --allow-bounce --verify
	holds_data "$TARGET"
}

# realtime_once_open FILE - an empty file may become one at any time.
realtime_once_open() {
	python3 - "$1" <<-'END'
		import donard, subprocess, sys
		with donard.Context() as context, context.queue() as queue:
		    memory = context.alloc("p2pmem0", 1 << 20)
		    file = context.open(sys.argv[1], create=True, write=True)
		    subprocess.run(["xfs_io", "-c", "chattr +r", sys.argv[1]], check=True)
		    for write in (lambda: context.copy(memory, file), lambda: (queue.write(file, memory), queue.wait()[0].check())):
		        try:
		            write()
		            sys.exit("a file of the realtime section was written")
		        except donard.Error as error:
		            assert "realtime section" in str(error), error
	END
}

# Their bytes are on a device that neither st_dev nor the mount names: a loop device in DRAM, here.
realtime() {
	local loop file=/mnt/fs/folder/file
	modprobe -q loop || true
	modprobe -q xfs || true
	truncate -s 64M "$WORK/realtime"
	loop=$(losetup --find --show "$WORK/realtime")
	at_end "losetup --detach $loop"
	mkdir -p /mnt/fs
	mkfs.xfs -q -f -m reflink=0,rmapbt=0 -r rtdev="$loop" "$LAB_BETA"
	mount -t xfs -o rtdev="$loop" "$LAB_BETA" /mnt/fs
	at_end "umount /mnt/fs"
	mkdir /mnt/fs/folder
	xfs_io -c 'chattr +t' /mnt/fs/folder
	watch_dma
	exits 3 'realtime section' donard-cli copy p2pmem0 "$file" --size "$BYTES"
	[[ ! -e $file ]] || fail "a copy that was refused made its destination"
	filled "$file"
	exits 3 'realtime section' donard-cli copy "$file" p2pmem0
	exits 3 'realtime section' donard-cli copy "$file" p2pmem0 --allow-bounce
	exits 3 'realtime section' donard-cli copy p2pmem0 "$file" --size "$BYTES"
	realtime_once_open /mnt/fs/later
	seen_dma
	exactly "bytes that drives moved at the BAR" "0 0" "$(dma read gpu) $(dma write gpu)"
	# A file without the folder's attribute lies on the file system's own device.
	filled "$SOURCE"
	out_of "$SOURCE"
}

# The file system flushes no drive: the copied bytes are there, but are not called durable.
not_flushed() {
	filled "$SOURCE"
	out_of "$SOURCE"
	into "$TARGET"
	equal durable false "$(field durable)"
	matches "why not" 'mounted with nobarrier' "$(field durable_reason)"
}

# by_superblock DEFAULTS FUNCTION... - mounted by defaults of ext4's superblock, which no list of mounts has.
by_superblock() {
	umount /mnt/fs
	tune2fs -o "$1" "$LAB_BETA" >/dev/null
	mount -t ext4 "$LAB_BETA" /mnt/fs
	shift
	"$@"
}

# The journal, which fsync() writes to, lies on another device, here in DRAM.
journal_elsewhere() {
	local journal
	modprobe -q loop || true
	truncate -s 32M "$WORK/journal"
	journal=$(losetup --find --show "$WORK/journal")
	at_end "losetup --detach $journal"
	mkdir -p /mnt/fs
	case $1 in
	ext4)
		mke2fs -q -F -b 4096 -O journal_dev "$journal"
		mkfs.ext4 -q -F -b 4096 -J device="$journal" "$LAB_BETA"
		mount -t ext4 "$LAB_BETA" /mnt/fs
		;;
	xfs)
		truncate -s 128M "$WORK/journal"
		losetup --set-capacity "$journal"
		mkfs.xfs -q -f -l logdev="$journal" "$LAB_BETA"
		mount -t xfs -o logdev="$journal" "$LAB_BETA" /mnt/fs
		;;
	esac
	at_end "umount /mnt/fs"
	random_file "$WORK/data" "$MIB"
	regio write p2pmem0 0 "$MIB" "$WORK/data"
	copy p2pmem0 /mnt/fs/new --size "$MIB"
	equal durable false "$(field durable)"
	matches "why not" 'lies on another device' "$(field durable_reason)"
}

# journal_is_kept TYPE PATTERN - a drive with a journal is protected, though it has no mount of its own, and an adopted descriptor need
# not have O_EXCL.
journal_is_kept() {
	local -a mount=(mount -t "$1" "$LAB_BETA" /mnt/fs)
	modprobe -q "$1" || true
	mkdir -p /mnt/fs
	at_end "wipefs -qa $LAB_ALPHA"
	if [[ $1 == xfs ]]; then
		mkfs.xfs -q -f -l logdev="$LAB_ALPHA",size=64m "$LAB_BETA"
		mount+=(-o "logdev=$LAB_ALPHA")
	else
		mke2fs -q -F -b 4096 -O journal_dev "$LAB_ALPHA" 8192
		mkfs.ext4 -q -F -b 4096 -J device="$LAB_ALPHA" "$LAB_BETA"
	fi
	"${mount[@]}"
	at_end "umount /mnt/fs 2>/dev/null"
	python3 - "$LAB_ALPHA" "$2" "${mount[@]}" <<-'END'
		import donard, os, re, subprocess, sys
		drive, pattern, mount = sys.argv[1], sys.argv[2], sys.argv[3:]
		with donard.Context() as context:
		    fd = os.open(drive, os.O_RDWR | os.O_DIRECT)
		    try:
		        context.adopt_file(fd)
		        sys.exit("the drive of a journal was taken")
		    except donard.Error as error:
		        assert re.search(pattern, str(error)), error
		    subprocess.run(["umount", "/mnt/fs"], check=True)
		    with context.adopt_file(fd):
		        assert subprocess.run(mount).returncode, "a file system's journal is a drive that is adopted"
		    os.close(fd)
		    subprocess.run(mount, check=True)
	END
}

core t "ext4" ext4 "" rw straight
t "ext4, nobarrier" ext4 "" nobarrier not_flushed
t "ext4, nobarrier by its superblock" ext4 "" rw by_superblock nobarrier not_flushed
t "ext4, journal on another device" journal_elsewhere ext4
t "xfs, log on another device" journal_elsewhere xfs
t "ext4, drive of a journal" journal_is_kept ext4 'it is the journal of an ext4 that is mounted'
t "xfs, drive of a log" journal_is_kept xfs 'it is mounted at /mnt/fs'
t "ext4, partial last blocks" ext4 "" rw tails
t "ext4, cached before" ext4 "" rw cached_before
core t "ext4, data=journal" ext4 "" data=journal bounces "data=journal" "$SOURCE" "$TARGET"
t "ext4, data=journal by its superblock" ext4 "" rw by_superblock journal_data bounces "data=journal" "$SOURCE" "$TARGET"
t "ext4, data=journal, verified" ext4 "" data=journal cached_verify
t "ext4, +j" ext4 "" nodelalloc journalled_files
t "ext4, fs-verity" ext4 "-O verity" rw verity
t "ext4, encrypted" ext4 "-O encrypt" rw encrypted
t "ext4, inline data" ext4 "-O inline_data -I 512" rw inline_data
t "ext4, no extents" ext4 "-O ^extents,^64bit,^metadata_csum" rw without_extents
t "xfs" xfs "" rw straight
t "xfs, realtime section" realtime
t "xfs, shared blocks" xfs "-m reflink=1" rw shared_blocks
t "ext4, new file without /proc" ext4 "" rw new_file_without_proc
t "xfs, stable pages" stable_pages xfs "" rw bounces "stable pages" "$SOURCE" "$TARGET"
core t "whole drives" whole_drives
# The same ways in and out of the page cache, with other words.
can thorough || return 0
t "ext4, sparse and unwritten" ext4 "" rw sparse_files
t "ext4, length of a file" ext4 "" rw length_of_file
t "ext4, file that grows meanwhile" ext4 "" rw appended
t "xfs, file that grows meanwhile" xfs "" rw appended
t "ext4, taken away meanwhile" ext4 "" rw taken_away
t "xfs, taken away meanwhile" xfs "" rw taken_away
t "ext4, +j meanwhile" ext4 "" nodelalloc journalled_meanwhile
t "ext4, two copies into one file" ext4 "" rw side_by_side
core t "ext4, killed copy" ext4 "" rw killed
t "xfs, killed copy" xfs "" rw killed
t "ext4, hard links, bind mounts, immutable" ext4 "" rw reached_otherwise
t "ext4, immutable and append-only" ext4 "" rw protected_files
t "xfs, immutable and append-only" xfs "" rw protected_files
t "ext4, swap space" ext4 "" rw used_by_the_kernel
t "xfs, swap space" xfs "" rw used_by_the_kernel
t "ext4, a loop device on it" ext4 "" rw below_a_loop_device
t "ext4, program that runs" ext4 "" rw program_that_runs
t "ext4, flags that it ignores" ext4 "" rw ignored_flags
t "ext4, bigalloc" ext4 "-O bigalloc -C 65536" rw straight
t "ext4, blocks of 1 KiB" ext4 "-b 1024" rw straight
t "ext4, quota" ext4 "-O quota" usrquota straight
t "ext4, dioread_lock" ext4 "" dioread_lock sparse_files
t "ext4, stable pages" stable_pages ext4 "" rw straight
t "ext4, beside a reader" ext4 "" rw beside_a_reader
t "ext4, by a mere reader" ext4 "" rw by_a_mere_reader
t "xfs, sparse and unwritten" xfs "" rw sparse_files
t "xfs, partial last blocks" xfs "" rw tails
t "xfs, quota and blocks of 1 KiB" xfs "-b size=1024 -m reflink=0" uquota straight
t "whole drives, stable pages" stable_pages whole_drives
t "elsewhere" ext4 "" rw other_places
