#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power cuts of the log, without a server: the second guest writes into the NVRAM's log and destages to its drive, its emulator
# is killed, and it boots again on the same PMR and disk files. What it acknowledged stands in this guest, and every block is
# compared with that. Sourced by run.sh.

# shellcheck source=helpers/cuts.sh
. helpers/cuts.sh

cutlog_at() {
	printf '%s\0' cutlog "$1" p2pmem2 "$PEER_ALPHA" "${@:2}"
}

# log_life LIFE [WRITES] - what the second guest says in this life of its, up to the cut.
log_life() {
	local -a command
	mapfile -d '' -t command < <(cutlog_at "${LOG_MODE-serve}" "$SEED" "$@")
	labctl peer "${AT[@]}" "${command[@]}"
}

log_begins() {
	local -a command
	blank_peer
	mapfile -d '' -t command < <(cutlog_at format)
	labctl peer "${command[@]}"
}

readonly CUTLOG=/opt/donard/tests/bin/cutlog

# log_to_its_acknowledgement MODE GROUPS - cut where the acknowledgement of that group begins; from the emulator's trace of all
# before, since the log began: BARRIERS, reads of PMRSTS, and COMMANDS to drives.
log_to_its_acknowledgement() {
	local LOG_MODE=$1 trace
	AT=(stopat "$CUTLOG" acknowledge "$2")
	log_begins
	labctl peer labctl trace on
	live 1 log_life
	trace=/mnt/lab/peer/trace.log.$((CUTS + 1))
	BARRIERS=$(grep -c 'pci_nvme_mmio_read.*0xe08' "$trace") || true
	COMMANDS=$(grep -c pci_nvme_io_cmd "$trace") || true
	echo "$1, acknowledgement $2: $BARRIERS reads of PMRSTS, $COMMANDS commands to drives"
}

# Each group has the same number of barriers, the last of them before its acknowledgement, and no drive is involved. For a log that
# acknowledges too early, the trace has one group's barriers less.
barriers_before_acknowledgements() {
	local SEED=1 first ninth each commands
	log_to_its_acknowledgement fill 1
	first=$BARRIERS commands=$COMMANDS
	log_to_its_acknowledgement fill 9
	ninth=$BARRIERS
	equal "commands to drives, all from before the first acknowledgement" "$commands" "$COMMANDS"
	each=$(((ninth - first) / 8))
	((each > 0)) || fail "no barrier before an acknowledgement: $first reads of PMRSTS before the first, $ninth before the ninth"
	equal "barriers before the ninth acknowledgement" $((first + 8 * each)) "$ninth"
	log_to_its_acknowledgement early 9
	equal "barriers before the ninth acknowledgement that is too early" $((ninth - each)) "$BARRIERS"
}

# The rig itself: bytes that came after the barrier are lost. The ninth group of this seed has 60 blocks.
late_bytes_are_lost() {
	local SEED=1 LOG_MODE=late status=0
	AT=(stopat "$CUTLOG" late_bytes_came 9)
	log_begins
	labctl lossy "$SEED"
	live 1 log_life
	cat "/mnt/lab/peer/lost.$((CUTS + 1))"
	LOG_MODE=serve
	last_life 2 log_life
	find_losses || status=$?
	equal "status of what looks for losses" 4 "$status"
}

readonly LOG_STEPS=(DATA:put_data ACK:acknowledge "${STEPS[@]}")
readonly RANDOM_CUTS=$((45 * SOAK))

within_cuts 3 t "log, barriers and drives before acknowledgements" barriers_before_acknowledgements
within_cuts 2 t "log, bytes after their barrier" late_bytes_are_lost
within_cuts "${#LOG_STEPS[@]}" t "log, at every step" cut_at_every_step log_begins log_life "$CUTLOG" "${LOG_STEPS[@]}"
within_cuts "$RANDOM_CUTS" t "log, at any moment" cut_at_random log_begins log_life "$RANDOM_CUTS"
