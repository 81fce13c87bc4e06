# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A drive whose blocks are larger than a page of memory: what a copy's last block may touch of either side. And one whose
# blocks are written in order only.

ZONED=$(grep -l host-managed /sys/class/block/nvme*/queue/zoned | sed -nE 's,.*/(nvme[0-9]+)(c[0-9]+)?(n[0-9]+)/.*,/dev/\1\3,p;q')
readonly ZONED
readonly PARTIAL=$((MIB + 5000))

# filled REGION - with bytes of which none may change that a copy does not own.
filled() {
	random_file "$WORK/before" $((2 * MIB))
	regio write "$1" 0 $((2 * MIB)) "$WORK/before"
	data_on_alpha "$PARTIAL"
}

# has REGION BYTES - that many bytes of the data, and behind them what was there before.
has() {
	regio read "$1" 0 $((2 * MIB)) "$WORK/seen"
	same_bytes "$1, the copy" "$WORK/seen" "$WORK/data" "$2"
	same_bytes "$1, behind it" "$WORK/seen" "$WORK/before" $((2 * MIB - $2)) "$2" "$2"
}

into_region() {
	filled "$1"
	copy "$LAB_ALPHA" "$1" --size "$2" --verify
	result_is "$2" switch 0
	has "$1" "$2"
}

# Nowhere in persistent memory may the drive write the rest of the block: these bytes come through DRAM.
into_persistent_memory() {
	filled p2pmem2
	copy "$LAB_ALPHA" p2pmem2 --size "$PARTIAL" --verify
	result_is "$PARTIAL" switch $((PARTIAL % 16384))
	has p2pmem2 "$PARTIAL"
}

from_persistent_memory() {
	filled p2pmem2
	exits 1 "is persistent memory.*multiple of 16384" donard-cli copy p2pmem2 "$LAB_ALPHA" --size "$PARTIAL"
	take_from_drive "$LAB_ALPHA" 0 "$PARTIAL" "$WORK/seen"
	same_bytes alpha "$WORK/seen" "$WORK/data" "$PARTIAL"
}

from_region() {
	random_file "$WORK/before" $((2 * MIB))
	put_on_drive "$WORK/before" "$LAB_ALPHA" 0
	random_file "$WORK/data" "$PARTIAL"
	regio write "$1" 0 "$PARTIAL" "$WORK/data"
	copy "$1" "$LAB_ALPHA" --size "$PARTIAL" --verify
	result_is "$PARTIAL" switch 0
	take_from_drive "$LAB_ALPHA" 0 $((2 * MIB)) "$WORK/seen"
	same_bytes "alpha, the copy" "$WORK/seen" "$WORK/data" "$PARTIAL"
	same_bytes "alpha, behind it" "$WORK/seen" "$WORK/before" $((2 * MIB - PARTIAL)) "$PARTIAL" "$PARTIAL"
}

# between FROM TO - by way of a region; the blocks of the other drive are of 512 bytes.
between() {
	random_file "$WORK/data" "$PARTIAL"
	put_on_drive "$WORK/data" "$1" 0
	copy "$1" "$2" --via p2pmem0 --size "$PARTIAL" --verify
	result_is "$PARTIAL" switch 0
	take_from_drive "$2" 0 "$PARTIAL" "$WORK/seen"
	same_bytes "$2" "$WORK/seen" "$WORK/data" "$PARTIAL"
}

zoned_refused() {
	exits 3 "$ZONED: $1.*zone" donard-cli copy p2pmem0 "$ZONED" --size 1M "${@:2}"
}

# Its writes go on from a write pointer: one that a copy has not moved is where it was.
to_zones() {
	regio write p2pmem0 0 "$MIB" <(head -c "$MIB" /dev/urandom)
	zoned_refused "it is zoned"
	zoned_refused "it is zoned" --allow-bounce
	zoned_refused "it is zoned" --passthrough
	blkzone report "$ZONED" >"$WORK/zones"
	equal "zones that nobody wrote" 16 "$(grep -c 'zcond: 1' "$WORK/zones")"
}

from_zones() {
	random_file "$WORK/data" "$MIB"
	put_on_drive "$WORK/data" "$ZONED" 0
	at_end "blkzone reset $ZONED"
	copy "$ZONED" p2pmem0 --size "$MIB" --verify
	result_is "$MIB" switch 0
	regio read p2pmem0 0 "$MIB" "$WORK/seen"
	same_bytes p2pmem0 "$WORK/seen" "$WORK/data" "$MIB"
}

t "into a region, whole blocks" into_region p2pmem0 "$MIB"
t "into a region, a partial block" into_region p2pmem0 "$PARTIAL"
t "into persistent memory, whole blocks" into_region p2pmem2 "$MIB"
t "into persistent memory, a partial block" into_persistent_memory
t "from a region, a partial block" from_region p2pmem0
t "from persistent memory, a partial block" from_persistent_memory
t "to a drive of small blocks" between "$LAB_ALPHA" "$LAB_BETA"
t "from a drive of small blocks" between "$LAB_BETA" "$LAB_ALPHA"
t "to a zoned drive" to_zones
t "from a zoned drive" from_zones
