#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: one benchmark of copies, as JSON, in one result or several. The first argument says which.
set -euo pipefail

# Fills both drives, so that no method profits from blocks that were never written.
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

# requests BLOCK,SIZE... - of the library's queue, also with registered memory where that can be, and of fio with its own; both
# directions.
requests() {
	local shape methods=queue,queue-registered,fio-fixed
	# fio registers a mapping of a file neither on Linux 6.1 nor where its pages may not be pinned for long.
	[[ $(uname -r) != 6.1.* && -z ${PAGE_TYPE-} ]] || methods=queue,queue-registered,fio
	for shape; do
		donard-cli bench queue "$LAB_ALPHA" p2pmem0 --write-to "$LAB_BETA" --methods "$methods" --rounds "${ROUNDS:-3}" \
			--block-sizes "${shape%,*}" --size "${shape#*,}" --queue-depths 1,8,64 --json
	done
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

# with_gpu COMMAND... - runs it while the function with the BAR is a GPU with a region of its own.
with_gpu() {
	local function=/sys/bus/pci/devices/$LAB_GPU_BDF region
	donard-cli region remove p2pmem0 >&2
	insmod /opt/donard/modules/nvidia.ko
	echo nvidia >"$function/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers_probe
	region=$(donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF")
	LD_LIBRARY_PATH=/opt/donard/tests/lib:/usr/lib/donard/cufile CUFILE_LOGFILE_PATH=/tmp/cufile.log "$@"
	donard-cli region remove "${region##*/}" >&2
	echo >"$function/driver_override"
	rmmod nvidia
}

# one_by_one TARGET METHODS - a request at a time, since cuFileRead() is one.
one_by_one() {
	local shape
	for shape in 4K,2M 64K,16M 1M,32M; do
		donard-cli bench queue "$LAB_ALPHA" "$1" --write-to "$LAB_BETA" --methods "$2" --rounds "${ROUNDS:-3}" \
			--block-sizes "${shape%,*}" --size "${shape#*,}" --queue-depths 1 --json
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
	both "$2" --methods donard --size 32M --queue-depths 8 --allow-persistent
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
	both p2pmem0 --methods donard,fio --size 256M --block-sizes 256K,1M,4M
	;;
depths)
	fill 256
	shapes 4K,8M 64K,32M 1M,256M -- --queue-depths 1,4,16,64
	;;
queues)
	fill 256
	[[ -z ${PAGE_TYPE-} ]] || donard-cli region set p2pmem0 --page-type "$PAGE_TYPE" >&2
	requests 4K,4M 64K,32M 1M,256M
	;;
gpu)
	fill 64
	# fio opens the region for itself, where a GPU's has only what the opener pinned: the same BAR without a GPU's driver.
	one_by_one p2pmem0 fio-fixed
	with_gpu one_by_one gpu:0 queue-registered,queue,cufile,cufile-compat,gpu-memcpy
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
