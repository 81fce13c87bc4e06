# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which suites a change calls for, by tests/check --since and the rows "touches". A part of the suite verdict. Sourced by
# tests/check, never run.

# calls_for SUITES FILE - by --since.
calls_for() {
	local seen
	touches_read
	seen=$(touched_by "$2" | xargs)
	printf 'expected "%s", seen "%s"\n' "$1" "$seen"
	[[ $seen == "$1" ]]
}

# shellcheck disable=SC2034  # since.sh
what_a_ring_lacks_is_told() {
	local OPT_RING=gate
	local -A SINCE=([style]=1 [verdict]=1 [recipes]=1 [copy]=1 [failnth]=1)
	diff <(tell_left 2>&1) - <<<'check: not in the ring "gate", so not run: failnth recipes' || return
	OPT_RING=all
	diff <(tell_left 2>&1) - <<<'check: not in the ring "all", so not run: failnth' || return
	unset 'SINCE[failnth]'
	diff <(tell_left 2>&1) /dev/null
}

# each_calls_for SUITE - each file on stdin.
each_calls_for() {
	local file bad=0
	touches_read
	while read -r file; do
		[[ $'\n'$(touched_by "$file")$'\n' == *$'\n'"$1"$'\n'* ]] || { echo "the suite $1 has it, and is not called for: $file"; bad=1; }
	done
	return "$bad"
}

who_sources_it_is_called_for() {
	local suite bad=0
	for suite in $(matrix_suites); do
		each_calls_for "$suite" < <(sed -nE 's,^[[:space:]]*\. (\./)?([a-z_/]+\.sh)$,tests/guest/\2,p' "tests/guest/$suite.sh") || bad=1
	done
	return "$bad"
}

# unit_files - what tests of tests/unit include, and the headers of what they take from the kernel module.
unit_files() {
	local file root
	sed -nE 's,^#include "(\.\./\.\./)?([^"]+)",\2,p' tests/unit/*.[ch] | sort -u | while read -r file; do
		for root in "" lib/ include/; do
			[[ ! -e $root$file ]] || printf '%s\n' "$root$file"
		done
		[[ $file != kernel/*.c ]] || printf '%s\n' "${file%.c}.h"
	done
}

what_unit_tests_have_calls_for_them() {
	local files
	files=$(unit_files)
	grep -qx kernel/alloc.h <<<"$files" && grep -qx lib/queue/queue.h <<<"$files" && each_calls_for unit <<<"$files"
}

# A change of one of the library's rooms is tested where other rooms use it. The host's suites test each room alone.
rooms_share_a_guest_with_their_users() {
	local room user shared bad=0
	touches_read
	while read -r room user; do
		shared=$(comm -12 <(touched_by "$room/a.c" | sort) <(touched_by "$user/a.c" | sort) | grep -xFf <(matrix_suites))
		[[ -n $shared ]] ||
			{ echo "no suite of guests is called for by $room and by $user, which includes it"; bad=1; }
	done < <(PYTHONPATH=tests/host python3 -Bc 'import imports
for user, rooms in imports.ROOMS.items():
	for room in rooms:
		if user.startswith("lib/") and room.startswith("lib/"):
			print(room, user)' || echo none imports.py)
	return "$bad"
}

run_called() {
	try "verdict: a folder calls for its suites" calls_for 'unit rdma seeds traffic cache cachedisk' lib/rdma/session.c
	try "verdict: the longest row counts" calls_for 'gpu gpupin cuda' kernel/window.c
	try "verdict: what a program has of the kernel's calls for its tests" calls_for 'unit cli routes rules dmabuf copy' kernel/path.c
	try "verdict: a script calls for its suite" calls_for copy tests/guest/copy.sh
	try "verdict: a program calls for its users" calls_for pairs tests/guest/pairs_calls.h
	try "verdict: also by a helper" calls_for rdma tests/guest/rdmaclient.c
	try "verdict: a header, for the suites of who includes it" calls_for 'bigbar folio' tests/guest/mapped.h
	try "verdict: a file in a folder not for its name's suite" calls_for cachedisk tests/guest/python/cache.py
	try "verdict: a helper calls for who sources it" who_sources_it_is_called_for
	try "verdict: also by another helper" calls_for 'cachedisk rdma cache cachefaults meter' tests/guest/helpers/served.sh
	try "verdict: the lab's libcuda, for who has a GPU" each_calls_for gpupin <<<tests/guest/cuda/memory.c
	try "verdict: what unit tests have calls for them" what_unit_tests_have_calls_for_them
	try "verdict: a file without a row calls for all" calls_for "$(all_suites | xargs)" unheard/of.c
	try "verdict: what the ring lacks is told" what_a_ring_lacks_is_told
	try "verdict: a room shares a guest's suite with its users" rooms_share_a_guest_with_their_users
}
