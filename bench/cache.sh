#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the first of two guests: what an acknowledged write of 4 KiB costs the server, which is this guest; the client
# is the other one. Donard's cache, its NBD front, and the kernel's NVMe-oF target, on the drive alone and on dm-writecache
# over the same NVRAM. The arguments say what: counts (of the server's meter, its trace and its RDMA device), latency,
# destage, mode_p. JSON in the form of donard-cli bench; a sample is
#   {purpose: "counts", method, queue_depth, round, writes, barriers, drive_commands, sends, packets, measured}
#   {purpose: "latency", method, queue_depth, round, writes, drive_bytes_per_second, latency_ns}
#   {purpose: "destage", method, round, bytes, drive_bytes_per_second, seconds}
#   {purpose: "destaged-bytes", method, bytes, from_nvram, from_dram}
#   {purpose: "refused", method, why}
# shellcheck disable=SC2016  # jq has names with a dollar, too
set -euo pipefail

readonly BLOCK=4096 PORT=7078 NVMET_PORT=4420 NQN=donard-bench MIB=$((1 << 20))
# All writes have room in the log, and each client in its own part, so that the drive is not touched before a flush asks for that.
readonly SERVE=(--format --no-cleaner --high 95)
readonly NVMET=/sys/kernel/config/nvmet
RUNS=${RUNS:-3}
WORK=$(mktemp -d)
readonly WORK
: >"$WORK/samples"
SERVER=
NODE=

say() {
	echo "bench: $*" >&2
}

# trace_ends - the meter reads the trace, too: its guest leaves it on.
trace_ends() {
	[[ -n ${LAB_METER-} ]] || labctl trace off
}

peer() {
	labctl peer "$@" </dev/null
}

# sample JQ-ARGUMENT... - the last one is the filter.
sample() {
	jq -nc "$@" >>"$WORK/samples"
}

# --- the measured methods: each is brought up, written to, and taken down ---

# free_nvram - waits until the NVRAM is free, a moment after the end of the process that had it.
free_nvram() {
	until cmp -s /sys/class/p2pmem/p2pmem2/{available,size}; do
		sleep 0.1
	done
}

# up_donard [CLIENTS] - fewer than so many can write before something goes to the drive.
up_donard() {
	free_nvram
	head -c "$(</sys/class/p2pmem/p2pmem2/size)" /dev/zero >/dev/p2pmem2
	: >"$WORK/served"
	donard-cli cache serve --nvram p2pmem2 --backing "$LAB_ALPHA" --listen "$LAB_ADDR" --json "${SERVE[@]}" \
		--clients "${1:-8}" --timeout 600 >"$WORK/served" 2>&1 &
	SERVER=$!
	until grep -q '"event":"listening"' "$WORK/served"; do
		[[ -e /proc/$SERVER ]] || { cat "$WORK/served" >&2; return 1; }
		sleep 0.1
	done
}

# The log's content is given up: the next server makes a new log.
down_donard() {
	kill -KILL "$SERVER"
	wait "$SERVER" || true
}

# write_donard BYTES DEPTH
write_donard() {
	peer cacheio "$LAB_ADDR" "$PORT" write 0 "$1" 1 "$BLOCK" "$2" >"$WORK/wrote"
}

# latency_donard BYTES DEPTH - a time a line, in ns
latency_donard() {
	peer cacheio "$LAB_ADDR" "$PORT" time 0 "$1" 1 "$BLOCK" "$2" >"$WORK/times"
}

up_donard-nbd() {
	up_donard
}

down_donard-nbd() {
	down_donard
}

# fio_options BYTES DEPTH
fio_options() {
	printf '%s ' --name=bench --rw=write --bs="$BLOCK" --size="$1" --iodepth="$2" --scramble_buffers=0 \
		--output-format=json --lat_percentiles=1 --clat_percentiles=0 --output=/tmp/fio.json
}

# The plugin acknowledges no write of durable NVRAM before it is durable: it needs no flush.
write_donard-nbd() {
	# shellcheck disable=SC2016  # nbdkit's shell
	peer nbdkit -f -U - donard-cache "server=$LAB_ADDR" timeout=600 \
		--run "fio --ioengine=nbd --uri=\"\$uri\" $(fio_options "$@")" >"$WORK/wrote" 2>&1 ||
		{ cat "$WORK/wrote" >&2; return 1; }
}

