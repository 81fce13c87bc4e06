#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs suites inside a guest: run.sh [--thorough] SUITE[/NAME]...
# --thorough: as on the kernel that tests/matrix calls thorough, and at greater length (can long).
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib.sh
. ./lib.sh

run_suite() {
	local from=$SECONDS
	SUITE=${1%%/*} ONLY=
	[[ $1 != */* ]] || ONLY=${1#*/}
	(
		# shellcheck source=/dev/null
		. "./$SUITE.sh"
	)
	printf '# took %d %s\n' $((SECONDS - from)) "$SUITE"
	printf '# end %s\n' "$SUITE"
}

if [[ ${1-} == --thorough ]]; then
	LAB_CAN+=" thorough long"
	shift
fi
for suite in "$@"; do
	run_suite "$suite"
done
echo "# end of boot"
