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

# Execution time of everything in a control group, exact to the microsecond; with --icount 1 ns is one
# instruction. Interrupts that meet an idle CPU are in nobody's account, whichever the method.
instructions_of() {
	local group=/sys/fs/cgroup/bench-$BASHPID
	mkdir "$group"
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		"run_$1" >/dev/null
	)
	awk '$1 == "usage_usec" { print $2 * 1000 }' "$group/cpu.stat"
	rmdir "$group"
}

# Start-up and set-up take their share; the difference of two sizes leaves it out.
per_mib() {
	local small large full=$SIZE_MIB
	SIZE_MIB=$((full / 4))
	small=$(instructions_of "$1")
	SIZE_MIB=$full
	large=$(instructions_of "$1")
	echo $(((large - small) / (full - full / 4)))
}

measure_instructions() {
	local round method
	for method in "${METHODS[@]}"; do
		printf '%s %s\n' "$method" \
			"$(for ((round = 0; round < RUNS; round++)); do per_mib "$method"; done | median)"
	done
}

mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
# The region's memory is claimed and zeroed once, so that no method pays for that.
run_donard >/dev/null
"measure_$1"
