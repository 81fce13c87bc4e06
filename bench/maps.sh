#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: how often the kernel maps and unmaps memory for DMA, and enters it into an IOMMU's tables, for each
# command that moves a block into region p2pmem0, as JSON. Counted are the calls of the kernel's functions by which all
# drivers do that; of two runs of different length the difference, so that what comes once does not show.
set -euo pipefail
shopt -s nullglob

readonly MIB=$((1 << 20)) TRACING=/sys/kernel/tracing KPROBES=/sys/kernel/tracing/events/kprobes
readonly KEY='hist:keys=common_pid'

# Counts the first function of a line that the kernel has: the others on the line call it, or are missing in later kernels.
readonly MAPS=('dma_map_phys dma_map_page_attrs' 'dma_iova_link' '__dma_map_sg_attrs')
readonly UNMAPS=('dma_unmap_phys dma_unmap_page_attrs' 'dma_iova_destroy' 'dma_unmap_sg_attrs')
readonly TABLES='iommu_map_nosync iommu_map'

# probe NAME FUNCTION... - in $KPROBES/NAME. Returns 1 if the kernel has none of them.
probe() {
	local name=$1 function
	for function in "${@:2}"; do
		grep -qE " [tT] $function( |$)" /proc/kallsyms || continue
		echo "p:$name $function" >>"$TRACING/kprobe_events" && return
		echo "maps.sh: no probe can be placed in $function." >&2
		exit 1
	done
	return 1
}

# must_probe NAME FUNCTION... - what each kernel has: without it a count of 0 would mean nothing.
must_probe() {
	probe "$@" && return
	echo "maps.sh: this kernel has none of the functions ${*:2}. Add the one that took their place." >&2
	exit 1
}

# A kernel with iommu_map_nosync() has it called by all others.
probe_all() {
	local i name
	: >"$TRACING/kprobe_events"
	# shellcheck disable=SC2086  # functions
	{ must_probe maps0 ${MAPS[0]}; must_probe unmaps0 ${UNMAPS[0]}; must_probe tables0 $TABLES; }
	for ((i = 1; i < ${#MAPS[@]}; i++)); do
		# shellcheck disable=SC2086
		probe "maps$i" ${MAPS[i]} || true
		# shellcheck disable=SC2086
		probe "unmaps$i" ${UNMAPS[i]} || true
	done
	! grep -qE ' [tT] iommu_map_nosync( |$)' /proc/kallsyms || return 0
	for name in 'tables1 iommu_map_sg' 'tables2 iommu_map_atomic' 'tables3 iommu_map_sg_atomic'; do	# some before Linux 6.2
		# shellcheck disable=SC2086  # a name and a function
		probe $name || true
	done
}

events() {
	printf '%s\n' "$KPROBES"/* "$TRACING/events/nvme/nvme_setup_cmd" | grep -vE '/(enable|filter)$'
}

start_counting() {
	local event
	for event in $(events); do
		echo "!$KEY" >"$event/trigger" 2>/dev/null || true
		echo "$KEY" >"$event/trigger"
	done
}

# hits NAME - of the events whose name begins so.
hits() {
	cat /dev/null "$TRACING"/events/{kprobes,nvme}/"$1"*/hist | awk '/Hits:/ { sum += $2 } END { print sum + 0 }'
}

# moved METHOD BLOCK BYTES
moved() {
	case $1 in
	queue* | fio*)	# queue-registered is refused where the kernel registers no such memory
		donard-bench queue "$LAB_ALPHA" p2pmem0 --methods "$1" --size "$3" --block-sizes "$2" --queue-depths 1 --meter none ;;
	donard) donard-cli copy "$LAB_ALPHA" p2pmem0 --size "$3" --block-size "$2" ;;
	donard-passthrough) donard-cli copy "$LAB_ALPHA" p2pmem0 --size "$3" --block-size "$2" --passthrough ;;
	esac >/dev/null 2>/tmp/said
}

# Waits for unmaps that come a moment after the completion, for a second at most, since Linux leaves some unmaps out.
until_unmapped() {
	local i
	for ((i = 0; i < 10; i++)); do
		sleep 0.1
		(($(hits unmaps) < $(hits maps))) || return 0
	done
}

# counted METHOD BLOCK BYTES - "commands maps unmaps tables"; fails where the method does not work here.
counted() {
	start_counting
	moved "$@" || return
	until_unmapped
	echo "$(hits nvme_setup_cmd) $(hits maps) $(hits unmaps) $(hits tables)"
}

# sample METHOD PAGES BLOCK
sample() {
	local short long
	local -a s l
	short=$(counted "$1" "$3" $((4 * $3 > MIB ? 4 * $3 : MIB))) || return 0
	long=$(counted "$1" "$3" $((20 * $3 > 5 * MIB ? 20 * $3 : 5 * MIB))) || return 0
	read -ra s <<<"$short"
	read -ra l <<<"$long"
	jq -nc --arg method "$1" --arg pages "$2" --argjson block "$3" --argjson commands $((l[0] - s[0])) \
		--argjson maps $((l[1] - s[1])) --argjson unmaps $((l[2] - s[2])) --argjson tables $((l[3] - s[3])) \
		'{ method: $method, page_type: $pages, block_bytes: $block, commands: $commands, maps: $maps, unmaps: $unmaps,
		   iommu_maps: $tables }'
}

# no_route PAGES - that a queue was refused for it; any other failure is one of this benchmark.
no_route() {
	grep -q 'cannot reach' /tmp/said || { cat /tmp/said >&2; exit 1; }
	jq -nc --arg pages "$1" --rawfile why /tmp/said \
		'{ method: "queue", page_type: $pages, block_bytes: null, commands: 0, maps: 0, unmaps: 0, iommu_maps: 0, $why }'
}

# Tries again for a while: a process releases the region a moment after its end.
page_type() {
	local i
	for ((i = 0; i < 100; i++)); do
		! echo "$1" 2>/dev/null >/sys/class/p2pmem/p2pmem0/page_type || return 0
		sleep 0.1
	done
	return 1
}

samples() {
	local pages block method
	for pages in generic p2pdma; do
		page_type "$pages" || continue
		# Without a route for the queue there is nothing to compare the other methods with.
		moved queue $((64 << 10)) "$MIB" || { no_route "$pages"; continue; }
		for block in $((4 << 10)) $((64 << 10)) $MIB; do
			for method in queue queue-registered donard donard-passthrough fio fio-fixed; do
				sample "$method" "$pages" "$block"
			done
		done
	done
}

mountpoint -q "$TRACING" || mount -t tracefs tracefs "$TRACING"
modprobe -q nvme
probe_all
samples | jq -sc --arg kernel "$(uname -r)" --arg donard "$(donard-cli version | awk 'NR == 1 { print $NF }')" \
	--arg topology "$LAB_TOPOLOGY" '{ benchmark: "maps", donard: $donard, kernel: $kernel, emulated: true, topology: $topology,
	   meter: null, options: {}, samples: . }'
