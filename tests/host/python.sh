# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests in Python, by Debian's, which is the one that the packages of the binding are for. Sourced, never run.

export PYTHON=/usr/bin/python3

# unittests PREFIX FOLDER COMMAND... - runs nothing where tests are asked for by their names and FOLDER has none of them.
unittests() {
	! by_name || any_wanted "$1" < <(python_names "$2") || return 0
	count_suite "$1" "${@:3}"
}

# A member that a structure gains, and that nobody gave to Python.
a_forgotten_member_is_caught() {
	local tree=$LOGS/forgotten status=0 out
	rm -rf "$tree"
	mkdir -p "$tree"
	cp -r --parents include lib/libdonard.map lib/meter/libdonard-meter.map mk Makefile python tests/python "$tree"
	sed -i 's/^\tuint64_t offset_bytes;$/&\n\tuint64_t colour;/' "$tree"/include/donard/{donard,copy}.h
	make -s -C "$tree" "BUILD=$tree/build" python || return
	out=$(LD_LIBRARY_PATH=$BUILD PYTHONPATH=$tree/build/python "$PYTHON" -B -m unittest discover -s "$tree/tests/python" \
		-k test_records_have_each_member 2>&1) || status=$?
	printf '%s\n' "$out"
	((status == 1)) && grep -q colour <<<"$out"
}

run_python() {
	progress "unit-python"
	unittests 'unit-python: ' tests/python make -s unit-python "BUILD=$BUILD" UNITTEST=tests/host/tap.py
	try "unit-python: a forgotten member is caught" a_forgotten_member_is_caught
}

# A page that is made anew has other numbers.
tuning_has_its_numbers() {
	local number bad=0
	while read -r number; do
		grep -qwF -- "$number" docs/benchmarks.md || { echo "$number of docs/tuning.md is not in docs/benchmarks.md"; bad=1; }
	done < <(grep -oE '[0-9]{1,3}(,[0-9]{3})+' docs/tuning.md | sort -u)
	return "$bad"
}

# Runs in a tree whose lab prints half of a result.
bench_keeps_last_result() {
	local tree=$LOGS/half status=0 out
	rm -rf "$tree"
	mkdir -p "$tree/build/results"
	cp -r --parents bench tests/matrix tests/matrix.sh tests/rig/boot/blame.sh "$tree"
	printf '#!/bin/sh\n' >"$tree/tests/rig/setup"
	printf '#!/bin/sh\necho "{\\"samples\\": ["\n' >"$tree/tests/rig/lab"
	chmod +x "$tree"/tests/rig/{setup,lab}
	echo "the last one" >"$tree/build/results/null.json"
	out=$("$tree/bench/run" null 2>&1) || status=$?
	printf 'status %d: %s\n' "$status" "$out"
	((status == 1)) && grep -q 'no JSON behind 0 results' <<<"$out" && [[ $(<"$tree/build/results/null.json") == "the last one" ]]
}

# The tests of bench/donard-stat, which computes figures from samples.
run_report() {
	progress "report"
	PYTHONPATH=bench unittests '' tests/bench "$PYTHON" -B tests/host/tap.py tests/bench
	try "report: bench/run describes itself" bench/run --help
	try "report: bench/run keeps the last result where the next is cut off" bench_keeps_last_result
	try "report: numbers of docs/tuning.md are in docs/benchmarks.md" tuning_has_its_numbers
}
