# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The CPU's way to a region without a mapping, by access.c: bytes, bounds, and an error where a mapping has SIGBUS.

# shellcheck source=removal.sh
. ./removal.sh

of_access() {
	access "$1"
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem2
}

# ends_with REGEX TEST COMMAND... - a program that goes on until a call fails, and what fails it.
ends_with() {
	local regex=$1 test=$2 pid
	shift 2
	access "$test" >"$WORK/seen" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 30 grep -qx ready "$WORK/seen"
	"$@"
	wait "$pid" || fail "the program ended with status $?"
	matches "how it ended" "$regex" "$(tail -n 1 "$WORK/seen")"
}

removal_ends_it() {
	ends_with '^ENODEV$' "$1" donard-cli region remove p2pmem0
}

reset_ends_it() {
	ends_with '^EIO$' reads-until-the-end bash -c "echo 1 >/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
	of_access read-sees-stores
}

for name in $(access --list); do
	case $name in
	*-until-the-end) ;; # below
	*) t "$name" of_access "$name" ;;
	esac
done
lt "a removal ends reads" removal_ends_it reads-until-the-end
lt "a removal ends copies" removal_ends_it copies-until-the-end
t "a reset is told" reset_ends_it
