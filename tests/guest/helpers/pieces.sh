# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What an ordinary opener can do to others by owning memory in as many pieces as there are. Work is
# counted (modules/trip), not timed. Sourced by lifetime.sh, never run.

# A call leaves gate and locks to others after so many pieces (kernel/extent.c, BATCH_PIECES).
readonly PIECES_AT_ONCE=256

# shatter - leaves only single granules of p2pmem0 free; FREE is their size in all, PIECES their number.
shatter() {
	pieces hold p2pmem0 >"$WORK/hold" 2>&1 &
	SHATTERER=$!
	at_end "kill -KILL $SHATTERER 2>/dev/null"
	within 60 grep -q ready "$WORK/hold"
	FREE=$(attr p2pmem0 available)
	PIECES=$((FREE / 4096))
	equal "free, of $(attr p2pmem0 size)" $(($(attr p2pmem0 size) / 2)) "$FREE"
}

# trip SYMBOL NTH - counts its calls, and kills who makes the NTH.
trip() {
	insmod /opt/donard/modules/trip.ko symbol="$1" nth="$2"
	at_end "rmmod trip"
}

tripped() {
	cat "/sys/module/trip/parameters/$1"
}

# at_least WHAT LEAST SEEN
at_least() {
	(($3 >= $2)) || fail "$1: expected at least $2, seen $3"
}

at_most() {
	(($3 <= $2)) || fail "$1: expected at most $2, seen $3"
}

maps_all_that_is_free() {
	pieces map p2pmem0 >"$WORK/map" || fail "it ended with $?"
	equal "what a mapping gets" "mapped $FREE, 0 left" "$(cat "$WORK/map")"
}

# The gate is left after each batch, so that a removal, and callers that wait behind it, get in.
pieces_make_room() {
	shatter
	trip p2pmem_enter 0
	maps_all_that_is_free
	at_least "times that $PIECES pieces entered the region" $((PIECES / PIECES_AT_ONCE)) "$(tripped hits)"
	exactly "free after it" "$FREE" "$(attr p2pmem0 available)"
}

# A call must not take pieces only to give them back: another caller that could have used them would fail meanwhile.
pieces_are_not_taken_in_vain() {
	shatter
	trip p2pmem_alloc_take 0
	equal "mapping more than is free" ENOSPC "$(pieces too-much p2pmem0)"
	equal "pieces that were taken, with the one before" 1 "$(tripped hits)"
	exactly "free after it" "$FREE" "$(attr p2pmem0 available)"
}

# The search runs once for each piece, and at most for one more batch after the signal.
pieces_end_with_their_process() {
	local status=0
	shatter
	trip p2pmem_alloc_take 1000
	pieces map p2pmem0 >"$WORK/map" 2>&1 || status=$?
	equal "status of who was killed while it mapped" 137 "$status"
	equal "what it said" "" "$(cat "$WORK/map")"
	at_most "pieces that it took after its end" "$PIECES_AT_ONCE" "$(tripped after)"
	exactly "free after it" "$FREE" "$(attr p2pmem0 available)"
	maps_all_that_is_free
	equal "pieces that both took" $((1000 + $(tripped after) + PIECES)) "$(tripped hits)"
}

# Otherwise another process with the same open file could copy from memory that gets another owner a moment later.
pieces_are_seen_once_all_are_there() {
	shatter
	trip p2pmem_alloc_take 3000
	exactly "what the other process saw" "found 0 times, then killed" "$(pieces look p2pmem0)"
	exactly "free after it" "$FREE" "$(attr p2pmem0 available)"
}

# An export looks twice at each piece, and a ring's buffer: by batches, as mmap takes them.
exported_pieces_make_room() {
	shatter
	trip p2pmem_enter 0
	equal "what an export gets" "exported $FREE" "$(pieces export p2pmem0)"
	at_least "times that an export of $PIECES pieces entered the region" $((3 * PIECES / PIECES_AT_ONCE)) "$(tripped hits)"
}

# Memory that was in 2 MiB folios is mapped where these do not fit: each is split, after one grace period for all.
folios_are_split_after_one_grace_period() {
	within 30 region_is_free p2pmem0
	FREE=$(attr p2pmem0 available)
	maps_all_that_is_free
	pieces hold-few p2pmem0 >"$WORK/hold" 2>&1 &
	at_end "kill -KILL $! 2>/dev/null"
	within 60 grep -q ready "$WORK/hold"
	trip cond_synchronize_rcu 0
	FREE=$(attr p2pmem0 available)
	maps_all_that_is_free
	at_most "grace periods that a mapping of $FREE bytes asked for" 4 "$(tripped hits)"
}

removed_while_pieces_are_mapped() {
	local mapper
	shatter
	pieces remap p2pmem0 >"$WORK/remap" 2>&1 &
	mapper=$!
	at_end "kill -KILL $mapper 2>/dev/null"
	within 60 grep -q mapped "$WORK/remap"
	in_background donard-cli region remove p2pmem0
	event_succeeds
	wait "$mapper" || true
	equal "what the mapper said in the end" "the region has gone" "$(tail -n 1 "$WORK/remap")"
	kill -KILL "$SHATTERER"
	wait "$SHATTERER" 2>/dev/null || true
	copy_again
}

# Zeros are posted writes. An emulator carries out each before the next, so it cannot show one that is
# late: what can be shown is that each batch of them, 2 MiB in a fault, is read back once.
zeros_are_read_back() {
	within 30 region_is_free p2pmem0
	FREE=$(attr p2pmem0 available)
	trip p2pmem_zeros_arrive 0
	maps_all_that_is_free
	equal "times that zeros were read back" $((FREE / (2 * MIB))) "$(tripped hits)"
}

pieces_tests() {
	lt "zeros are read back" zeros_are_read_back
	lt "pieces make room for others" pieces_make_room
	lt "pieces are not taken in vain" pieces_are_not_taken_in_vain
	lt "pieces end with their process" pieces_end_with_their_process
	core lt "pieces are seen once all are there" pieces_are_seen_once_all_are_there
	lt "exported pieces make room for others" exported_pieces_make_room
	! can folios || lt "folios are split after one grace period" folios_are_split_after_one_grace_period
	lt "region remove, while pieces are mapped" removed_while_pieces_are_mapped
}
