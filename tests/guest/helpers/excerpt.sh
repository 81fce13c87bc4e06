# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is told of a test that failed. Sourced by lib.sh, and by tests/check for the end of a run; never run.

# last_of COUNT - prints the last COUNT lines of standard input. If the line with the expected result is further up, it comes first.
last_of() {
	awk -v most="$1" '
		{ line[NR] = $0 }
		/^(#   [|] )?(FAILED|WRONG): / && !said { said = NR }
		END {
			from = NR > most ? NR - most + 1 : 1
			if (said && said < from)
				line[from] = line[said]
			for (i = from; i <= NR; i++)
				print line[i]
		}'
}