# nvmet_up DEVICE - the other guest's node of it is NODE.
nvmet_up() {
	modprobe -a nvmet nvmet-rdma
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	mkdir -p "$NVMET/subsystems/$NQN/namespaces/1" "$NVMET/ports/1"
	echo 1 >"$NVMET/subsystems/$NQN/attr_allow_any_host"
	echo "$1" >"$NVMET/subsystems/$NQN/namespaces/1/device_path"
	echo 1 >"$NVMET/subsystems/$NQN/namespaces/1/enable"
	echo rdma >"$NVMET/ports/1/addr_trtype"
	echo ipv4 >"$NVMET/ports/1/addr_adrfam"
	echo "$LAB_ADDR" >"$NVMET/ports/1/addr_traddr"
	echo "$NVMET_PORT" >"$NVMET/ports/1/addr_trsvcid"
	ln -s "$NVMET/subsystems/$NQN" "$NVMET/ports/1/subsystems/$NQN"
	peer sh -c "modprobe nvme-rdma && nvme connect -t rdma -a $LAB_ADDR -s $NVMET_PORT -n $NQN -i 2 -k 600 \
		-q nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001 \
		-I 00000000-0000-4000-8000-000000000001" >"$WORK/connected" 2>&1 || { cat "$WORK/connected" >&2; return 1; }
	until NODE=$(peer sh -c "cd /sys/class/nvme-subsystem && for one in *; do
			[ \"\$(cat \$one/subsysnqn)\" != $NQN ] || ls \$one; done" | grep -xE 'nvme[0-9]+n1'); do
		sleep 0.1
	done
	until peer test -b "/dev/$NODE"; do
		sleep 0.1
	done
}

nvmet_down() {
	peer nvme disconnect -n "$NQN" >/dev/null
	rm "$NVMET/ports/1/subsystems/$NQN"
	rmdir "$NVMET/ports/1"
	echo 0 >"$NVMET/subsystems/$NQN/namespaces/1/enable"
	rmdir "$NVMET/subsystems/$NQN/namespaces/1" "$NVMET/subsystems/$NQN"
}

# write_nvmet BYTES DEPTH - each with Force Unit Access: O_DSYNC makes them so.
write_nvmet() {
	# shellcheck disable=SC2046  # options
	peer fio --ioengine=libaio --direct=1 --sync=dsync --filename="/dev/$NODE" $(fio_options "$@") >"$WORK/wrote" 2>&1 ||
		{ cat "$WORK/wrote" >&2; return 1; }
}

up_nvmet() {
	nvmet_up "$LAB_ALPHA"
}

down_nvmet() {
	nvmet_down
}

# as_pmem - p2pmem2 as a pmem device.
as_pmem() {
	free_nvram
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem >/dev/null
	modprobe dm-writecache
	dd if=/dev/zero of=/dev/pmem0 bs=1M count=1 oflag=direct status=none
}

as_region() {
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
}

# writecache MODE - over the same NVRAM and drive
writecache() {
	dmsetup create bench-cache --noudevsync --table \
		"0 $(blockdev --getsz "$LAB_ALPHA") writecache $1 $LAB_ALPHA /dev/pmem0 4096 0"
}

up_writecache-s() {
	as_pmem
	writecache s
	nvmet_up "/dev/$(dmsetup info -c --noheadings -o blkdevname bench-cache)"
}

write_writecache-s() {
	write_nvmet "$@"
}

down_writecache-s() {
	nvmet_down
	dmsetup remove --noudevsync bench-cache
	as_region
}

# Mode p writes to memory past the block layer, and asks for memory that needs no barrier but the CPU's.
mode_p() {
	local why
	as_pmem
	if why=$(writecache p 2>&1); then
		dmsetup remove --noudevsync bench-cache
		why=
	fi
	as_region
	sample --arg why "${why//$'\n'/; }" '{purpose: "refused", method: "writecache-p", $why}'
}

# latency_fio METHOD BYTES DEPTH - percentiles, as fio makes them
latency_fio() {
	"write_$1" "$2" "$3"
	peer cat /tmp/fio.json >"$WORK/fio.json"
}

# --- counts ---

# counters NAME... - of the RDMA device, their sum; nothing where it does not count them
counters() {
	local name sum=0 folder=/sys/class/infiniband/$LAB_RDMA_DEVICE/ports/1/hw_counters
	for name; do
		[[ -e $folder/$name ]] || return 0
		sum=$((sum + $(<"$folder/$name")))
	done
	echo "$sum"
}

# counted BEFORE AFTER
counted() {
	[[ -z $1 ]] && echo null || echo $(($2 - $1))
}

# count METHOD DEPTH ROUND WRITES - the trace and the device first, then the meter, of as many writes again.
count() {
	local from sends packets measured
	from=$(stat -c %s /mnt/lab/trace.log)
	sends=$(counters rdma_sends rdma_recvs)
	packets=$(counters sent_pkts rcvd_pkts)
	labctl trace on
	"write_$1" $(($4 * BLOCK)) "$2"
	trace_ends
	sends=$(counted "$sends" "$(counters rdma_sends rdma_recvs)")
	packets=$(counted "$packets" "$(counters sent_pkts rcvd_pkts)")
	tail -c "+$((from + 1))" /mnt/lab/trace.log >"$WORK/trace"
	measured=null
	if [[ -n ${LAB_METER-} ]]; then
		export -f peer "write_$1" write_nvmet fio_options
		export BLOCK PORT NODE WORK
		donard-cli measure --json bash -c "write_$1 $(($4 * BLOCK)) $2" >"$WORK/measured"
		measured=$(<"$WORK/measured")
	fi
	sample --arg method "$1" --argjson queue_depth "$2" --argjson round "$3" --argjson writes "$4" \
		--argjson barriers "$(grep -c 'pci_nvme_mmio_read.*0xe08' "$WORK/trace" || true)" \
		--argjson drive_commands "$(grep -c pci_nvme_io_cmd "$WORK/trace" || true)" \
		--argjson sends "$sends" --argjson packets "$packets" --argjson measured "$measured" \
		'{purpose: "counts", $method, $queue_depth, $round, $writes, $barriers, $drive_commands, $sends, $packets, $measured}'
}

# destaged_bytes METHOD WRITES COMMAND... - what the drives pull meanwhile, and from where
destaged_bytes() {
	local from
	from=$(stat -c %s /mnt/lab/trace.log)
	labctl trace on
	"${@:3}" >"$WORK/destaged"
	trace_ends
	tail -c "+$((from + 1))" /mnt/lab/trace.log >"$WORK/trace"
	labctl map >"$WORK/map"
	witness --json --map "$WORK/map" --trace "$WORK/trace" >"$WORK/witness"
	sample --slurpfile witness "$WORK/witness" --arg method "$1" --argjson bytes $(($2 * BLOCK)) '$witness[0].bytes.write as $w |
		{purpose: "destaged-bytes", $method, $bytes, from_nvram: $w.pmr, from_dram: ($w.ram + $w.elsewhere)}'
}

destage_all() {
	case $1 in
	donard) destaged_bytes "$1" "$2" cacheio "$LAB_ADDR" "$PORT" destage ;;
	writecache-s) destaged_bytes "$1" "$2" dmsetup message bench-cache 0 flush ;;
	esac
}

