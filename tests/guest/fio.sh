# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# fio as Debian ships it, its buffers in a region by nothing but a path.

readonly BYTES=$((8 * MIB))

# run_fio JOB-OPTION... - against drive alpha.
run_fio() {
	fio --name=job --aux-path="$WORK" --filename="$LAB_ALPHA" --direct=1 --bs=64k --iodepth=8 --size="$BYTES" \
		--iomem=mmapshared:/dev/p2pmem0 --output-format=json --output="$WORK/fio.json" "$@" \
		>"$WORK/fio.out" 2>&1 || fail "fio $*: status $?, $(cat "$WORK/fio.out")"
	equal "fio's errors" 0 "$(jq '.jobs[0].error' "$WORK/fio.json")"
}

did() {
	exactly "bytes of fio's $1" "$BYTES" "$(jq ".jobs[0].$1.io_bytes" "$WORK/fio.json")"
}

reads() {
	watch_dma
	run_fio --rw=read "$@"
	seen_dma
	did read
	exactly "bytes read into the BAR" "$BYTES" "$(jq .bytes.read.gpu "$WORK/witness")"
	# fio and the kernel look for a partition table: less than a job's block.
	(($(dram read) < 65536)) ||
		wrong "reads into RAM: $(cat "$WORK/witness")"
	within 5 region_is_free p2pmem0
}

# fio fills its buffers in the BAR, writes, reads into the BAR and compares there.
writes_and_verifies() {
	watch_dma
	run_fio --rw=write --verify=crc32c --do_verify=1 "$@"
	seen_dma
	did write
	did read
	exactly "bytes written from the BAR" "$BYTES" "$(jq .bytes.write.gpu "$WORK/witness")"
	exactly "bytes read into the BAR" "$BYTES" "$(jq .bytes.read.gpu "$WORK/witness")"
}

# This kernel refuses it; the test would notice a change.
fixed_is_refused() {
	local status=0
	fio --name=job --aux-path="$WORK" --filename="$LAB_ALPHA" --direct=1 --bs=64k --size="$MIB" --rw=read \
		--ioengine=io_uring --fixedbufs=1 --iomem=mmapshared:/dev/p2pmem0 >"$WORK/out" 2>&1 ||
		status=$?
	((status != 0)) || fail "fixed buffers work on $LAB_KERNEL: $(cat "$WORK/out")"
	matches "fio's message" 'not supported|EOPNOTSUPP|error=95|Cannot allocate' "$(cat "$WORK/out")"
	within 5 region_is_free p2pmem0
}

t "libaio reads" reads --ioengine=libaio
t "libaio writes and verifies" writes_and_verifies --ioengine=libaio
t "io_uring reads" reads --ioengine=io_uring
core t "io_uring writes and verifies" writes_and_verifies --ioengine=io_uring
t "psync reads" reads --ioengine=psync
if ! can fixed-buffers; then
	core t "fixed buffers are refused by the kernel" fixed_is_refused
else
	core t "fixed buffers, reads" reads --ioengine=io_uring --fixedbufs=1
	t "fixed buffers, writes and verifies" writes_and_verifies --ioengine=io_uring --fixedbufs=1
fi
if can p2pdma; then
	t "libaio reads, p2pdma" typed p2pdma reads --ioengine=libaio
	t "io_uring writes and verifies, p2pdma" typed p2pdma writes_and_verifies --ioengine=io_uring
fi
