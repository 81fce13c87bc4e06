#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the first of two guests: RDMA write and read into memory of the second, by target, and perftest as
# Debian ships it for comparison. A JSON object a sample, rounds interleaved:
#   {fabric, operation, target, method, bytes_per_second, p50_ns, p99_ns, cpu_seconds_per_gib, faults, verified}
set -euo pipefail

RUNS=${RUNS:-3} BLOCK=${BLOCK:-65536} DEPTH=${DEPTH:-16} COUNT=${COUNT:-300} PINGS=${PINGS:-200}
# What is offered: plain memory of the host, a drive's PMR (NVRAM), a GPU-like BAR.
readonly TARGETS=(dram p2pmem2 p2pmem0)
readonly PERFTEST_PORT=18515
WORK=$(mktemp -d)

# offer TARGET - the server, in the other guest, for one client.
offer() {
	labctl peer donard-cli rdma serve "$1" --size 16M --bind "$LAB_PEER_ADDR" --once --json >"$WORK/served" </dev/null &
	until grep -q '"event":"listening"' "$WORK/served"; do
		sleep 0.1
	done
}

# run_client OPERATION bw|lat TARGET [ARGUMENT...] - leaves $WORK/client.
run_client() {
	offer "$3"
	donard-cli rdma "$2" "$LAB_PEER_ADDR" --direction "$1" --json "${@:4}" >"$WORK/client"
	wait
}

served() {
	jq -r "select(.event == \"left\") | $1" "$WORK/served"
}

# by_donard OPERATION TARGET
by_donard() {
	local rate cpu faults verified
	run_client "$1" bw "$2" --block-size "$BLOCK" --queue-depth "$DEPTH" --iterations "$COUNT"
	rate=$(jq .bytes_per_second "$WORK/client")
	cpu=$(served "(.user_seconds + .system_seconds) * 1073741824 / $((BLOCK * COUNT))")
	faults=$(served '.minor_faults + .major_faults')
	run_client "$1" bw "$2" --block-size "$BLOCK" --queue-depth "$DEPTH" --verify
	verified=$(jq .verified "$WORK/client")
	run_client "$1" lat "$2" --block-size 64 --iterations "$PINGS"
	jq -c --arg fabric "$LAB_FABRIC" --arg operation "$1" --arg target "$2" --argjson rate "$rate" \
		--argjson cpu "$cpu" --argjson faults "$faults" --argjson verified "$verified" \
		'{$fabric, $operation, $target, method: "donard", bytes_per_second: $rate,
		  p50_ns: .latency_ns.p50, p99_ns: .latency_ns.p99, cpu_seconds_per_gib: $cpu, $faults, $verified}' \
		"$WORK/client"
}

# by_perftest OPERATION TARGET - the same requests by ib_write_bw or ib_read_bw.
by_perftest() {
	local -a command=("ib_$1_bw" -R -d "$LAB_RDMA_DEVICE" -s "$BLOCK" -t "$DEPTH" -n "$COUNT" -p "$PERFTEST_PORT")
	[[ $2 == dram ]] || command+=("--mmap=/dev/$2")
	labctl peer "${command[@]}" >"$WORK/server" 2>&1 </dev/null &
	until labctl peer rdma resource show cm_id </dev/null | grep -q "state LISTEN .*comm ib_$1_bw"; do
		sleep 0.2
	done
	sleep 0.5
	"${command[@]}" "$LAB_PEER_ADDR" >"$WORK/client" 2>&1
	wait
	# Its columns: bytes, iterations, peak, average MiB/s.
	awk -v bytes="$BLOCK" '$1 == bytes { print $4 * 1048576 }' "$WORK/client" |
		jq -c --arg fabric "$LAB_FABRIC" --arg operation "$1" --arg target "$2" \
			'{$fabric, $operation, $target, method: "perftest", bytes_per_second: .}'
}

for ((round = 0; round < RUNS; round++)); do
	for operation in write read; do
		for target in "${TARGETS[@]}"; do
			by_donard "$operation" "$target"
			by_perftest "$operation" "$target"
		done
	done
done
