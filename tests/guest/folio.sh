# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Memory mapped by entries of 2 MiB, in folios of that size or not, by folio.c: what programs see does not depend on them, and none stays behind.

LARGE=()
! can folios || LARGE=(--large)

# of_folio TEST [REGION]
of_folio() {
	folio "$1" "${2:-p2pmem0}" "${LARGE[@]}"
	within 10 region_is_free "${2:-p2pmem0}"
	echo 1 >/proc/sys/vm/stat_refresh
	exactly "2 MiB entries left behind" 0 "$(awk '$1 == "nr_file_pmdmapped" { print $2 }' /proc/vmstat)"
}

# A pin on one page keeps all of its extent from new owners, who mix beside it.
pinned_folio_is_kept() {
	holder vmsplice p2pmem0 $((4 * MIB)) >"$WORK/holder" &
	local pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 10 grep -qx ready "$WORK/holder"
	matches holders "^$pid holder [0-9]+ [1-9]" "$(attr p2pmem0 holders)"
	folio owners p2pmem0 "${LARGE[@]}"
	kill -USR2 "$pid"
	within 10 region_is_free p2pmem0
}

# madvise() of some kernels takes entries of device memory for broken ones, and clears them.
advised() {
	dmesg -C
	of_folio advice
	exactly "complaints of the kernel" "" "$(dmesg | grep -i 'bad pmd')"
}

as_p2pdma() {
	with_page_type p2pmem0 p2pdma
	"$@"
}

# with_folios COMMAND... - the region's struct pages are folios of 2 MiB from the beginning.
with_folios() {
	donard-cli region remove p2pmem0
	at_end "donard-cli region remove p2pmem0; donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2; give_to_group p2pmem0"
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --folio 2M
	"$@"
}

# A kernel that has none says so, and nothing changes.
folios_refused() {
	exits 3 'Linux 7.0' donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --folio 2M
	equal "folio size of the region that is there" 4096 "$(attr p2pmem0 folio_bytes)"
}

core t "whole chunks are mapped at once" of_folio whole-chunks
! can chunks || core t "whole chunks need no page tables" of_folio no-tables
core t "odd mappings fall back" of_folio odd-mappings
core t "pieces can be unmapped" of_folio pieces
core t "children share" of_folio children
core t "a mapping can move" of_folio moving
core t "advice changes nothing" advised
t "markers of userfaultfd are refused" of_folio markers
t "file and memory out of step" of_folio out-of-step
t "owners of all sizes mix" of_folio owners
t "faults of both sizes race" of_folio race
t "a pinned folio is kept" pinned_folio_is_kept
# The nvme driver keeps the first part of its CMB for itself.
for test in whole-chunks owners; do
	t "a cmb, from amid a chunk on: $test" of_folio "$test" p2pmem1
done
! can chunks || t "a cmb, from amid a chunk on: no-tables" of_folio no-tables p2pmem1
if can folios; then
	for test in whole-chunks odd-mappings pieces moving owners race; do
		t "struct pages in folios: $test" with_folios of_folio "$test"
	done
else
	t "struct pages in folios: refused" folios_refused
fi
if can p2pdma; then
	# The kernel lets neither madvise() nor vmsplice() have these pages, which the other tests need.
	for test in whole-chunks odd-mappings pieces children moving owners; do
		t "p2pdma pages: $test" as_p2pdma of_folio "$test"
	done
fi
