# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# donard-cli copy in every direction and page type, checked without donard: drives by dd, the BAR and
# the PMR by the files behind them on the host, the CMB by the CPU.
#
# Sides: alpha and beta (drives, from 16 MiB on), bar, cmb, pmr (regions, from 2 MiB on), file.

# shellcheck source=helpers/held_copy.sh
. helpers/held_copy.sh

readonly DRIVE_AT=16 REGION_AT=2
readonly BYTES=$((4 * MIB))

region_of_side() {
	case $1 in
	bar) echo p2pmem0 ;;
	cmb) echo p2pmem1 ;;
	pmr) echo p2pmem2 ;;
	*) return 1 ;;
	esac
}

# put SIDE FILE - fills a side with the bytes of FILE.
put() {
	case $1 in
	alpha | beta) put_on_drive "$2" "$(drive_of "$1")" "$DRIVE_AT" ;;
	file) cp "$2" /mnt/fs/source; sync /mnt/fs/source ;;
	*) regio write "$(region_of_side "$1")" $((REGION_AT * MIB)) "$(stat -c %s "$2")" "$2" ;;
	esac
}

# holds SIDE FILE - the side's bytes are those of FILE.
holds() {
	local bytes skip=$((REGION_AT * MIB))
	bytes=$(stat -c %s "$2")
	case $1 in
	alpha | beta)
		take_from_drive "$(drive_of "$1")" "$DRIVE_AT" "$bytes" "$WORK/seen"
		same_bytes "$1" "$WORK/seen" "$2" "$bytes"
		;;
	bar) same_bytes "host's view of the BAR" "$(backing gpu)" "$2" "$bytes" "$skip" ;;
	pmr) same_bytes "host's view of the PMR" "$(backing beta)" "$2" "$bytes" "$skip" ;;
	cmb)
		regio read p2pmem1 "$skip" "$bytes" "$WORK/seen"
		same_bytes cmb "$WORK/seen" "$2" "$bytes"
		;;
	file)
		exactly "length of the file" "$bytes" "$(stat -c %s /mnt/fs/target)"
		same_bytes file /mnt/fs/target "$2" "$bytes"
		;;
	esac
}

# name_of SIDE source|target - prints the name for donard-cli.
name_of() {
	case $1 in
	alpha | beta) drive_of "$1" ;;
	file) echo "/mnt/fs/$2" ;;
	*) echo "$(region_of_side "$1")+${REGION_AT}M" ;;
	esac
}

# move FROM TO BYTES [ARG...]
move() {
	local from=$1 to=$2 bytes=$3
	local -a offsets=()
	shift 3
	[[ $from != alpha && $from != beta ]] || offsets+=(--src-offset "${DRIVE_AT}M")
	[[ $to != alpha && $to != beta ]] || offsets+=(--dst-offset "${DRIVE_AT}M")
	copy "$(name_of "$from" source)" "$(name_of "$to" target)" --size "$bytes" "${offsets[@]}" "$@"
}

route_between() {
	case $1-$2 in
	bar-bar | bar-cmb | bar-pmr | cmb-bar | cmb-pmr | pmr-bar | pmr-cmb) echo cpu ;;
	*) echo switch ;;
	esac
}

