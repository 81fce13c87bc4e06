#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the first of two guests: RDMA write and read into memory of the second, by target, and perftest as
# Debian ships it for comparison. JSON in the form of donard-cli bench, rounds interleaved; a sample is
#   {fabric, operation, target, method, round, block_bytes, queue_depth, bytes_per_second} and, of donard,
#   {..., latency_ns, pings, server_cpu_seconds_per_gib, server_faults, verified}
# Samples of donard and of perftest of the same round are neighbours in time.
set -euo pipefail

RUNS=${RUNS:-3} BLOCK=${BLOCK:-65536} DEPTH=${DEPTH:-16} COUNT=${COUNT:-300} PINGS=${PINGS:-100}
# The offered memory: plain memory of the host, a drive's PMR (NVRAM), a GPU-like BAR.
readonly TARGETS=(dram p2pmem2 p2pmem0)
readonly PERFTEST_PORT=18515
WORK=$(mktemp -d)

# offer TARGET - the server, in the other guest, for the clients of by_donard.
offer() {
	: >"$WORK/served"
	labctl peer donard-cli rdma serve "$1" --size 4M --bind "$LAB_PEER_ADDR" --clients 3 --fill --json \
		>"$WORK/served" </dev/null &
	until grep -q '"event":"listening"' "$WORK/served"; do
		sleep 0.1
	done
}

# run_client OPERATION bw|lat [ARGUMENT...] - leaves $WORK/$2, and what the server said of it in $WORK/left.
run_client() {
	local before
	before=$(grep -c '"event":"left"' "$WORK/served" || true)
	donard-cli rdma "$2" "$LAB_PEER_ADDR" --direction "$1" --json "${@:3}" >"$WORK/$2"
	until (($(grep -c '"event":"left"' "$WORK/served" || true) > before)); do
		sleep 0.1
	done
	grep '"event":"left"' "$WORK/served" | tail -n 1 >"$WORK/left"
}

# Prints the target's name in the report.
name_of_target() {
	case $1 in
	p2pmem2) echo nvram ;;
	p2pmem0) echo gpu ;;
	*) echo "$1" ;;
	esac
}

# sample METHOD OPERATION TARGET ROUND FILTER [FILE...] - with what the filter makes of the files.
sample() {
	jq -sc --arg fabric "$LAB_FABRIC" --arg method "$1" --arg operation "$2" --argjson round "$4" \
		--arg target "$(name_of_target "$3")" --argjson block_bytes "$BLOCK" --argjson queue_depth "$DEPTH" \
		"{\$fabric, \$operation, \$target, \$method, \$round, \$block_bytes, \$queue_depth} + ($5)" \
		"${@:6}" >>"$WORK/samples"
}

# by_donard OPERATION TARGET ROUND - one block again and again, as perftest does it; the same with data compared,
# so that what the rate stands for is true; and single requests.
by_donard() {
	local verified filter
	offer "$2"
	run_client "$1" bw --block-size "$BLOCK" --queue-depth "$DEPTH" --iterations $((DEPTH * 2)) --verify
	verified=$(jq .verified "$WORK/bw")
	run_client "$1" lat --block-size 64 --iterations "$PINGS"
	run_client "$1" bw --block-size "$BLOCK" --size "$BLOCK" --queue-depth "$DEPTH" --iterations "$COUNT"
	wait
	filter='{bytes_per_second: .[0].bytes_per_second, latency_ns: .[2].latency_ns, pings: .[2].requests,
		server_cpu_seconds_per_gib: ((.[1].user_seconds + .[1].system_seconds) * 1073741824 / .[0].bytes),
		server_faults: (.[1].minor_faults + .[1].major_faults), verified: '$verified'}'
	sample donard "$1" "$2" "$3" "$filter" "$WORK/bw" "$WORK/left" "$WORK/lat"
}

# perftest_listens OPERATION SERVER - when the server has ended instead, the client finds that out.
perftest_listens() {
	local there="[ -n \"\$(rdma resource show cm_id | grep 'state LISTEN .*comm ib_$1_bw')\" ]"
	# For siw that comes to a TCP socket of the kernel's, a moment later.
	[[ $LAB_FABRIC != siw ]] || there+=" && [ -n \"\$(ss -Hltn 'sport = :$PERFTEST_PORT')\" ]"
	until labctl peer sh -c "$there" </dev/null; do
		[[ -e /proc/$2 ]] || return
		sleep 0.2
	done
	# The state is set a moment before the transport takes connections.
	sleep 0.5
}

# rate_of_perftest - bytes a second; its columns: bytes, iterations, peak, average MiB/s. None when it made no sense of
# its clock on a busy host.
rate_of_perftest() {
	awk -v bytes="$BLOCK" '$1 == bytes && $4 ~ /^[0-9.]+$/ && $4 > 0 { print $4 * 1048576; found = 1 }
		END { exit !found }' "$WORK/client"
}

# run_perftest OPERATION TARGET - the same requests by ib_write_bw or ib_read_bw, from plain memory as well.
run_perftest() {
	local server status=0
	local -a command=("ib_$1_bw" -R -d "$LAB_RDMA_DEVICE" -s "$BLOCK" -t "$DEPTH" -n "$COUNT" -p "$PERFTEST_PORT")
	local -a there=("${command[@]}")
	[[ $2 == dram ]] || there+=("--mmap=/dev/$2")
	labctl peer "${there[@]}" >"$WORK/server" 2>&1 </dev/null &
	server=$!
	perftest_listens "$1" "$server"
	timeout 300 "${command[@]}" "$LAB_PEER_ADDR" >"$WORK/client" 2>&1 || status=$?
	((status == 0)) || kill "$server" 2>/dev/null || true
	wait "$server" || status=$?
	((status == 0)) && rate_of_perftest >"$WORK/rate"
}

# by_perftest OPERATION TARGET ROUND - perftest may fail to connect on a busy host, or not end; then once more.
by_perftest() {
	local tries=1
	until run_perftest "$1" "$2"; do
		echo "bench: ib_$1_bw failed: $(tail -qn 1 "$WORK/client" "$WORK/server" | paste -sd' ')" >&2
		((tries++ < 3)) || return 1
	done
	sample perftest "$1" "$2" "$3" '{bytes_per_second: .[0]}' "$WORK/rate"
}

# The two take turns to go first, so that a warm cache favours neither.
pair() {
	if (($3 % 2)); then
		by_perftest "$@"
		by_donard "$@"
	else
		by_donard "$@"
		by_perftest "$@"
	fi
}

for ((round = 0; round < RUNS; round++)); do
	for operation in write read; do
		for target in "${TARGETS[@]}"; do
			echo "bench: $LAB_FABRIC, round $((round + 1)) of $RUNS: $operation, $target" >&2
			pair "$operation" "$target" "$round"
		done
	done
done

# The same words about machine and versions as everywhere.
donard-cli bench null --rounds 1 --meter none --json |
	jq --slurpfile samples "$WORK/samples" --argjson rounds "$RUNS" --argjson count "$COUNT" \
		'. + {benchmark: "table1", options: {$rounds, iterations: $count}, $samples}'