# Measures two sizes, since the cost of starting and connecting is in both.
counts() {
	local method depth writes
	for method in ${METHODS:-donard donard-nbd nvmet writecache-s}; do
		for depth in ${DEPTHS:-1 16}; do
			say "$method, depth $depth"
			"up_$method"
			for writes in 128 640; do
				count "$method" "$depth" 0 "$writes"
			done
			((depth == 1)) || destage_all "$method" "$writes"
			"down_$method"
		done
	done
	[[ -n ${METHODS-} ]] || mode_p
}

# --- latency, with a drive that takes far longer than the wire ---

readonly SLOW=32768 SLOW_WRITES=32

timed() {
	sample --slurpfile times "$WORK/times" --arg method "$1" --argjson queue_depth "$2" --argjson round "$3" \
		--argjson slow "$SLOW" '($times | sort) as $t | ($t | length) as $n |
		{purpose: "latency", $method, $queue_depth, $round, writes: $n, drive_bytes_per_second: $slow,
		latency_ns: {p50: $t[($n * 500 + 999) / 1000 - 1 | floor], p90: $t[($n * 900 + 999) / 1000 - 1 | floor],
			p99: $t[($n * 990 + 999) / 1000 - 1 | floor], max: $t[-1]}}'
}

timed_by_fio() {
	sample --slurpfile fio "$WORK/fio.json" --arg method "$1" --argjson queue_depth "$2" --argjson round "$3" \
		--argjson slow "$SLOW" '$fio[0].jobs[0].write as $w | $w.lat_ns as $l |
		{purpose: "latency", $method, $queue_depth, $round, writes: $w.total_ios, drive_bytes_per_second: $slow,
		latency_ns: {p50: $l.percentile["50.000000"], p90: $l.percentile["90.000000"],
			p99: $l.percentile["99.000000"], max: $l.max}}'
}

# slowly METHOD DEPTH ROUND
slowly() {
	say "latency of $1, depth $2, round $(($3 + 1)) of $RUNS"
	"up_$1"
	labctl slow alpha "$SLOW"
	if [[ $1 == donard ]]; then
		latency_donard $((SLOW_WRITES * BLOCK)) "$2"
		timed "$@"
	else
		latency_fio "$1" $((SLOW_WRITES * BLOCK)) "$2"
		timed_by_fio "$@"
	fi
	labctl slow alpha 0
	"down_$1"
}

latency() {
	local round method depth
	for ((round = 0; round < RUNS; round++)); do
		for depth in ${DEPTHS:-1 16}; do
			for method in ${METHODS:-donard donard-nbd nvmet writecache-s}; do
				slowly "$method" "$depth" "$round"
			done
		done
	done
}

