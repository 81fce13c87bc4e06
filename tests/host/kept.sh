# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Results of guests that are kept: a long run that was broken off goes on, and one that was mended in a part runs that part.
# A guest of which nothing failed is kept under the hash of all that went into it; while that is the same, its results are
# taken again, with the word "kept". The gate neither keeps nor takes, nor does a run of single suites. Sourced by tests/check,
# never run.

# keeps_results - does this run keep and reuse results? Not if a suite or a seed was named: that has to run.
keeps_results() {
	! in_ring gate && [[ -z $OPT_ONLY$OPT_FAILED$OPT_SEED ]]
}

# result_key KERNEL TOPOLOGY FABRIC SUITE... - sets RESULT_KEY to the key of a row of the matrix, or to nothing if the lab cannot compute
# it. For that the lab builds what the cache lacks.
result_key() {
	local where
	local -a machine
	RESULT_KEY=
	keeps_results || return 0
	guest_machine "$1" "$2" "$3"
	in_group tests/rig/lab key "${machine[@]}" -- run.sh "$OPT_RING" "$OPT_SOAK" "${@:4}" >"$LOGS/key" 7>&-
	wait "$!" || return 0
	RESULT_KEY=$({ cat "$LOGS/key"; suite_files "${@:4}" | xargs -0 sha256sum --; } | sha256sum | cut -c1-16)
}

# suite_files SUITE... - what tests/guest has but for the scripts of other suites, NUL-separated. Programs are the lab's.
suite_files() {
	local suite
	local -a others=()
	for suite in $(matrix_suites); do
		[[ " $* " == *" $suite "* ]] || others+=(-not -path "tests/guest/$suite.sh")
	done
	find tests/guest -type f -not -name '*.[ch]' "${others[@]}" -print0 | LC_ALL=C sort -z
}

# result_place KEY
result_place() {
	# shellcheck disable=SC2016  # the lab's
	in_rig eval 'printf "%s/result-%s\n" "$CACHE_DIR" '"$1"
}

# has_result KEY - of this row? A full disk once left halves of them.
has_result() {
	[[ -n $1 && -z $OPT_FRESH ]] && grep -qsx '# end of boot' "$(result_place "$1")/out"
}

# keep_result GUEST-DIR - keeps the result of the guest PLAN if nothing failed and the tree has not changed. The file gets its name when it
# is complete, so a full disk keeps none.
keep_result() {
	local place
	# It was built, and took its scripts, later than the key was made.
	[[ -s $1/key ]] || return 0
	result_key "${PLAN[@]}"
	[[ $(<"$1/key") == "$RESULT_KEY" ]] || return 0
	place=$(result_place "$(<"$1/key")")
	rm -rf "$place" "$place.tmp.$$"
	{ mkdir -p "$place.tmp.$$" && cp "$1/out" "$place.tmp.$$/" && mv -T "$place.tmp.$$" "$place"; } || rm -rf "$place.tmp.$$"
}

# forget_result GUEST-DIR - this one is not to be kept.
forget_result() {
	rm -f "$1/key"
}

# take_result KEY KERNEL TOPOLOGY FABRIC SUITE... - as if that guest had run now, and in no time.
take_result() {
	local place where dir
	local -a machine
	place=$(result_place "$1")
	touch -c "$place" # forget_unused
	shift
	new_guest kept "$@"
	progress "guest: kernel $where: nothing that it is made of has changed"
	cp "$place/out" "$dir/"
	: >"$dir/err"
	echo '0 0' >"$dir/took"
	KEPT_GUESTS=$((KEPT_GUESTS + 1))
	finish_guest 0 "$dir"
}

# kept_told - at the end, if there were any.
KEPT_GUESTS=0
kept_told() {
	((KEPT_GUESTS == 0)) ||
		echo "# Kept from earlier runs: $KEPT_GUESTS of the guests; --fresh runs them, too"
}
