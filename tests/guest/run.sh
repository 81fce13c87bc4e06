#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs suites inside a guest: run.sh SUITE[/NAME]...
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

for suite in "$@"; do
	run_suite "$suite"
done
echo "# end of boot"