# direction FROM TO [BYTES [ARG...]]
direction() {
	local from=$1 to=$2 bytes=${3:-$BYTES} route bounced=0
	shift $(($# < 3 ? $# : 3))
	route=$(route_between "$from" "$to")
	random_file "$WORK/data" "$bytes"
	put "$from" "$WORK/data"
	move "$from" "$to" "$bytes" --verify "$@"
	# A new file that ends within a block: the file system completes the block, in DRAM.
	[[ $to != file ]] || bounced=$((bytes % 4096))
	result_is "$bytes" "$route" "$bounced"
	equal "verified" true "$(field verified)"
	holds "$to" "$WORK/data"
}

bar_to_bar() {
	random_file "$WORK/data" "$BYTES"
	put bar "$WORK/data"
	copy p2pmem0+2M p2pmem0+64M --size "$BYTES" --verify
	result_is "$BYTES" cpu 0
	same_bytes "the copy" "$(backing gpu)" "$WORK/data" "$BYTES" $((64 * MIB))
	holds bar "$WORK/data"
}

# moved_within SIDE FROM TO BYTES [ARG...] - moves bytes within a region that holds $WORK/data, and changes that file to the expected
# content.
moved_within() {
	local side=$1 from=$2 to=$3 bytes=$4 name
	shift 4
	name=$(region_of_side "$side")
	dd if="$WORK/data" of="$WORK/data" bs=16K skip="$from" seek="$to" count="$bytes" iflag=skip_bytes,count_bytes \
		oflag=seek_bytes conv=notrunc status=none
	copy "$name+$((REGION_AT * MIB + from))" "$name+$((REGION_AT * MIB + to))" --size "$bytes" "$@"
	result_is "$bytes" cpu 0
	holds "$side" "$WORK/data"
}

# within_a_page SIDE - two places that share a page, which has one owner: side by side, and sharing bytes, as in memmove().
within_a_page() {
	random_file "$WORK/data" 16384
	put "$1" "$WORK/data"
	moved_within "$1" 0 5000 5000 --verify
	moved_within "$1" 12000 9000 3000 --verify
	moved_within "$1" 100 300 9000
	moved_within "$1" 5000 4900 9000
}

# on_fs TYPE FUNCTION...
on_fs() {
	with_file_system "$1"
	shift
	"$@"
}

file_directions() {
	direction file bar
	direction bar file
	rm /mnt/fs/target
	direction file file "$BYTES" --via p2pmem0
	rm /mnt/fs/target
	direction file alpha "$BYTES" --via p2pmem0
	direction alpha file "$BYTES" --via p2pmem0
}

# A file's tail is no multiple of any block.
file_tails() {
	direction file bar $((MIB + 123))
	direction bar file $((MIB + 4095))
	rm /mnt/fs/target
	direction file file $((MIB + 1)) --via p2pmem0
	direction file bar 7
}

# tail_on_drive direction|passed - what lies behind the last byte of a copy stays.
tail_on_drive() {
	local bytes=$((MIB + 123))
	random_file "$WORK/before" $((2 * MIB))
	put beta "$WORK/before"
	"$1" bar beta "$bytes"
	take_from_drive "$LAB_BETA" "$DRIVE_AT" $((2 * MIB)) "$WORK/after"
	same_bytes "bytes behind the copy" "$WORK/before" "$WORK/after" $((2 * MIB - bytes)) \
		"$bytes" "$bytes"
}

# Persistent memory has no spare block, as a region has none whose memory is all taken: the last bytes go by way of DRAM.
tail_from_pmr() {
	local bytes=$((MIB + 123))
	random_file "$WORK/before" $((2 * MIB))
	put alpha "$WORK/before"
	random_file "$WORK/data" "$bytes"
	put pmr "$WORK/data"
	move pmr alpha "$bytes"
	result_is "$bytes" switch 123
	holds alpha "$WORK/data"
	take_from_drive "$LAB_ALPHA" "$DRIVE_AT" $((2 * MIB)) "$WORK/after"
	same_bytes "bytes behind the copy" "$WORK/before" "$WORK/after" $((2 * MIB - bytes)) "$bytes" "$bytes"
}

tail_in_region() {
	local bytes=$((MIB + 123))
	random_file "$WORK/before" $((2 * MIB))
	put bar "$WORK/before"
	direction alpha bar "$bytes"
	same_bytes "bytes behind the copy" "$(backing gpu)" "$WORK/before" $((2 * MIB - bytes)) \
		$((REGION_AT * MIB + bytes)) "$bytes"
}

# The drive overwrites nothing that a power cut could lose: the last bytes go by way of DRAM, and count.
tail_in_pmr() {
	local bytes=$((MIB + 123)) at=$((REGION_AT * MIB)) whole
	random_file "$WORK/before" $((2 * MIB))
	put pmr "$WORK/before"
	random_file "$WORK/data" "$bytes"
	put alpha "$WORK/data"
	watch_dma
	move alpha pmr "$MIB"
	seen_dma
	whole=$(dma read pmr)
	put pmr "$WORK/before"
	watch_dma
	move alpha pmr "$bytes"
	seen_dma
	result_is "$bytes" switch 123
	exactly "bytes that the drive wrote to the PMR" "$whole" "$(dma read pmr)"
	holds pmr "$WORK/data"
	same_bytes "bytes behind the copy" "$(backing beta)" "$WORK/before" $((2 * MIB - bytes)) $((at + bytes)) "$bytes"
}

file_hole() {
	random_file "$WORK/data" "$MIB"
	truncate -s $((3 * MIB)) "$WORK/data"
	head -c "$MIB" /dev/urandom >>"$WORK/data"
	cp --sparse=always "$WORK/data" /mnt/fs/source
	sync /mnt/fs/source
	(($(stat -c %b /mnt/fs/source) < 8192)) || fail "the source has no hole"
	random_file "$WORK/old" $((4 * MIB))
	put bar "$WORK/old"
	move file bar $((4 * MIB)) --verify
	holds bar "$WORK/data"
	move bar file $((4 * MIB)) --verify
	holds file "$WORK/data"
}

larger_than_cmb() {
	direction file alpha $((66 * MIB + 4096)) --via p2pmem1
}

# A file that exists keeps what the copy does not reach.
file_is_not_truncated() {
	random_file "$WORK/long" $((3 * MIB))
	cp "$WORK/long" /mnt/fs/target
	sync /mnt/fs/target
	random_file "$WORK/data" "$MIB"
	put bar "$WORK/data"
	move bar file "$MIB" --dst-offset 1M --verify
	equal "length" $((3 * MIB)) "$(stat -c %s /mnt/fs/target)"
	same_bytes before /mnt/fs/target "$WORK/long" "$MIB"
	same_bytes copied /mnt/fs/target "$WORK/data" "$MIB" "$MIB" 0
	same_bytes behind /mnt/fs/target "$WORK/long" "$MIB" $((2 * MIB)) $((2 * MIB))
}

# The kernel sends no flush to a drive whose cache was declared write-through, whatever the drive itself reports.
drive_is_not_flushed() {
	local disk=${LAB_BETA##*/} cache
	cache=/sys/block/$disk/queue/write_cache
	copy p2pmem0 "$LAB_BETA" --size 1M
	equal "durable, and why not" "true " "$(field durable) $(field durable_reason)"
	at_end "echo 'write back' >$cache"
	echo 'write through' >"$cache"
	copy p2pmem0 "$LAB_BETA" --size 1M
	matches "durable, and why not" "^false $disk has a volatile write cache, and is not flushed: $cache says" \
		"$(field durable) $(field durable_reason)"
}

# ends_with_its_barrier FROM - of a copy into the PMR: a read of PMRSTS is behind the last command of a drive.
ends_with_its_barrier() {
	watch_dma
	move "$1" pmr "$BYTES"
	seen_dma
	[[ $(last_seen 'pci_nvme_io_cmd|pci_nvme_mmio_read.*0xe08') == *0xe08* ]] ||
		wrong "no barrier at the end of a copy from $1 to pmr: $(tail -n 3 "$WORK/trace")"
	equal durable true "$(field durable)"
}

# Written by a drive's commands, and by the CPU.
pmr_is_durable() {
	direction alpha pmr
	ends_with_its_barrier alpha
	ends_with_its_barrier bar
}

shapes() {
	direction alpha bar "$BYTES" --block-size 4096 --queue-depth 1
	direction alpha bar "$BYTES" --block-size 64K --queue-depth 64
	direction bar beta "$BYTES" --block-size 4M --queue-depth 3
}

# witnessed FROM TO AREA... - every byte in those areas and none in RAM, not even of the proof that goes
# ahead of a copy.
witnessed() {
	local from=$1 to=$2 area
	shift 2
	random_file "$WORK/data" "$BYTES"
	put "$from" "$WORK/data"
	watch_dma
	move "$from" "$to" "$BYTES" "${VIA[@]}"
	seen_dma
	for area in "$@"; do
		in_area "$area"
	done
	in_ram read
	in_ram write
	holds "$to" "$WORK/data"
}

# in_area DIRECTION.AREA - the area has the payload, and at most the proof's blocks besides.
in_area() {
	local seen
	seen=$(jq ".bytes.${1%.*}.${1#*.}" <"$WORK/witness")
	((seen >= BYTES && seen <= BYTES + 8192)) ||
		wrong "$1: expected $BYTES bytes, seen $seen: $(cat "$WORK/witness")"
}

in_ram() {
	exactly "bytes that drives $1 at RAM" 0 "$(dram "$1")"
}

staged_witness() {
	VIA=(--via p2pmem0)
	witnessed alpha beta read.gpu write.gpu
}

# Type 1: 8 bytes beside each block of 512, in which the CPU or the drive has a checksum.
protection_information() {
	local folder head=${LAB_BETA##*/}
	# It cannot read a partition table where nothing was written, and calls that a failure.
	nvme format "$LAB_BETA" --lbaf=1 --pi=1 --force || true
	at_end "nvme format $LAB_BETA --lbaf=0 --pi=0 --force"
	equal "format" T10-DIF-TYPE1-CRC "$(<"/sys/block/$head/integrity/format")"
	exits 3 'formatted with protection information, and the CPU reads all data.*Write 0 to read_verify' \
		donard-cli copy "$LAB_BETA" p2pmem0 --size 1M
	exits 3 'formatted with protection information, and the CPU reads all data' donard-cli copy p2pmem0 "$LAB_BETA" --size 1M
	! can passthrough || exits 3 '--passthrough cannot be used for its namespace: it is formatted with protection information' \
		donard-cli copy "$LAB_BETA" p2pmem0 --size 1M --passthrough
	# With native multipath each path of the drive has files of its own.
	for folder in /sys/block/"$head" /sys/block/"${head%n*}"c*n*; do
		[[ -d $folder ]] || continue
		echo 0 >"$folder/integrity/read_verify"
		echo 0 >"$folder/integrity/write_generate"
	done
	# Linux 7 does not ask the drive to look at checksums that it does not look at itself.
	[[ $LAB_KERNEL == 7* ]] || exits 1 'a block does not match its protection information. It was not written since' \
		donard-cli copy "$LAB_BETA" p2pmem0 --size 1M
	data_on_alpha "$MIB"
	copy "$LAB_ALPHA" "$LAB_BETA" --size 1M --verify
	result_is "$MIB" switch 0
	take_from_drive "$LAB_BETA" 0 "$MIB" "$WORK/seen"
	same_bytes beta "$WORK/seen" "$WORK/data" "$MIB"
}

# The kernel gives such a namespace no capacity.
extended_lbas() {
	nvme format "$LAB_BETA" --lbaf=1 --ms=1 --force || true
	at_end "nvme format $LAB_BETA --lbaf=0 --ms=0 --force"
	exits 3 'the kernel gives it no capacity.*metadata' donard-cli copy "$LAB_BETA" p2pmem0
	exits 3 'the kernel gives it no capacity.*metadata' donard-cli copy p2pmem0 "$LAB_BETA" --size 1M
}

# io_uring gives its pins back some time after a program has ended; the next must not fail for that.
in_a_row() {
	local round
	random_file "$WORK/data" "$BYTES"
	put alpha "$WORK/data"
	for ((round = 0; round < 6; round++)); do
		move alpha bar "$BYTES"
	done
	holds bar "$WORK/data"
}

# --- side by side in one region ---

readonly PIECE=$((256 << 10)) PIECES=3

# piece_at NUMBER - the first are at the start of the region, the others at its very end.
piece_at() {
	local size
	size=$(attr p2pmem0 size)
	echo $(($1 < PIECES ? $1 * PIECE : size - (2 * PIECES - $1) * PIECE))
}

# in_parallel NAME ARG... - a copy in the background; all_succeed looks at it.
in_parallel() {
	local name=$1
	shift
	donard-cli copy "$@" >"$WORK/$name.out" 2>&1 &
	PARALLEL[$!]=$name
}

all_succeed() {
	local pid status
	for pid in "${!PARALLEL[@]}"; do
		status=0
		wait "$pid" || status=$?
		equal "status of ${PARALLEL[$pid]} ($(cat "$WORK/${PARALLEL[$pid]}.out"))" 0 "$status"
	done
	PARALLEL=()
}

# Neighbours without a gap, from a drive, while others copy to a drive, and use spare blocks for their proof and
# for a partial last block.
neighbours() {
	local i round
	declare -gA PARALLEL=()
	random_file "$WORK/out" $((2 * PIECE))
	put bar "$WORK/out"
	for ((round = 0; round < 10; round++)); do
		# Others in each round: the bytes of the one before would hide those that went elsewhere.
		random_file "$WORK/data" $((2 * PIECES * PIECE))
		put alpha "$WORK/data"
		for ((i = 0; i < 2 * PIECES; i++)); do
			in_parallel "into.$i" "$LAB_ALPHA" "p2pmem0+$(piece_at "$i")" --size "$PIECE" \
				--src-offset $((DRIVE_AT * MIB + i * PIECE))
		done
		# One owner a byte of the drive, too: its partitions would be others.
		in_parallel "out" "p2pmem0+${REGION_AT}M" "$LAB_BETA" --size $((2 * PIECE - 123))
		all_succeed
		for ((i = 0; i < 2 * PIECES; i++)); do
			same_bytes "round $round, piece $i" "$(backing gpu)" "$WORK/data" "$PIECE" "$(piece_at "$i")" \
				$((i * PIECE))
		done
	done
}

# Parts of a page go to a page each, and the bytes behind them stay.
small_neighbours() {
	local i at
	declare -gA PARALLEL=()
	random_file "$WORK/before" $((8 * 4096))
	put bar "$WORK/before"
	random_file "$WORK/data" $((8 * 4096))
	put alpha "$WORK/data"
	for ((i = 0; i < 8; i++)); do
		at=$((REGION_AT * MIB + i * 4096))
		in_parallel "part.$i" "$LAB_ALPHA" "p2pmem0+$at" --size $((100 + 500 * i)) \
			--src-offset $((DRIVE_AT * MIB + i * 4096)) --json
	done
	all_succeed
	for ((i = 0; i < 8; i++)); do
		equal "evidence of $i" proven "$(jq -r .route_evidence "$WORK/part.$i.out")"
		at=$((REGION_AT * MIB + i * 4096))
		same_bytes "part $i" "$(backing gpu)" "$WORK/data" $((100 + 500 * i)) "$at" $((i * 4096))
		same_bytes "behind part $i" "$(backing gpu)" "$WORK/before" $((3996 - 500 * i)) \
			$((at + 100 + 500 * i)) $((i * 4096 + 100 + 500 * i))
	done
}

# Bytes that earlier copies left, at both ends of the region and behind the source, are unchanged after a copy from it.
nobodys_bytes_stay() {
	local at size ends
	size=$(attr p2pmem0 size)
	ends="0 $((REGION_AT * MIB + BYTES)) $((size - MIB))"
	random_file "$WORK/left" "$MIB"
	for at in $ends; do
		regio write p2pmem0 "$at" "$MIB" "$WORK/left"
	done
	direction bar beta $((BYTES - 123))
	equal "evidence" proven "$(field route_evidence)"
	for at in $ends; do
		regio read p2pmem0 "$at" "$MIB" "$WORK/seen"
		same_bytes "from $at on" "$WORK/seen" "$WORK/left" "$MIB"
	done
}

# --- where io_uring is refused ---

# nothing_without_uring REGEX COMMAND... - each kind of destination is as it was.
nothing_without_uring() {
	local regex=$1 to before
	shift
	random_file "$WORK/data" "$BYTES"
	random_file "$WORK/old" "$BYTES"
	put bar "$WORK/data"
	for to in beta cmb; do
		put "$to" "$WORK/old"
	done
	exits 3 "$regex" "$@" donard-cli copy p2pmem0+2M "$LAB_BETA" --size "$BYTES" --dst-offset "${DRIVE_AT}M"
	holds beta "$WORK/old"
	exits 3 "$regex" "$@" donard-cli copy "$LAB_ALPHA" p2pmem1+2M --size "$BYTES"
	holds cmb "$WORK/old"
	cp "$WORK/old" /mnt/fs/target
	sync /mnt/fs/target
	before=$(stat -c '%s %b %Y' /mnt/fs/target)
	exits 3 "$regex" "$@" donard-cli copy p2pmem0+2M /mnt/fs/target --size $((2 * BYTES))
	equal "state of the file" "$before" "$(stat -c '%s %b %Y' /mnt/fs/target)"
	holds file "$WORK/old"
	exits 3 "$regex" "$@" donard-cli copy p2pmem0+2M /mnt/fs/new --size "$BYTES"
	[[ ! -e /mnt/fs/new ]] || fail "a copy that was refused made its destination"
}

without_any() {
	with_file_system ext4 "$LAB_ALPHA"
	nothing_without_uring 'seccomp.*kernel.io_uring_disabled' forbid EPERM all
	nothing_without_uring 'seccomp' forbid ENOSYS all
	nothing_without_uring 'seccomp' forbid EPERM all-requests
}

# moved_by_aio FROM TO [COMMAND...] - by donard-cli below that command.
moved_by_aio() {
	# shellcheck disable=SC2034  # copy()
	local -a CLI=("${@:3}" donard-cli)
	direction "$1" "$2" "$BYTES" --block-size 64K
	equal "aio" true "$(field aio)"
	equal "fixed_buffers" false "$(field fixed_buffers)"
}

# io_uring is refused, as in most containers: the same bytes take the same routes, but --passthrough is refused.
without_uring() {
	local sysctl=/proc/sys/kernel/io_uring_disabled
	moved_by_aio bar alpha forbid EPERM io_uring
	direction alpha bar
	equal "aio, where io_uring is allowed" false "$(field aio)"
	if can passthrough; then
		put alpha "$WORK/data"
		exits 3 'io_uring is refused.*seccomp' forbid EPERM io_uring \
			donard-cli copy p2pmem0+2M "$LAB_ALPHA" --size "$MIB" --dst-offset "${DRIVE_AT}M" --passthrough
		holds alpha "$WORK/data"
	fi
	[[ -e $sysctl ]] || return 0
	echo 2 >"$sysctl"
	at_end "echo 0 >$sysctl"
	moved_by_aio bar alpha
}

# A filter knows only some of io_uring's calls, or is older than they are.
without_some_of_uring() {
	with_file_system ext4 "$LAB_BETA"
	moved_by_aio alpha cmb forbid ENOSYS io_uring
	moved_by_aio file bar forbid EPERM io_uring
	moved_by_aio bar file forbid EPERM requests
	moved_by_aio file bar forbid EPERM registrations
}

# --- NVMe commands past the block layer (--passthrough) ---

# passed FROM TO BYTES [ARG...] - a direction by NVMe commands; none is longer than the drive takes.
passed() {
	local most
	direction "$@" --passthrough
	equal "passthrough of $RESULT" true "$(field passthrough)"
	most=$(($(cat "/sys/block/${LAB_ALPHA##*/}/queue/max_hw_sectors_kb") * 1024))
	(($(field block_size) <= most)) || fail "a command of $(field block_size) bytes, and $most are allowed"
}

passed_both_ways() {
	passed alpha "$1" "$BYTES"
	passed "$1" beta "$BYTES"
	passed alpha "$1" "$((MIB + 123))"
	passed "$1" beta "$((MIB + 4095))"
}

passed_cmb() {
	passed beta cmb "$BYTES"
	passed cmb beta "$BYTES"
	refused 3 "the drive.s own memory" "$LAB_ALPHA" p2pmem1
	refused 3 "the drive.s own memory" p2pmem1 "$LAB_ALPHA"
	refused 3 "the drive.s own memory" "$LAB_BETA" "$LAB_ALPHA" --via p2pmem1
}

passed_pmr() {
	passed alpha pmr "$BYTES"
	equal durable true "$(field durable)"
	passed pmr alpha "$BYTES"
	refused 3 "the drive.s own memory" "$LAB_BETA" p2pmem2
	refused 3 "the drive.s own memory" p2pmem2 "$LAB_BETA"
}

# The emulator's trace shows that all bytes went in one direction, to one area, and none to RAM.
passed_witness() {
	VIA=(--passthrough)
	witnessed alpha bar read.gpu
	witnessed bar beta write.gpu
}

passed_shapes() {
	passed alpha bar "$BYTES" --block-size 512 --queue-depth 32
	passed alpha bar "$BYTES" --block-size 4096 --queue-depth 1
	passed alpha bar "$BYTES" --block-size 64K --queue-depth 64
	passed bar beta "$((BYTES - 512))" --block-size 4M --queue-depth 3
	passed bar beta "$BYTES" --block-size 24K
	passed bar beta 512
	passed bar beta 511
}

# The baseline: the same commands, into DRAM.
passed_bounced() {
	random_file "$WORK/data" "$BYTES"
	put alpha "$WORK/data"
	move alpha bar "$BYTES" --force-bounce --passthrough
	result_is "$BYTES" bounced "$BYTES"
	holds bar "$WORK/data"
	move bar beta "$BYTES" --force-bounce --passthrough
	holds beta "$WORK/data"
}

# The block device's cached pages are written back before a read, and gone after a write.
passed_page_cache() {
	local -a at=(bs=1M seek="$DRIVE_AT" conv=notrunc status=none)
	random_file "$WORK/old" "$BYTES"
	put alpha "$WORK/old"
	random_file "$WORK/data" "$BYTES"
	# Held open: the last close of a block device writes its pages back and drops them.
	exec 9<>"$LAB_ALPHA"
	at_end "exec 9>&-"
	dd if="$WORK/data" of="$LAB_ALPHA" "${at[@]}"
	move alpha bar "$BYTES" --passthrough
	holds bar "$WORK/data"
	exec 9>&-
	exec 9<"$LAB_BETA"
	dd if="$LAB_BETA" bs=1M skip="$DRIVE_AT" count=$((BYTES / MIB)) status=none >"$WORK/stale"
	move bar beta "$BYTES" --passthrough
	dd if="$LAB_BETA" bs=1M skip="$DRIVE_AT" count=$((BYTES / MIB)) status=none >"$WORK/cached"
	same_bytes "what the page cache says" "$WORK/cached" "$WORK/data" "$BYTES"
}

# A partition's blocks are counted from its own start.
passed_partition() {
	local part=${LAB_BETA}p1 start=$((32 * MIB))
	partition_table "$LAB_BETA" $((start / 512)) $((16 * MIB / 512))
	at_end "dd if=/dev/zero of=$LAB_BETA count=1 oflag=direct status=none; blockdev --rereadpt $LAB_BETA"
	within 5 test -b "$part"
	random_file "$WORK/data" "$BYTES"
	put bar "$WORK/data"
	copy p2pmem0+2M "$part" --size "$BYTES" --dst-offset 1M --passthrough --verify
	take_from_drive "$LAB_BETA" 33 "$BYTES" "$WORK/seen"
	same_bytes "on the drive" "$WORK/seen" "$WORK/data" "$BYTES"
	copy "$part" p2pmem0+64M --size "$BYTES" --src-offset 1M --passthrough --verify
	same_bytes "the copy of it" "$(backing gpu)" "$WORK/data" "$BYTES" $((64 * MIB))
	exits 1 "would be truncated" donard-cli copy p2pmem0 "$part" --size 17M --passthrough
}

# shrink_partition DISK START BYTES - its first one, to BYTES, by BLKPG_RESIZE_PARTITION (linux/blkpg.h).
shrink_partition() {
	python3 - "$@" <<-'END'
		import ctypes, fcntl, struct, sys
		start, length = map(int, sys.argv[2:4])
		data = ctypes.create_string_buffer(struct.pack("=qqi64s64s4x", start, length, 1, b"", b""))
		fcntl.ioctl(open(sys.argv[1], "rb"), 0x1269, struct.pack("@iiiP", 3, 0, len(data), ctypes.addressof(data)))
	END
}

# A partition shrinks during the copy: the bytes behind its new end belong to another partition.
passed_shrinking() {
	local part=${LAB_BETA}p1 start=32 last=80
	partition_table "$LAB_BETA" $((start * MIB / 512)) $((64 * MIB / 512))
	at_end "dd if=/dev/zero of=$LAB_BETA count=1 oflag=direct status=none; blockdev --rereadpt $LAB_BETA"
	within 5 test -b "$part"
	random_file "$WORK/before" $((8 * MIB))
	put_on_drive "$WORK/before" "$LAB_BETA" "$last"
	start_copy beta p2pmem0 "$part" --passthrough
	shrink_partition "$LAB_BETA" $((start * MIB)) "$MIB"
	labctl slow beta 0
	copy_ends 1 device 'its size or its format was changed since it was opened.* open the drive again'
	take_from_drive "$LAB_BETA" "$last" $((8 * MIB)) "$WORK/seen"
	same_bytes "behind the partition" "$WORK/seen" "$WORK/before" $((8 * MIB))
}

passed_in_a_row() {
	local round
	random_file "$WORK/data" "$BYTES"
	put alpha "$WORK/data"
	for ((round = 0; round < 4; round++)); do
		move alpha bar "$BYTES" --passthrough
		move alpha bar "$BYTES"
	done
	holds bar "$WORK/data"
}

# refused STATUS REGEX ARG... - a copy by NVMe commands.
refused() {
	local status=$1 regex=$2
	shift 2
	exits "$status" "$regex" donard-cli copy "$@" --size 1M --passthrough
}

passed_refusals() {
	local node=/dev/ng${LAB_ALPHA#/dev/nvme}
	refused 3 "it is a file" /mnt/fs/source p2pmem0
	refused 3 "it is a file" p2pmem0 /mnt/fs/target
	[[ ! -e /mnt/fs/target ]] || fail "a refused copy made its destination"
	refused 3 "it is a file" "$LAB_ALPHA" /mnt/fs/target
	refused 2 "both ends are regions" p2pmem0 p2pmem0+64M
	refused 1 "is not a multiple of 512" "$LAB_ALPHA" p2pmem0+4098
	mv "$node" "$node.away"
	at_end "mv $node.away $node"
	refused 1 "there is no node $node of its generic device.*mknod $node" "$LAB_ALPHA" p2pmem0
	cp -a "/dev/ng${LAB_BETA#/dev/nvme}" "$node"
	refused 1 "is not the generic device of its namespace" "$LAB_ALPHA" p2pmem0
	rm "$node"
}

passed_file_refusals() {
	random_file /mnt/fs/source "$MIB"
	passed_refusals
}

# A user who may read the drive may not send it commands for that alone.
passed_permission() {
	chgrp user "$LAB_ALPHA"
	chmod g+r "$LAB_ALPHA"
	at_end "chgrp root $LAB_ALPHA; chmod g-r $LAB_ALPHA"
	exits 1 "cannot be used.*Permission denied.*Run as root" \
		as user donard-cli copy "$LAB_ALPHA" p2pmem0 --size 1M --passthrough
}

passed_old_kernel() {
	refused 3 "needs Linux 6.12" "$LAB_ALPHA" p2pmem0
}

# core_once t ... - runs in the gate with one page type, since the result, apart from the route, does not depend on it.
core_once() {
	if [[ $type == generic ]]; then core "$@"; else "$@"; fi
}

VIA=()
for type in generic p2pdma; do
	if [[ $type == p2pdma ]] && ! can p2pdma; then
		core skip "p2pdma pages" "kernel $LAB_KERNEL has no P2PDMA"
		continue
	fi
	core t "drive to bar, $type" typed $type direction alpha bar
	core t "bar to drive, $type" typed $type direction bar beta
	t "bar to bar, $type" typed $type bar_to_bar
	core_once t "drive to drive by bar, $type" typed $type direction alpha beta "$BYTES" --via p2pmem0
	t "files on ext4, $type" typed $type on_fs ext4 file_directions
	t "files on xfs, $type" typed $type on_fs xfs file_directions
	t "file tails, $type" typed $type on_fs ext4 file_tails
	core_once t "witness: drive to bar, $type" typed $type witnessed alpha bar read.gpu
	core_once t "witness: bar to drive, $type" typed $type witnessed bar beta write.gpu
	t "witness: drive to drive, $type" typed $type staged_witness
done
t "drive to its own cmb" direction alpha cmb
t "cmb to its own drive" direction cmb alpha
core t "other drive to cmb" direction beta cmb
core t "cmb to other drive" direction cmb beta
t "drive to drive by cmb" direction alpha beta "$BYTES" --via p2pmem1
core t "drive to pmr" pmr_is_durable
t "a drive that is not flushed" drive_is_not_flushed
t "drive to its own pmr" direction beta pmr
t "pmr to drive" direction pmr alpha
newest t "bar to cmb" direction bar cmb
t "cmb to bar" direction cmb bar
t "bar to pmr" direction bar pmr
t "pmr to bar" direction pmr bar
t "within a page of the bar" within_a_page bar
t "within a page of the pmr" within_a_page pmr
t "witness: drive to cmb" witnessed alpha cmb read.cmb
t "witness: drive to pmr" witnessed alpha pmr read.pmr
t "witness: pmr to drive" witnessed pmr alpha write.pmr
newest t "tail on a drive" tail_on_drive direction
t "tail in a region" tail_in_region
t "tail in persistent memory" tail_in_pmr
t "tail from persistent memory" tail_from_pmr
newest t "hole in a file, ext4" on_fs ext4 file_hole
t "hole in a file, xfs" on_fs xfs file_hole
t "file larger than the cmb" on_fs ext4 larger_than_cmb
t "file is not truncated" on_fs xfs file_is_not_truncated
t "block sizes and depths" shapes
t "protection information" protection_information
t "metadata inside of the blocks" extended_lbas
t "one copy right after another" in_a_row
t "side by side, neighbours" neighbours
t "side by side, parts of pages" small_neighbours
newest t "what lies in free memory stays" nobodys_bytes_stay
newest t "without io_uring" without_uring
t "without some of io_uring" without_some_of_uring
t "nothing is changed without io_uring and AIO" without_any
if ! can passthrough; then
	core t "passthrough is refused" passed_old_kernel
else
	t "passthrough: bar" passed_both_ways bar
	t "passthrough: cmb" passed_cmb
	t "passthrough: pmr" passed_pmr
	core t "passthrough: drive to drive" passed alpha beta "$((BYTES + 123))" --via p2pmem0
	if can p2pdma; then
		t "passthrough: bar, p2pdma" typed p2pdma passed_both_ways bar
	fi
	t "passthrough: witness" passed_witness
	t "passthrough: block sizes and depths" passed_shapes
	t "passthrough: bounced" passed_bounced
	t "passthrough: tail on a drive" tail_on_drive passed
	t "passthrough: page cache" passed_page_cache
	t "passthrough: partition" passed_partition
	t "passthrough: partition that shrinks" passed_shrinking
	t "passthrough: one right after another" passed_in_a_row
	core t "passthrough: refusals" on_fs ext4 passed_file_refusals
	core t "passthrough: permission" passed_permission
fi
