# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Reads tests/matrix, which says what is tested where. Sourced by tests/check, bench/run and the lab, never run.

MATRIX=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/matrix
readonly MATRIX

# matrix_rows KIND - the rows of that kind, without the word itself.
matrix_rows() {
	sed -nE "s/^$1[[:space:]]+//p" "$MATRIX"
}

# matrix_kernels [SOURCE] - their names, those of one source if given.
matrix_kernels() {
	matrix_rows kernel | awk -v source="${1-}" 'source == "" || $2 == source { print $1 }'
}

# matrix_newest - the default kernel.
matrix_newest() {
	matrix_rows kernel | awk 'NR == 1 { print $1 }'
}

# matrix_oldest - of those that Debian builds.
matrix_oldest() {
	matrix_kernels archive | sort -V | awk 'NR == 1 { print $1 }'
}

# matrix_releases - "RELEASE KERNEL..." a line.
matrix_releases() {
	matrix_rows release
}

# matrix_can KERNEL - its capabilities, on one line.
matrix_can() {
	matrix_rows kernel | awk -v kernel="$1" '$1 == kernel { $1 = $2 = ""; print $0 }' | xargs
}

# matrix_guests RING - "KERNEL TOPOLOGY FABRIC SUITE..." a line.
matrix_guests() {
	matrix_rows guest | awk -v ring="$1" '$1 == ring { $1 = ""; print $0 }' | sed 's/^ //'
}

# matrix_suites [RING] - those of the guests, of one ring if given.
matrix_suites() {
	matrix_rows guest | awk -v ring="${1-}" 'ring == "" || $1 == ring { for (i = 5; i <= NF; i++) if (!seen[$i]++) print $i }'
}

# matrix_host [RING] - the suites that need no guest, of one ring if given.
matrix_host() {
	matrix_rows host | awk -v ring="${1-}" 'ring == "" || $1 == ring { for (i = 2; i <= NF; i++) if (!seen[$i]++) print $i }'
}

# matrix_budget - of the gate: minutes by the clock, and of processor time.
matrix_budget() {
	matrix_rows budget
}

# matrix_is_exact SUITE - a suite whose failures no slow host causes.
matrix_is_exact() {
	[[ " $(matrix_rows exact | xargs) " == *" $1 "* ]]
}

# matrix_may_skip KERNEL "SUITE: TEST..." - does a row allow that this test skips?
matrix_may_skip() {
	local kernel test
	while read -r kernel test; do
		[[ $kernel != "$1" || $2 != "$test"* ]] || return 0
	done < <(matrix_rows may-skip)
	return 1
}
