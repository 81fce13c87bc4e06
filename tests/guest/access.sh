# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The CPU's way to a region without a mapping, by access.c: bytes, bounds, and an error where a mapping has SIGBUS.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/hold.sh
. helpers/hold.sh

of_access() {
	access "$1"
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem2
}

# begin TEST - a program that says when it is under way; PROGRAM is its pid.
begin() {
	: >"$WORK/seen"	# of another one before
	access "$1" >"$WORK/seen" &
	PROGRAM=$!
	at_end "kill -KILL $PROGRAM 2>/dev/null"
	within 30 grep -qx ready "$WORK/seen"
}

# ends_with REGEX TEST COMMAND... - a program that goes on until a call fails, and what fails it.
ends_with() {
	local regex=$1 test=$2
	shift 2
	begin "$test"
	"$@"
	wait "$PROGRAM" || fail "the program ended with status $?"
	matches "how it ended" "$regex" "$(tail -n 1 "$WORK/seen")"
}

removal_ends_it() {
	ends_with '^ENODEV$' "$1" donard-cli region remove p2pmem0
}

# reset_ends_it TEST
reset_ends_it() {
	ends_with '^EIO$' "$1" bash -c "echo 1 >/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
	of_access read-sees-stores
}

# A call stalls on its caller's memory, which the test fills in only after the region has ended.
stalled() {
	begin "$1"
	exits 1 'in use|busy' rmmod p2pmem
	equal "who holds memory, with no pin" "$PROGRAM access 8192 0" "$(attr p2pmem0 holders)"
	kill -KILL "$PROGRAM"
	wait "$PROGRAM" || true
	within 10 region_is_free p2pmem0
	ends_with '^ENODEV$' "$1" donard-cli region remove p2pmem0
	copy_again
}

is_frozen() {
	[[ $(<"$1/freezer.state") == FROZEN ]]
}

# freezer_of PID - GROUP can freeze it, as a suspend does.
freezer_of() {
	GROUP=$WORK/freezer/program
	mkdir "$WORK/freezer"
	mount -t cgroup -o freezer freezer "$WORK/freezer"
	mkdir "$GROUP"
	at_end "umount $WORK/freezer"
	at_end "rmdir $GROUP"
	at_end "echo THAWED >$GROUP/freezer.state; kill -KILL $1 2>/dev/null; wait $1"
	echo "$1" >"$GROUP/cgroup.procs"
}

freeze() {
	echo FROZEN >"$GROUP/freezer.state"
	within 20 is_frozen "$GROUP"
}

# freezes PROGRAM - in the middle of a call, which may be long: else no machine could be suspended meanwhile.
freezes() {
	local n
	begin "$1"
	freezer_of "$PROGRAM"
	for ((n = 0; n < 20; n++)); do
		freeze
		! grep -q '\[p2pmem\]' "/proc/$PROGRAM/stack" || return 0
		echo THAWED >"$GROUP/freezer.state"
		sleep 0.1
	done
	fail "in $n times it was never frozen in a call of the module, but always after it"
}

# A removal that waits for a holder goes on waiting after the machine has slept.
removal_sleeps() {
	hold vmsplice
	in_background donard-cli region remove p2pmem0
	freezer_of "$EVENT"
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	freeze
	echo THAWED >"$GROUP/freezer.state"
	sleep 1
	! event_ended || fail "the removal ended: $(<"$WORK/event")"
	let_go
	event_succeeds
	copy_again
}

for name in $(tests_of access); do
	case $name in
	*-until-the-end | stalled-* | *-for-ever | another-process) ;; # below
	*) core t "$name" of_access "$name" ;;
	esac
done
t "another process's mapping, whose parent is gone" of_access another-process
! can p2pdma || t "another process's mapping of p2pdma pages" typed p2pdma of_access another-process
core lt "a removal ends reads" removal_ends_it reads-until-the-end
lt "a removal ends syncs" removal_ends_it syncs-until-the-end
lt "a removal ends copies" removal_ends_it copies-until-the-end
lt "a stalled read holds up nobody" stalled stalled-read
lt "a stalled write holds up nobody" stalled stalled-write
# The debug kernel cannot be suspended.
if ! can debug; then
	t "a copy freezes" freezes copies-for-ever
	t "an export freezes" freezes exports-for-ever
	lt "a wait for holders freezes" removal_sleeps
fi
core t "a reset is told" reset_ends_it reads-until-the-end
core t "a reset is told, by fsync()" reset_ends_it syncs-until-the-end
