# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The second chance: a test of a guest that failed is run once more, alone, in a guest of its own when all else has ended.
# If it passes there, it is flaky: told, with what was seen, and counted. A few of them do not turn the verdict; they are
# defects all the same, of the test or of what it tests. No second chance for what a slow host does not cause. Sourced by
# tests/check, never run.

readonly MAX_FLAKY=3
FLAKY=0
# One directory per failure: "plan" of its guest with the test as its only suite, "name", and the report in "text".
CHANCES=()

# has_chance NAME TEXT GUEST-DIR SOUND - NAME is "SUITE: TEST".
has_chance() {
	[[ -n $4 && ! -e $3/chance ]] && ! grep -qx '#   not of speed' "$2" && ! matrix_is_exact "${1%%: *}"
}

# give_chance WHERE NAME TEXT GUEST-DIR
give_chance() {
	local dir
	local -a plan
	dir=$(mktemp -d "$LOGS/chance.XXXXXX")
	mapfile -t plan <"$4/plan"
	printf '%s\n' "${plan[@]:0:3}" "${2%%: *}/${2#*: }" >"$dir/plan"
	printf '%s: %s\n' "$1" "$2" >"$dir/name"
	cp "$3" "$dir/text"
	CHANCES+=("$dir")
	progress "$1: $2: failed; once more, alone, when all else has ended"
}

# run_chances - more of them than may be flaky are no work of chance, and have failed.
run_chances() {
	local dir
	local -a plan
	for dir in "${CHANCES[@]}"; do
		mapfile -t plan <"$dir/plan"
		if ((${#CHANCES[@]} > MAX_FLAKY)); then
			count_failure "$(<"$dir/name")" "$dir/text" guest "${plan[@]}"
			continue
		fi
		start_guest "${plan[@]}"
		echo "$dir" >"${RUNNING[$!]}/chance"
		while ((${#RUNNING[@]})); do
			finish_one
		done
	done
}

# chance_result WANTED VERDICT NAME [TEXT] - of tap_each: sets CHANCE to the verdict on the test that is wanted, and CHANCE_TOLD.
chance_result() {
	[[ $1 == "$3" ]] || return 0
	CHANCE=$2
	[[ $2 != fail ]] || CHANCE_TOLD=$(sed -n '/^#   /p' "$4")
}

# judge_chance STATUS GUEST-DIR
judge_chance() {
	local dir name text CHANCE='' CHANCE_TOLD=''
	dir=$(<"$2/chance")
	name=$(<"$dir/name")
	text=$dir/text
	tap_each "$2/out" chance_result "${name#*: }"
	if (($1 == 0)) && grep -qx '# end of boot' "$2/out" && [[ $CHANCE == ok ]]; then
		FLAKY=$((FLAKY + 1))
		pass "$name"
		{
			printf 'flaky - %s\n' "$name"
			sed 's/^#   /#   first: /' "$text"
			printf '#   then: passed\n'
		} | tee -a "$LOGS/flaky"
	else
		{
			printf '#   | and alone, in a guest that ended with status %d %s\n' "$1" "$( (($1 == 0)) || tail -n 1 "$2/err")"
			[[ -z $CHANCE_TOLD ]] || printf '%s\n' "$CHANCE_TOLD"
		} >>"$text"
		# shellcheck disable=SC2153  # finish_guest has it
		count_failure "$name" "$text" guest "${PLAN[@]}"
	fi
}
