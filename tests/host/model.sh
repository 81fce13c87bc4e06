# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The model of the write cache's log (tests/model/log.pml), searched whole, and with each of its rules broken. Sourced by
# tests/check, never run.

# Each breaks one rule; log.pml says which.
readonly MODEL_FAULTS=(ACK_EARLY PLAN_EARLY PLAN_OLDER TRIM_LATE TAIL_EARLY TAIL_FAR REUSE_EARLY REUSE_NEWER ONE_TAIL
	NO_EPOCH NO_BEGUN NO_CHECKSUM NO_FIRST_BARRIER)
readonly CUT_MODEL='-DPLACES=2 -DWRITES=3 -DTRIMS=1 -DCUTS=2 -DKILLS=0'
readonly BOTH_MODEL='-DPLACES=2 -DWRITES=3 -DTRIMS=1 -DCUTS=2 -DKILLS=1'

# search_model GCC-LEVEL NAME OPTION... - all states of the model with these options, by a program that spin makes. It ends
# with status 0 whatever it finds.
search_model() {
	local level=$1 dir=$LOGS/model-$2
	shift 2
	mkdir -p "$dir"
	(cd "$dir" && spin "$@" -a "$REPO/tests/model/log.pml") &&
		"${CC:-gcc}" "$level" -DSAFETY -DCOLLAPSE -o "$dir/pan" "$dir/pan.c" &&
		(cd "$dir" && ./pan -m20000)
}

# model_holds NAME OPTION... - in all states, none left out for want of memory or depth.
model_holds() {
	local out
	out=$(search_model -O2 "$@" 2>&1)
	printf 'expected: errors: 0, and no state left out\n%s\n' "$out"
	grep -qE '^State-vector .* errors: 0$' <<<"$out" &&
		! grep -qE 'too small|truncated|out of memory|not completed' <<<"$out"
}

# model_fails NAME OPTION... - an acknowledged write is lost in some state. The search soon finds it, and so compiling is what
# takes time.
model_fails() {
	local out
	out=$(search_model -O0 "$@" 2>&1)
	printf 'expected: a violated assertion\n%s\n' "$out"
	grep -q '^pan:1: assertion violated' <<<"$out"
}

# The steps that the code names in capitals are those of the model.
model_and_code_name_the_same() {
	local step
	for step in DATA APPEND BARRIER ACK DESTAGE FLUSH TAIL REUSE; do
		if ! grep -qiw "$step" tests/model/log.pml || ! grep -qw "$step" lib/cache/log.h; then
			echo "the step $step is not named in both tests/model/log.pml and lib/cache/log.h"
			return 1
		fi
	done
}

# The larger search, and what tests the model alone.
run_model_faults() {
	local fault
	# shellcheck disable=SC2086  # words
	try "model: two places, three writes, a trim, two cuts, a kill" model_holds both $BOTH_MODEL
	for fault in "${MODEL_FAULTS[@]}"; do
		# shellcheck disable=SC2086
		try "model: with $fault a write is lost" model_fails "$fault" $BOTH_MODEL "-D$fault"
	done
}

run_model() {
	progress "model"
	try "model: names of steps" model_and_code_name_the_same
	# shellcheck disable=SC2086  # words
	try "model: two places, three writes, a trim, two cuts" model_holds cuts $CUT_MODEL
	try "model: mutants of the code, one for each of its rules" each_rule_has_a_mutant
	try "model: mutants of the code, each changes one place" each_changes_one_place
	if in_ring all; then
		run_model_faults
		run_mutants
	fi
}
