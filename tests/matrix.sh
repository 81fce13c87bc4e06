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

# matrix_can KERNEL - its capabilities, on one line.
matrix_can() {
	matrix_rows kernel | awk -v kernel="$1" '$1 == kernel { $1 = $2 = ""; print $0 }' | xargs
}

# matrix_guests WHEN - "KERNEL TOPOLOGY FABRIC SUITE..." a line.
matrix_guests() {
	matrix_rows guest | awk -v when="$1" '$1 == when { $1 = ""; print $0 }' | sed 's/^ //'
}

# matrix_may_skip KERNEL "SUITE: TEST..." - does a row allow that this test skips?
matrix_may_skip() {
	local kernel test
	while read -r kernel test; do
		[[ $kernel != "$1" || $2 != "$test"* ]] || return 0
	done < <(matrix_rows may-skip)
	return 1
}
