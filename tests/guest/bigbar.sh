# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A large BAR in struct pages of 4 KiB each and in folios of 2 MiB and 1 GiB, by bigbar.c: what they cost, what has one owner, and that no reference stays behind.

# shellcheck source=removal.sh
. ./removal.sh

readonly GIB=$((1 << 30))

# added FOLIO [OPTION...] - p2pmem0 with folios of that size, until another is asked for.
added() {
	if region_exists p2pmem0; then
		[[ $(attr p2pmem0 folio_bytes) != "$1" || $# -gt 1 ]] || return 0
		within 10 region_is_free p2pmem0
		donard-cli region remove p2pmem0
	fi
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type generic --folio "$@" >/dev/null
	equal "folio size" "$1" "$(attr p2pmem0 folio_bytes)"
}

# of_bigbar FOLIO TEST [DRIVE]
of_bigbar() {
	added "$1"
	bigbar "$2" p2pmem0 "$1" "${@:3}"
	within 10 region_is_free p2pmem0
}

memory_of_struct_pages() {
	awk '$1 == "nr_memmap_pages" { print $2 }' /proc/vmstat
}

# The struct pages take 64 bytes for each page of 4 KiB, or two pages for each folio (VMEMMAP_RESERVE_NR, include/linux/mm.h).
struct_pages_cost() {
	local folio cost before bytes
	added 4096
	bytes=$(attr p2pmem0 size)
	for folio in $((2 << 20)) $GIB 4096; do
		region_gone p2pmem0 || donard-cli region remove p2pmem0
		before=$(memory_of_struct_pages)
		added "$folio"
		cost=$(($(memory_of_struct_pages) - before))
		echo "folios of $folio bytes: $cost pages of memory for struct pages"
		if ((folio == 4096)); then
			equal "of struct pages of 4 KiB each" $((bytes * 64 / 4096 / 4096)) "$cost"
		else
			equal "of folios of $folio bytes" $((bytes * 2 / folio)) "$cost"
		fi
	done
}

# One fault maps 1 GiB; single pages are mapped 512 at a time. Memory that must be zeroed first is zeroed in pieces, which are no faults.
one_entry_maps_a_folio() {
	local before
	added "$GIB"
	before=$(attr p2pmem0 statistics/faults)
	bigbar costs p2pmem0 "$GIB" >"$WORK/costs"
	equal "faults of 6 mappings by one entry, and 5 by pages" $((6 + 5 * 512)) \
		$(($(attr p2pmem0 statistics/faults) - before))
	within 10 region_is_free p2pmem0
}

# pages_alone FOLIO - a user who lacks a capability.
pages_alone() {
	added "$1"
	give_to_group p2pmem0
	as user bigbar pages p2pmem0 "$1"
	within 10 region_is_free p2pmem0
}

# Two places in one folio, which one claim takes.
copied_within_a_folio() {
	added "$1"
	data_on_alpha "$MIB"
	copy "$LAB_ALPHA" p2pmem0 --size 1M
	copy p2pmem0 p2pmem0+1M --size 1M --verify
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/data" "$MIB" "$MIB"
	within 10 region_is_free p2pmem0
}

# exported FOLIO - a dma-buf of a piece; its owner keeps the whole folio, and a removal takes it away.
exported() {
	added "$1"
	[[ -d /sys/module/importer ]] || insmod /opt/donard/modules/importer.ko
	dmabuf open p2pmem0 export $((3 * 4096)) "$MIB" mmap fill 0x5a sum munmap attach revocable "$LAB_ALPHA_BDF" \
		map both unmap detach close-importer close-dmabuf close-region
	within 10 region_is_free p2pmem0
}

witnessed() {
	of_bigbar "$1" direct "$LAB_ALPHA"
	dd if="$(backing alpha)" of="$WORK/disk" bs=1M count=1 status=none
	# The same bytes lie in the BAR, where the region's first folio is.
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/disk" "$MIB"
}

# fabric_here - soft RDMA on an interface without a wire.
fabric_here() {
	modprobe rdma_rxe
	ip link add bigbar0 type dummy
	at_end "rdma link delete bigbar_rxe; rmmod rdma_rxe; ip link delete bigbar0"
	ip addr add 10.79.0.1/24 dev bigbar0
	ip link set bigbar0 up
	rdma link add bigbar_rxe type rxe netdev bigbar0
}

# pinned HOLDER FOLIO BYTES - the pin of a closed mapping keeps whole folios, and a removal waits for it.
pinned() {
	[[ $1 != longterm ]] || fabric_here
	added "$2"
	holder "$1" p2pmem0 "$3" >"$WORK/holder" &
	local pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 60 grep -qx ready "$WORK/holder"
	matches holders "^$pid holder $(($3 > $2 ? $3 : $2)) [1-9]" "$(attr p2pmem0 holders)"
	in_background donard-cli region remove p2pmem0
	event_waits "$pid holder"
	kill -USR2 "$pid"
	event_succeeds
	region_gone p2pmem0 || fail "the region is still there"
}

# removed_while_mapped FOLIO - the mapping gets SIGBUS, whatever entries it has.
removed_while_mapped() {
	added "$1"
	holder mapping p2pmem0 "$GIB" >"$WORK/holder" &
	local pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 60 grep -qx ready "$WORK/holder"
	donard-cli region remove p2pmem0
	kill -USR1 "$pid"
	within 10 grep -qx sigbus "$WORK/holder"
	kill -USR2 "$pid"
}

# in_pieces LIST - "bench setup" allocates and frees memory of which so many pieces are free. Before that, it claims every second
# granule, by one call each. The program replaces the shell.
in_pieces() {
	exec donard-cli bench setup p2pmem0 --sizes 4K --live 0 --pieces "$1" --rounds 1 --json >"$WORK/setup" 2>"$WORK/said"
}

readonly MANY=1000000

# Uses this guest's clock, so the bound is far from both outcomes: a thousand times the time if it is linear, a million times if not.
a_million_pieces() {
	local method times
	added 4096
	(in_pieces "1000,$MANY") || fail "bench setup: $(<"$WORK/said")"
	for method in allocate free; do
		times=$(jq --arg method "$method pieces" '[.samples[] | select(.method == $method).seconds] | .[1] / .[0] | floor' "$WORK/setup")
		echo "$method: a million pieces take $times times as long as a thousand"
		((times < 30000)) || fail "$method: expected less than 30000"
	done
	within 10 region_is_free p2pmem0
}

pieces_are_claimed() {
	(($(attr p2pmem0 size) - $(attr p2pmem0 available) > MANY * 4096 / 4))
}

# with_pieces - while they are claimed; sets "claimer".
with_pieces() {
	added 4096
	in_pieces "$MANY" &
	claimer=$!
	at_end "kill -KILL $claimer 2>/dev/null || true"
	within 30 pieces_are_claimed
}

killed_among_pieces() {
	local claimer
	with_pieces
	kill -KILL "$claimer"
	within 10 region_is_free p2pmem0
	(in_pieces 1000) || fail "bench setup: $(<"$WORK/said")"
}

removed_among_pieces() {
	local claimer
	with_pieces
	donard-cli region remove p2pmem0
	! wait "$claimer" || fail "all was claimed of a region that is gone"
	matches "bench setup" 'No such device. The region is being removed' "$(<"$WORK/said")"
}

refusals() {
	local add=(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2)
	region_gone p2pmem0 || donard-cli region remove p2pmem0
	exits 2 'choose one of 4K, 2M, 1G' "${add[@]}" --folio 4M
	exits 3 'p2pdma itself, 4 KiB each[^;]*$' "${add[@]}" --page-type p2pdma --folio 2M
	exits 1 'multiples of 1024 MiB.*smaller folios, or choose an offset' "${add[@]}" --page-type generic --folio 1G --offset 2M
	exits 1 'multiples of 1024 MiB' "${add[@]}" --page-type generic --folio 1G --length 64M
	added "$GIB"
	exits 3 'large folios.*--folio 4096' donard-cli region set p2pmem0 --page-type p2pdma
	equal "info" "$GIB" "$(donard-cli info p2pmem0 --json | jq .folio)"
	matches "list" '1 GiB' "$(donard-cli list)"
}

# A processor without entries of 1 GiB faults on one.
no_large_entries() {
	donard-cli region remove p2pmem0
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2; give_to_group p2pmem0"
	exits 3 'pdpe1gb in /proc/cpuinfo.*folios of 2 MiB' \
		donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --folio 1G
	region_gone p2pmem0 || fail "there is a region all the same"
}

if [[ $LAB_TOPOLOGY == high-bar ]]; then
	t "a processor without entries of 1 GiB" no_large_entries
	return
fi
t "what struct pages cost" struct_pages_cost
t "a million pieces" a_million_pieces
t "killed among a million pieces" killed_among_pieces
t "removed among a million pieces" removed_among_pieces
for size in $((2 << 20)) $GIB; do
	for test in owners zeros whole-zeros claims walks race others no-access children moving odd cuts; do
		t "folios of $((size >> 20)) MiB: $test" of_bigbar "$size" "$test"
	done
	t "folios of $((size >> 20)) MiB: direct I/O" witnessed "$size"
	t "folios of $((size >> 20)) MiB: removed while mapped" removed_while_mapped "$size"
	t "folios of $((size >> 20)) MiB: an RDMA memory region" pinned longterm "$size" $((8 << 20))
	t "folios of $((size >> 20)) MiB: copied within one" copied_within_a_folio "$size"
	t "folios of $((size >> 20)) MiB: a dma-buf" exported "$size"
	t "folios of $((size >> 20)) MiB: a user without privileges" pages_alone "$size"
done
t "folios of 1024 MiB: all of one in an RDMA memory region" pinned longterm "$GIB" "$GIB"
t "folios of 1024 MiB: a page in a pipe" pinned vmsplice "$GIB" 4096
t "folios of 1024 MiB: a ring's buffer" pinned ring "$GIB" $((8 << 20))
t "folios of 1024 MiB: one entry maps one" one_entry_maps_a_folio
t "refusals" refusals
