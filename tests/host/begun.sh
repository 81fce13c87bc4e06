# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How a run of tests/check begins, and where it refuses to. A part of the suite verdict. Sourced by tests/check, never run.

# refused_for REGEX COMMAND... - the command ends with status 3, and says why. Runs in a shell of its own.
refused_for() {
	local status=0
	("${@:2}") >"$LOGS/refused" 2>&1 || status=$?
	printf 'expected 3 and "%s", seen %d: %s\n' "$1" "$status" "$(<"$LOGS/refused")"
	((status == 3)) && grep -qE -- "$1" "$LOGS/refused"
}

# As what root's run has left is for an ordinary user.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the function that is tried
what_root_left_is_told() (
	KEPT=$LOGS/kept BUILD=$LOGS/nowhere
	rm() { echo "rm: Permission denied" >&2; return 1; }
	refused_for 'kept cannot be removed\. .*sudo rm -r build' failures_begin
)

# As where the folder for a run's files is mounted noexec.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
a_folder_without_programs_is_told() (
	TMPDIR=$LOGS/noexec
	mkdir "$TMPDIR"
	chmod() { :; }
	results_clean_up() { rm -rf "$LOGS"; }
	refused_for "no program can be run in '.*/noexec' .*TMPDIR" results_begin && rmdir "$TMPDIR"
)

# A container with 6 GiB, of which 3 are in use, 1 of them for files; and a container without a limit.
a_containers_memory_counts() {
	local group=$LOGS/group seen
	mkdir -p "$group"
	echo $((6 << 20)) >"$group/memory.max"
	echo $((3 << 20)) >"$group/memory.current"
	printf 'anon %d\nactive_file %d\ninactive_file %d\n' $((2 << 20)) $((1 << 19)) $((1 << 19)) >"$group/memory.stat"
	seen=$(memory_left "$group")
	echo "expected 4096 KiB, seen $seen"
	((seen == 4096)) || return
	echo max >"$group/memory.max"
	(($(memory_left "$group") > 0))
}

# Until the first has ended.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the function that is tried
a_second_run_is_told() (
	unset DONARD_FAILED
	KEPT=$LOGS/tree/failed
	only_run && refused_for 'another tests/check runs .*tree/\.lock-check' only_run && DONARD_FAILED=$LOGS only_run || return
	exec 7>&-
	only_run
)

run_begun() {
	try "verdict: guests have the memory that a container has" a_containers_memory_counts
	try "verdict: a folder in which no program can be run is told" a_folder_without_programs_is_told
	try "verdict: two runs in one work tree are told" a_second_run_is_told
	try "verdict: what root's run has left is told" what_root_left_is_told
}
