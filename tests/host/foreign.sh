# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# tests/guest/helpers/foreign.sh, tried on the host with programs that fail as foreign ones do. Sourced by tests/check.

# fake NAME LINES... - a program in the folder of fakes.
fake() {
	printf '%s\n' '#!/bin/bash' "${@:2}" >"$LOGS/foreign/$1"
	chmod +x "$LOGS/foreign/$1"
}

# foreign SERVER CLIENT - runs the pair of fakes; prints what the helper says, and the statuses.
foreign() {
	# shellcheck disable=SC2030,SC2317  # for the helper
	(
		export PATH=$LOGS/foreign:$PATH
		WORK=$LOGS/foreign PATIENCE=1 FOREIGN_SECONDS=5 FOREIGN_GRACE_SECONDS=1
		on() { "${@:2}"; }
		within() { "${@:2}"; }
		port_is_quiet() { true; }
		fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
		# shellcheck source=../guest/helpers/foreign.sh
		. tests/guest/helpers/foreign.sh
		SERVER_SIDE=(here "$1") CLIENT_SIDE=(here "$2")
		set -e
		foreign_pair 1 true
		both_succeeded
		echo "both succeeded"
	)
}

# after N WHAT - the shell line that does WHAT only from the Nth run of the program on.
after() {
	# shellcheck disable=SC2016  # for the program
	printf 'echo >>"%s/runs.$(basename "$0")"; (($(wc -l <"%s/runs.$(basename "$0")") > %d)) && %s' \
		"$LOGS/foreign" "$LOGS/foreign" "$1" "$2"
}

fakes() {
	rm -rf "$LOGS/foreign"
	mkdir -p "$LOGS/foreign"
	fake donard_works 'exit 0'
	fake donard_polls "$(after 2 'exit 0')" 'exec -a donard_polls sleep 100'
	fake donard_gives_up "$(after 2 'exit 0')" 'echo "Failed status transport retry counter exceeded (12) for wr_id 1"' 'exit 1'
	fake donard_always_gives_up 'echo " Completion with error at client"; echo " Failed status 12: wr_id 0 syndrom 0x81"' 'exit 1'
	fake donard_breaks 'echo "Couldnt allocate MR"; exit 1'
	fake donard_hangs 'exec sleep 100'
}

# says STATUS REGEX COUNT SERVER CLIENT - of the pair; COUNT is how often it was run again.
foreign_says() {
	local status=0 out again
	fakes
	out=$(foreign "$4" "$5" 2>&1) || status=$?
	again=$(grep -c '^# once more' <<<"$out")
	printf 'status %d (expected %d), run again %d times (expected %d), expected /%s/: %s\n' "$status" "$1" "$again" \
		"$3" "$2" "$out"
	((status == $1 && again == $3)) && grep -qE "$2" <<<"$out"
}

run_foreign() {
	progress "pairs of foreign programs"
	try "foreign pair: both succeed" foreign_says 0 'both succeeded' 0 donard_works donard_works
	try "foreign pair: an end gives up, the other polls, run again" \
		foreign_says 0 'both succeeded' 2 donard_polls donard_gives_up
	try "foreign pair: not for ever" foreign_says 1 'FAILED.*server 0, client 1 ' 3 donard_works donard_always_gives_up
	try "foreign pair: another failure is a failure at once" \
		foreign_says 1 'FAILED.*server 1.*allocate MR' 0 donard_breaks donard_polls
	try "foreign pair: both hang" foreign_says 1 'FAILED.*server 124, client 124' 0 donard_hangs donard_hangs
}
