# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A drive whose blocks are larger than a page of memory: what a copy's last block may touch of either side. And namespaces of
# it whose numbers leave gaps, one of which is written in order only.

ZONED=$(grep -l host-managed /sys/class/block/nvme*/queue/zoned | sed -nE 's,.*/(nvme[0-9]+)(c[0-9]+)?(n[0-9]+)/.*,/dev/\1\3,p;q')
readonly ZONED
readonly PARTIAL=$((MIB + 5000))

# filled REGION - fills it with bytes that must not change outside of what a copy owns.
filled() {
	random_file "$WORK/before" $((2 * MIB))
	regio write "$1" 0 $((2 * MIB)) "$WORK/before"
	data_on_alpha "$PARTIAL"
}

# has REGION BYTES - does it have that many bytes of the data, and the former bytes behind them?
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

# from_region REGION BYTES - so many of them come through DRAM.
from_region() {
	random_file "$WORK/before" $((2 * MIB))
	put_on_drive "$WORK/before" "$LAB_ALPHA" 0
	random_file "$WORK/data" "$PARTIAL"
	regio write "$1" 0 "$PARTIAL" "$WORK/data"
	copy "$1" "$LAB_ALPHA" --size "$PARTIAL" --verify
	result_is "$PARTIAL" switch "$2"
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

# into_file BYTES BOUNCED - copies to a file system with smaller blocks: bytes behind the last whole block of alpha go by the page cache.
into_file() {
	mkfs.ext4 -q -F -b 4096 "$LAB_BETA" 64M
	mkdir -p /mnt/fs
	mount "$LAB_BETA" /mnt/fs
	at_end "umount /mnt/fs; wipefs -qa $LAB_BETA"
	data_on_alpha "$1"
	copy "$LAB_ALPHA" /mnt/fs/file --via p2pmem0 --size "$1" --verify
	result_is "$1" switch "$2"
	same_bytes "the file" /mnt/fs/file "$WORK/data" "$1"
}

# into_last_block - of a partition that ends within a block of the other drive.
into_last_block() {
	local bytes=$((MIB + 500))
	random_file "$WORK/before" $((2 * MIB))
	put_on_drive "$WORK/before" "$LAB_BETA" 1
	partition_table "$LAB_BETA" $((MIB / 512)) $((MIB / 512 + 1))
	at_end "dd if=/dev/zero of=$LAB_BETA count=1 oflag=direct status=none; blockdev --rereadpt $LAB_BETA"
	within 5 test -b "${LAB_BETA}p1"
	data_on_alpha "$bytes"
	copy "$LAB_ALPHA" "${LAB_BETA}p1" --via p2pmem0 --size "$bytes" --verify
	result_is "$bytes" switch 0
	take_from_drive "$LAB_BETA" 1 $((2 * MIB)) "$WORK/seen"
	same_bytes "the partition" "$WORK/seen" "$WORK/data" "$bytes"
	same_bytes "behind the copy" "$WORK/seen" "$WORK/before" $((2 * MIB - bytes)) "$bytes" "$bytes"
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
	python3 - "$ZONED" <<-'END'
		import donard, os, sys
		with donard.Context() as context:
		    try:
		        context.adopt_file(os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT))
		        sys.exit("the descriptor of a zoned drive was taken")
		    except donard.Error as error:
		        assert "it is zoned" in str(error), error
	END
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

# node_of NUMBER - of that namespace of drive alpha: names follow the order in which the kernel found them.
node_of() {
	local path
	for path in /sys/bus/pci/devices/"$LAB_ALPHA_BDF"/nvme/nvme*/nvme*n*; do
		[[ ! -e $path/nsid || $(<"$path/nsid") != "$1" ]] || sed -E 's,.*/(nvme[0-9]+)(c[0-9]+)?n,/dev/\1n,' <<<"$path"
	done
}

# Bytes go to the named namespace and to no other, both by the block layer and by NVMe commands.
numbers_with_gaps() {
	local seven before others="head -q -c $((4 * MIB)) /mnt/lab/alpha.img /mnt/lab/zoned.img"
	seven=$(node_of 7)
	equal "namespaces" "$LAB_ALPHA $ZONED" "$(node_of 1) $(node_of 200)"
	equal "those that are listed" "$(printf '%s\n' "${LAB_ALPHA##*/}" "${seven##*/}" "${ZONED##*/}" | sort)" \
		"$(donard-cli list --json | jq -r '.clients[] | select(.serial == "alpha").namespaces[]' | sort)"
	before=$($others | sha256sum)
	random_file "$WORK/data" "$((2 * MIB))"
	regio write p2pmem0 0 $((2 * MIB)) "$WORK/data"
	copy p2pmem0 "$seven" --size "$MIB" --verify
	result_is "$MIB" switch 0
	copy p2pmem0+1M "$seven" --dst-offset 1M --size "$MIB" --verify --passthrough
	result_is "$MIB" switch 0
	sync "$seven"
	same_bytes "the host's view of namespace 7" /mnt/lab/alpha.7.img "$WORK/data" $((2 * MIB))
	exactly "sum of the others" "$before" "$($others | sha256sum)"
	copy "$seven" p2pmem0+8M --size $((2 * MIB)) --passthrough
	same_bytes "the BAR" "$(backing gpu)" "$WORK/data" $((2 * MIB)) $((8 * MIB))
	# The emulator may refuse to compare pieces of the drive's own memory.
	RESULT=$(donard-cli doctor --json --probe) || true
	equal "what doctor says of the drive" "proven proven" "$(jq -r --arg drive "$LAB_ALPHA_BDF" \
		'.pairs[] | select(.client_bdf == $drive and .memory == "p2pmem0") | "\(.read.state) \(.write.state)"' <<<"$RESULT")"
}

t "into a region, whole blocks" into_region p2pmem0 "$MIB"
t "into a region, a partial block" into_region p2pmem0 "$PARTIAL"
t "into persistent memory, whole blocks" into_region p2pmem2 "$MIB"
t "into persistent memory, a partial block" into_persistent_memory
t "from a region, a partial block" from_region p2pmem0 0
# It has no spare block in which to merge the last one.
t "from persistent memory, a partial block" from_region p2pmem2 $((PARTIAL % 16384))
t "to a drive of small blocks" between "$LAB_ALPHA" "$LAB_BETA"
t "to a file, whole blocks of its file system" into_file $((MIB + 4096)) 4096
t "to a file, a partial block" into_file "$PARTIAL" 5000
t "to the end of a partition of small blocks" into_last_block
t "from a drive of small blocks" between "$LAB_BETA" "$LAB_ALPHA"
t "namespaces whose numbers leave gaps" numbers_with_gaps
t "to a zoned drive" to_zones
t "from a zoned drive" from_zones
