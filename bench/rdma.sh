#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the first of two guests: bench table1 against servers in the second, and perftest as Debian ships it beside
# it. What is offered: plain memory of the host, a drive's PMR (NVRAM), a GPU-like BAR. JSON on stdout.
set -euo pipefail

ROUNDS=${ROUNDS:-3} BLOCK=${BLOCK:-65536} DEPTH=${DEPTH:-16} COUNT=${COUNT:-300}
# Behind what perftest's servers map.
readonly OFFERED=([7077]=dram [7078]=p2pmem2+16M [7079]=p2pmem0+16M)
readonly PERFTEST_PORT=18515
WORK=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# offer PORT TARGET - the server in the other guest.
offer() {
	labctl peer donard-cli rdma serve "$2" --size 4M --bind "$LAB_PEER_ADDR" --port "$1" --json \
		>"$WORK/$1" </dev/null &
	until grep -q '"event":"listening"' "$WORK/$1"; do
		sleep 0.1
	done
}

# offer_perftest PORT [ARGUMENT...] - its servers there. A client that comes too early tries again.
offer_perftest() {
	labctl peer perftest-servers "$1" -d "$LAB_RDMA_DEVICE" -s "$BLOCK" -n "$COUNT" "${@:2}" \
		>>"$WORK/perftest" 2>&1 </dev/null &
}

for port in "${!OFFERED[@]}"; do
	offer "$port" "${OFFERED[$port]}"
done
offer_perftest "$PERFTEST_PORT"
offer_perftest $((PERFTEST_PORT + 4)) --mmap=/dev/p2pmem2
offer_perftest $((PERFTEST_PORT + 8)) --mmap=/dev/p2pmem0
donard-cli bench table1 "dram=$LAB_PEER_ADDR" "nvram=$LAB_PEER_ADDR:7078" "gpu=$LAB_PEER_ADDR:7079" --perftest \
	--perftest-port "$PERFTEST_PORT" --block-size "$BLOCK" --queue-depth "$DEPTH" --iterations "$COUNT" \
	--rounds "$ROUNDS" --timeout 300 --meter none --json
