# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is told of a test that failed. Sourced by lib.sh, and by tests/check for the end of a run; never run.

# last_of COUNT - so many lines, the last ones of standard input. What was expected may stand before more than that of what was
# seen: then its line is the first.
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
