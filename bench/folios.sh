#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest: what a large BAR costs with struct pages of each size, as JSON.
set -euo pipefail

readonly SIZES=(4096 $((2 << 20)) $((1 << 30)))

struct_pages() {
	awk '$1 == "nr_memmap_pages" { print $2 * 4096 }' /proc/vmstat
}

free_memory() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "MemFree:" { print $2 * 1024 }' /proc/meminfo
}

# sample METHOD FOLIO KEY VALUE
sample() {
	jq -nc --arg method "$1" --argjson folio "$2" --arg key "$3" --argjson value "$4" \
		'{ method: $method, folio_bytes: $folio, ($key): $value }'
}

# of_size FOLIO - samples of a region that is added with such folios.
of_size() {
	local folio=$1 pages memory began kind map pin
	pages=$(struct_pages)
	memory=$(free_memory)
	began=$EPOCHREALTIME
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type generic --folio "$folio" >/dev/null
	sample add "$folio" seconds "$(echo "$began $EPOCHREALTIME" | awk '{ print $2 - $1 }')"
	sample "struct pages" "$folio" bytes $(($(struct_pages) - pages))
	sample memory "$folio" bytes $((memory - $(free_memory)))
	bigbar costs p2pmem0 "$folio" >/tmp/costs
	while read -r kind map pin; do
		sample "map, $kind" "$folio" seconds "$map"
		sample "pin, $kind" "$folio" seconds "$pin"
	done </tmp/costs
	donard-cli region remove p2pmem0 >/dev/null
}

bytes=$(</sys/class/p2pmem/p2pmem0/size)
donard-cli region remove p2pmem0 >/dev/null
for size in "${SIZES[@]}"; do
	of_size "$size"
done | jq -sc --arg kernel "$(uname -r)" --arg donard "$(donard-cli version | awk 'NR == 1 { print $NF }')" \
	--arg topology "$LAB_TOPOLOGY" --argjson bytes "$bytes" \
	'{ benchmark: "folios", donard: $donard, kernel: $kernel, emulated: true, topology: $topology, meter: null,
	   options: { region_bytes: $bytes, mapped_bytes: 1073741824 }, samples: . }'
