#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: NVMe -> region by donard, by fio, and through DRAM by donard's own engine.
#   copy.sh rate          MiB/s, median of RUNS, rounds interleaved
#   copy.sh instructions  CPU instructions per MiB (guest booted with --icount)
set -euo pipefail

SIZE_MIB=${SIZE_MIB:-256} RUNS=${RUNS:-5} BLOCK=${BLOCK:-1M} DEPTH=${DEPTH:-16}
REGION=p2pmem0
METHODS=(donard fio bounce)

run_donard() {
	donard-cli copy "$LAB_ALPHA" "$REGION" --size "${SIZE_MIB}M" --block-size "$BLOCK" \
		--queue-depth "$DEPTH" --json "$@" | jq -r --argjson mib "$SIZE_MIB" '$mib / .seconds'
}

run_bounce() {
	run_donard --allow-bounce --force-bounce
}

run_fio() {
	fio --name=peer --filename="$LAB_ALPHA" --rw=read --direct=1 --ioengine=io_uring \
		--bs="$BLOCK" --iodepth="$DEPTH" --size="${SIZE_MIB}M" \
		--iomem="mmapshared:/dev/$REGION" --output-format=json |
		jq -r '.jobs[0].read.bw_bytes / 1048576'
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

measure_rate() {
	local round method dir
	dir=$(mktemp -d)
	for ((round = 0; round < RUNS; round++)); do
		for method in "${METHODS[@]}"; do
			"run_$method" >>"$dir/$method"
		done
	done
	for method in "${METHODS[@]}"; do
		printf '%s %s\n' "$method" "$(median <"$dir/$method")"
	done
}

# User + system time of the whole command, which --icount makes a count: 1 ns is 1 instruction.
# Start-up and set-up are in it; the difference of two sizes takes them out.
cpu_ns() {
	local TIMEFORMAT='%3U %3S'
	{ time "run_$1" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.0f\n", ($1 + $2) * 1e9 }'
}

measure_instructions() {
	local method small large full=$SIZE_MIB
	for method in "${METHODS[@]}"; do
		SIZE_MIB=$((full / 4))
		small=$(cpu_ns "$method")
		SIZE_MIB=$full
		large=$(cpu_ns "$method")
		printf '%s %s\n' "$method" $(((large - small) / (full - full / 4)))
	done
}

# The region's memory is claimed and zeroed once, so that no method pays for that.
run_donard >/dev/null
"measure_$1"
