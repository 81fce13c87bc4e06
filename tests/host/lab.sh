# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The lab's judgement of a run, given the logs that kernels left (tests/data/console). Sourced by tests/check, never run.

# in_lab DIR SCRIPT - with the lab's functions; DIR is the directory of a guest.
in_lab() {
	# shellcheck disable=SC2016
	bash -c 'set -uo pipefail
		RIG_DIR=$1 LAB_DIR=$2 RUN_DIR=$2 OPT_TIMEOUT=600 OPT_KEEP=1
		. "$RIG_DIR/common.sh"
		for part in run watch verdict blame; do . "$RIG_DIR/boot/$part.sh"; done
		eval "$3"' lab "$REPO/tests/rig" "$1" "$2"
}

# guest_left LOG [VERDICT] - prints a directory as a guest with that log leaves it.
guest_left() {
	local dir
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	cp "tests/data/console/$1.log" "$dir/console.log"
	printf '%s' "${2+$2$'\n'}" >"$dir/verdict"
	: >"$dir/qemu.log"
	echo "$dir"
}

# said_last FILE - the judgement: what comes after the words about the log.
said_last() {
	sed '1,/the whole log:/d' "$1"
}

# judged_as REGEX LOG EMULATOR-STATUS [VERDICT]
judged_as() {
	local regex=$1 dir status=0
	dir=$(guest_left "$2" "${@:4}")
	in_lab "$dir" "judge '$dir' $3" 2>"$dir/said" || status=$?
	printf 'expected 125 and "%s", seen %d and: %s\n' "$regex" "$status" "$(said_last "$dir/said")"
	((status == 125)) && said_last "$dir/said" | grep -qE -- "$regex"
}

# is_the_emulators LOG [VERDICT] - would tests/check run that guest again?
is_the_emulators() {
	local dir
	dir=$(guest_left "$@")
	in_lab "$dir" "judge '$dir' 1" 2>"$dir/said"
	said_last "$dir/said"
	in_lab "$dir" "emulators_fault 125 '$dir/said'"
}

is_the_guests() {
	! is_the_emulators "$@"
}

# boots LOG - how often a kernel that always ends so, before its init, is booted.
boots() {
	local dir
	dir=$(guest_left "$1")
	# shellcheck disable=SC2016  # expanded in the lab's shell
	in_lab "$dir" 'start_guest() {
			echo >>"$1/boots"
			false &
			PID_OF[$1]=$!
		}
		start_guest "$LAB_DIR"
		await_boot "$LAB_DIR" 2>/dev/null'
	wc -l <"$dir/boots"
}

booted_times() {
	local seen
	seen=$(boots "$2")
	echo "expected $1 boots, seen $seen"
	((seen == $1))
}

run_lab() {
	progress "lab"
	try "lab: an early panic of the timer is the emulator's" judged_as 'let the kernel down.*IO-APIC' io-apic 1
	try "lab: and that guest runs again" is_the_emulators io-apic
	try "lab: it is booted again, twice at most" booted_times 3 io-apic
	try "lab: an early KASAN report in the interrupt code is no one's" is_the_emulators early-kasan
	try "lab: the same words after the guest booted are its own" is_the_guests io-apic booted
	try "lab: a KASAN report of a module is a failure" judged_as 'complained: .*KASAN.*p2pmem_release' module-kasan 1 booted
	try "lab: and that guest does not run again" is_the_guests module-kasan booted
	try "lab: nor is its kernel booted again" booted_times 1 module-kasan
}
