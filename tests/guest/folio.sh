# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Memory in folios of 2 MiB, by folio.c: what programs see does not depend on them, and none stays behind.

LARGE=()
! has_folios || LARGE=(--large)

of_folio() {
	folio "$1" "${LARGE[@]}"
	within 10 region_is_free p2pmem0
	echo 1 >/proc/sys/vm/stat_refresh
	equal "2 MiB entries left behind" 0 "$(awk '$1 == "nr_file_pmdmapped" { print $2 }' /proc/vmstat)"
}

# A pin on one page keeps its whole folio, and only that, from a new owner.
pinned_folio_is_kept() {
	holder vmsplice p2pmem0 $((4 * MIB)) >"$WORK/holder" &
	local pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 10 grep -qx ready "$WORK/holder"
	matches holders "^$pid holder [0-9]+ [1-9]" "$(attr p2pmem0 holders)"
	folio owners "${LARGE[@]}"
	kill -USR2 "$pid"
	within 10 region_is_free p2pmem0
}

t "whole chunks are mapped at once" of_folio whole-chunks
t "odd mappings fall back" of_folio odd-mappings
t "pieces can be unmapped" of_folio pieces
t "children share" of_folio children
t "a mapping can move" of_folio moving
t "owners of all sizes mix" of_folio owners
t "faults of both sizes race" of_folio race
t "a pinned folio is kept" pinned_folio_is_kept
