#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: one benchmark of copies, as JSON, in one result or several. The first argument says which.
set -euo pipefail

# On both drives, so that no method is helped by blocks that were never written.
fill() {
	local drive
	for drive in "$LAB_ALPHA" "$LAB_BETA"; do
		dd if=/dev/urandom of="$drive" bs=1M count="$1" oflag=direct status=none
	done
}

# both REGION [ARGUMENT...] - to the region, and from it to the other drive.
both() {
	donard-cli bench copy "$LAB_ALPHA" "$1" --write-to "$LAB_BETA" --json "${@:2}"
}

# Linux 6.1 takes no mapping of a file as a fixed buffer.
methods() {
	echo "donard,donard-bounce,memcpy,dd,fio$([[ $(uname -r) == 6.1.* ]] || echo ,fio-fixed)"
}

# shapes BLOCK,SIZE... -- ARGUMENT... - to the region, a result for each; of each size there is work for all that are in
# flight at once.
shapes() {
	local shape list=()
	while [[ $1 != -- ]]; do
		list+=("$1")
		shift
	done
	shift
	for shape in "${list[@]}"; do
		donard-cli bench copy "$LAB_ALPHA" p2pmem0 --methods donard,fio --rounds 2 \
			--block-sizes "${shape%,*}" --size "${shape#*,}" "$@" --json
	done
}

case $1 in
methods)
	fill 64
	both p2pmem0 --rounds 3 --methods "$(methods)"
	;;
region)
	fill 32
	# 1 MiB at depth 16 in the smaller of the two sizes, or set-up would depend on the size.
	both "$2" --methods donard --size 32M --queue-depths 8
	;;
p2pdma)
	fill 64
	donard-cli region set p2pmem0 --page-type p2pdma >&2
	both p2pmem0 --methods donard
	;;
levers)
	fill 64
	both p2pmem0 --methods donard,fio-fixed
	;;
passthrough)
	fill 64
	# Passed on as they are, commands may not exceed what the drive takes.
	both p2pmem0 --methods donard,donard-passthrough,fio-fixed,fio-passthrough --block-sizes 512K
	;;
rates)
	fill 128
	both p2pmem0 --size 128M --rounds 7 --meter none
	;;
small-blocks)
	fill 8
	both p2pmem0 --methods donard,fio --size 8M --block-sizes 4K,16K,64K
	;;
large-blocks)
	fill 256
	both p2pmem0 --methods donard,fio --size 256M --block-sizes 256K,1M,4M,16M
	;;
depths)
	fill 256
	shapes 4K,8M 64K,32M 1M,256M -- --queue-depths 1,4,16,64
	;;
threads)
	fill 256
	shapes 4K,8M 64K,16M 1M,64M -- --queue-depths 16 --threads 1,2,4
	;;
*)
	echo "copy.sh: no benchmark '$1'" >&2
	exit 2
	;;
esac
