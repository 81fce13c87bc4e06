# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A drive whose blocks are larger than a page of memory: what a copy's last block may touch of either side.

readonly PARTIAL=$((MIB + 5000))

# filled REGION - with bytes of which none may change that a copy does not own.
filled() {
	random_file "$WORK/before" $((2 * MIB))
	regio write "$1" 0 $((2 * MIB)) "$WORK/before"
	random_file "$WORK/data" "$PARTIAL"
	put_on_drive "$WORK/data" "$LAB_ALPHA" 0
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

# Nowhere in persistent memory may the drive write the rest of the block, and no copy begins that cannot end.
into_persistent_memory() {
	filled p2pmem2
	exits 1 "is persistent memory.*multiple of 16384" donard-cli copy "$LAB_ALPHA" p2pmem2 --size "$PARTIAL"
	has p2pmem2 0
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

t "into a region, whole blocks" into_region p2pmem0 "$MIB"
t "into a region, a partial block" into_region p2pmem0 "$PARTIAL"
t "into persistent memory, whole blocks" into_region p2pmem2 "$MIB"
t "into persistent memory, a partial block" into_persistent_memory
t "from a region, a partial block" from_region p2pmem0
t "from persistent memory, a partial block" from_persistent_memory
t "to a drive of small blocks" between "$LAB_ALPHA" "$LAB_BETA"
t "from a drive of small blocks" between "$LAB_BETA" "$LAB_ALPHA"
