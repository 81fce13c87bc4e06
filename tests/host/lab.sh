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

# --- what a debug kernel notices ends a run: a module provokes each (tests/guest/modules/trouble) ---

# provoke KERNEL - all of them in one guest, whose log goes on after a warning; leaves it in $LOGS/trouble.
provoke() {
	local kernel=$1 status=0
	# shellcheck disable=SC2016  # the guest's
	tests/rig/lab run --kernel "$kernel" --no-regions --append panic_on_warn=0 --timeout 1800 -- bash -c '
		for what in lockdep sleep ubsan objects kasan leak; do
			! [[ -d /sys/module/trouble ]] || rmmod trouble
			insmod /opt/donard/modules/trouble.ko what=$what
		done' 2>"$LOGS/trouble.err" || status=$?
	cp "$(sed -n 's/^.*the whole log: //p' "$LOGS/trouble.err")" "$LOGS/trouble"
	tail -n 5 "$LOGS/trouble.err"
	((status == 125))
}

# noticed WHAT REGEX - is it in the log between the module's own words, and trouble for the verdict?
noticed() {
	sed -n "/trouble: begin $1/,/trouble: end $1/p" "$LOGS/trouble" >"$LOGS/part"
	head -n 5 "$LOGS/part"
	# shellcheck disable=SC2016  # the lab's
	grep -qE -- "$2" "$LOGS/part" && in_lab "$LOGS" 'grep -qaE "$KERNEL_TROUBLE" "$LAB_DIR/part"'
}

# Leaks are looked for when all else has ended: by their module, which is there still to have its name in the trace.
leak_is_noticed() {
	grep -E 'kmemleak: [1-9]|unreferenced object|the guest gave up' "$LOGS/trouble" "$LOGS/trouble.err" | head -n 5
	grep -qE 'gave up: .*kmemleak: [1-9][0-9]* objects leaked' "$LOGS/trouble.err" &&
		grep -q 'leak+0x.*\[trouble\]' "$LOGS/trouble"
}

run_trouble() {
	local kernel
	for kernel in $(matrix_kernels source); do
		progress "lab: what $kernel notices"
		try "lab: $kernel: trouble ends a run" provoke "$kernel"
		try "lab: $kernel: locks taken in both orders" noticed lockdep 'possible circular locking dependency'
		try "lab: $kernel: sleep under a spinlock" noticed sleep 'BUG: sleeping function called from invalid context'
		try "lab: $kernel: a shift that is too wide" noticed ubsan 'UBSAN: shift-out-of-bounds'
		try "lab: $kernel: an armed timer that is freed" noticed objects 'ODEBUG: free active .* object type: timer_list'
		try "lab: $kernel: a read beyond an allocation" noticed kasan 'BUG: KASAN: slab-out-of-bounds'
		try "lab: $kernel: an allocation that nobody frees" leak_is_noticed
	done
}
