# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Random programs against the device nodes (fuzz.c): first those of the corpus, then ones made from them. On a kernel
# that shows the module's coverage they are led by it. Sourced by run.sh.
#
# To repeat: the console's log has "fuzz seed S thread N: PROGRAM" before each; put the last ones into a file, then
#   tests/rig/lab run --kernel K --share DIR -- fuzz -r /mnt/share/FILE /dev/p2pmem0 /dev/p2pmem1 /dev/p2pmem2
# To learn more: fuzz -t 3600 -c fuzz.corpus -o /mnt/share/fuzz.corpus NODE... on kernel 7-debug.

readonly CORPUS=$PWD/fuzz.corpus

# fuzzed SEED SECONDS - and then everything is given back.
fuzzed() {
	local region
	fuzz -s "$1" -t "$2" -j 3 -c "$CORPUS" -d "$LAB_ALPHA" -p "$LAB_BETA_BDF" /dev/p2pmem0 /dev/p2pmem1 /dev/p2pmem2 |
		tee "$WORK/out"
	matches "programs run" ' [1-9][0-9]* programs' "$(cat "$WORK/out")"
	if can coverage; then
		matches "coverage seen" ', [1-9][0-9]* pairs' "$(cat "$WORK/out")"
	fi
	for region in p2pmem0 p2pmem1 p2pmem2; do
		within 20 region_is_free "$region"
	done
}

if can coverage; then
	# shellcheck disable=SC2034  # run_limited
	TEST_SECONDS=1800
	t "led by coverage" fuzzed "$((SRANDOM))" 600
else
	t "corpus and random programs" fuzzed 1 45
fi
