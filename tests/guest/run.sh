#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs suites inside a guest: run.sh [--ring RING] [--seed N] [--soak N] SUITE[/NAME]...
# RING is one of tests/matrix. gate: of each suite what is core, or the test that is named; all (the default): as on the
# kernel that the matrix calls thorough; debug: whole suites.
# What is random begins with the seed; soaks take N times as long.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib.sh
. ./lib.sh

run_suite() {
	local from=$SECONDS
	SUITE=${1%%/*} ONLY=
	[[ $1 != */* ]] || ONLY=${1#*/}
	# After a syntax error, bash would leave out the rest of the suite, and still print "end".
	bash -n "./$SUITE.sh" || return
	(
		# A test that is declared by a wrong word would never run.
		# shellcheck disable=SC2317  # bash calls it
		command_not_found_handle() {
			result "not ok - $SUITE: there is no command $1"
			echo '#   not of speed'
			return 127
		}
		# shellcheck source=/dev/null
		. "./$SUITE.sh"
		# Printed here, so that a suite that exits early does not claim to have reached its end.
		printf '# took %d %s\n' $((SECONDS - from)) "$SUITE"
		printf '# end %s\n' "$SUITE"
	)
}

while [[ ${1-} == --* ]]; do
	case $1 in
	--ring) RING=$2 ;;
	--seed) SEED=$2 ;;
	--soak) SOAK=$2 ;;
	esac
	shift 2
done
((TEST_SECONDS *= SOAK))
[[ $RING != all ]] || LAB_CAN+=" thorough"
for suite in "$@"; do
	run_suite "$suite"
done
plan
echo "# end of boot"