# --- destage ---

# Two sizes, because the fixed cost of a flush, such as its way to the server and back, is in both. fio writes as many bytes as the log
# holds, as often as it is told, flushes each time, and reports its time in ms.
readonly DESTAGE=($((4 * MIB)) $((24 * MIB))) DESTAGE_BLOCK=$((512 * 1024)) DESTAGE_DEPTH=32 FIO_LOOPS=(1 8)

# destaged METHOD ROUND RATE BYTES SECONDS
destaged() {
	sample --arg method "$1" --argjson round "$2" --argjson rate "$3" --argjson bytes "$4" --argjson seconds "$5" \
		'{purpose: "destage", $method, $round, $bytes, drive_bytes_per_second: $rate, $seconds}'
}

# filled_and_destaged RATE BYTES - the log is filled, and then goes to the drive at once; in TOOK, in ns. Two clients fill it and a
# third times it; the fourth part stays free, or it would begin as soon as the third client came.
filled_and_destaged() {
	local at
	for at in 0 $(($2 / 2)); do
		peer cacheio "$LAB_ADDR" "$PORT" write "$at" $(($2 / 2)) 1 65536 >"$WORK/wrote"
	done
	labctl slow alpha "$1"
	TOOK=$(cacheio "$LAB_ADDR" "$PORT" time-destage)
	labctl slow alpha 0
}

bytes_destaged() {
	donard-cli cache status p2pmem2 --json | jq .destaged_bytes
}

# destage_donard ROUND RATE - each size, behind the largest, which does not count: blocks and memory that nobody has used for a while
# cost an emulator several times as much.
destage_donard() {
	local bytes before
	up_donard 4
	filled_and_destaged 0 "${DESTAGE[-1]}"
	for bytes in "${DESTAGE[@]}"; do
		before=$(bytes_destaged)
		filled_and_destaged "$2" "$bytes"
		[[ $(bytes_destaged) == $((before + bytes)) ]]
		destaged donard "$1" "$2" "$bytes" "$(jq -n "$TOOK / 1000000000")"
	done
	down_donard
}

# fio_writes RATE LOOPS - the most that a log has, in commands as large as the drive takes, so often, with a flush each time.
fio_writes() {
	labctl slow alpha "$1"
	fio --name=destage --aux-path="$WORK" --filename="$LAB_ALPHA" --direct=1 --rw=write --bs="$DESTAGE_BLOCK" \
		--size="${DESTAGE[-1]}" --loops="$2" --iodepth="$DESTAGE_DEPTH" --ioengine=io_uring \
		--iomem=mmapshared:/dev/p2pmem2 --end_fsync=1 \
		--scramble_buffers=0 --output-format=json --output="$WORK/fio.json" >"$WORK/fio.out" 2>&1 ||
		{ cat "$WORK/fio.out" "$WORK/fio.json" >&2; return 1; }
	labctl slow alpha 0
	[[ $(jq '.jobs[0].write.io_bytes' "$WORK/fio.json") == $((${DESTAGE[-1]} * $2)) ]]
}

# destage_fio ROUND RATE - behind a run that does not count, as well
destage_fio() {
	local loops
	free_nvram
	fio_writes 0 1
	for loops in "${FIO_LOOPS[@]}"; do
		fio_writes "$2" "$loops"
		destaged fio "$1" "$2" "$((${DESTAGE[-1]} * loops))" "$(jq '.jobs[0].write | .io_bytes / .bw_bytes' "$WORK/fio.json")"
	done
}

# destage_at RATE ROUNDS
destage_at() {
	local round
	for ((round = 0; round < $2; round++)); do
		say "destage, round $((round + 1)) of $2, the drive at $1 bytes/s (0: unlimited)"
		destage_donard "$round" "$1"
		destage_fio "$round" "$1"
	done
}

# If the drive is not the limit, the host has more influence on the figures, so there are more rounds.
destage() {
	dd if=/dev/urandom of="$LAB_ALPHA" bs=1M count=$((DESTAGE[-1] / MIB)) oflag=direct status=none
	destage_at 0 $((3 * RUNS))
	destage_at $((16 * MIB)) "$RUNS"
}

for part; do
	"$part"
done
donard-cli bench null --rounds 1 --meter none --json |
	jq --slurpfile samples "$WORK/samples" --arg meter "${LAB_METER:+lab}" --argjson rounds "$RUNS" --argjson block "$BLOCK" \
		--arg fabric "$LAB_FABRIC" '. + {benchmark: "cache", options: {$rounds, block_bytes: $block, $fabric}, $samples} +
		if $meter == "" then {} else {$meter} end'
