# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The library's memory, by memory.c: what it is, who else may have it, how it ends.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/insteps.sh
. ./helpers/insteps.sh

of_memory() {
	memory "$1" "$LAB_ALPHA_BDF"
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem2
}

# The program has no signal handler, and gets no signal.
ends_as_an_event() {
	local pid
	memory until-the-end >"$WORK/seen" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 30 grep -qx ready "$WORK/seen"
	donard-cli region remove p2pmem0
	wait "$pid" || fail "the program ended with status $?"
	equal "the last that it said" ended "$(tail -n 1 "$WORK/seen")"
}

for name in $(tests_of memory); do
	case $name in
	until-the-end | told-of-a-reset) ;; # below
	*) core t "$name" of_memory "$name" ;;
	esac
done
# Two that share the open file, which the kernel tells once.
t "told-of-a-reset" with_a_reset memory told-of-a-reset
core lt "the end of a region is an event" ends_as_an_event
