# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Where the time went: of each part on the host, of each guest, of each suite. Sourced by tests/check, never run.

# Rows "WALL-SECONDS PROCESSOR-SECONDS WHAT", and what ran inside of it behind a tab.
TIMES=()

# timed WHAT COMMAND...
timed() {
	local what=$1 from=$SECONDS before
	shift
	note_processor
	before=$PROCESSOR_SECONDS
	"$@"
	note_processor
	TIMES+=("$((SECONDS - from)) $((PROCESSOR_SECONDS - before)) $what")
}

# note_processor - sets PROCESSOR_SECONDS to the processor time of this shell's children that have ended. Do not call it in a pipe or
# $(...): those have children of their own.
note_processor() {
	local file=$LOGS/times.$BASHPID
	times >"$file"
	PROCESSOR_SECONDS=$(awk -F '[ms ]+' 'NR == 2 { printf "%d\n", 60 * ($1 + $3) + $2 + $4 }' "$file")
}

# note_time FILE COMMAND... - leaves "WALL-SECONDS PROCESSOR-SECONDS" in FILE. For a command in the background (as_job).
note_time() {
	local file=$1 from=$SECONDS status=0
	shift
	as_job "$@" || status=$?
	note_processor
	echo "$((SECONDS - from)) $PROCESSOR_SECONDS" >"$file"
	return "$status"
}

# guest_took WHERE DIR - what start_guest noted in DIR, and the suites by the guest's own clock.
guest_took() {
	local suites
	suites=$(sed -n 's/^# took //p' "$2/out" | awk '{ printf "%s %d:%02d  ", $2, $1 / 60, $1 % 60 }')
	TIMES+=("$(<"$2/took") guest $1"$'\t'"$suites")
}

# budget_told - the whole against the gate's budget: said, and no failure, since the host has its part in it.
budget_told() {
	local wall processor seconds=0 row over=''
	read -r wall processor < <(matrix_budget)
	for row in "${TIMES[@]}"; do
		read -r _ row _ <<<"$row"
		seconds=$((seconds + row))
	done
	((SECONDS <= 60 * wall && seconds <= 60 * processor)) || over=': OVER BUDGET'
	printf 'check: the gate took %d:%02d by the clock (budget %d min) and %d:%02d of processor time (budget %d min)%s\n' \
		$((SECONDS / 60)) $((SECONDS % 60)) "$wall" $((seconds / 60)) $((seconds % 60)) "$processor" "$over" >&2
}

times_end() {
	((${#TIMES[@]})) || return 0
	{
		printf 'check: %8s %10s\n' wall processor
		printf '%s\n' "${TIMES[@]}" | sort -rn | awk -F '\t' '{
			split($1, field, " ")
			what = $1
			sub(/^[0-9]+ [0-9]+ /, "", what)
			printf "check: %5d:%02d %7d:%02d  %s\n", field[1] / 60, field[1] % 60,
				field[2] / 60, field[2] % 60, what
			if ($2 != "")
				printf "check: %20s%s\n", "", $2
			wall += field[1]
			cpu += field[2]
		} END { printf "check: %5d:%02d %7d:%02d  in all, side by side\n", wall / 60, wall % 60, cpu / 60, cpu % 60 }'
	} >&2
}
