# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests in Python, by Debian's, which is the one that the packages of the binding are for. Sourced, never run.

export PYTHON=/usr/bin/python3

# unittests PREFIX FOLDER COMMAND... - runs nothing where tests are asked for by their names and FOLDER has none of them. Counts
# the lines of unittest's output, which end in " ... ok": "test_name (where)", or what the test says of itself.
unittests() {
	local prefix=$1 log=$LOGS/unittests.log status=0 line name shown
	! by_name || any_wanted "$prefix" < <(python_names "$2") || return 0
	shift 2
	"$@" >"$log" 2>&1 || status=$?
	# shellcheck disable=SC2094  # nobody writes to it
	while IFS= read -r line; do
		name=${line% ... *} shown=${line% ... *}
		[[ $name != test_* ]] || { name=${name%% *} && shown=${name//_/ }; }
		wanted "$prefix$shown" || continue
		case $line in
		*' ... ok') pass "$prefix$shown" ;;
		*' ... skipped '*) skipped "$prefix$shown" "${line##* ... skipped }" ;;
		*' ... FAIL' | *' ... ERROR')
			NAME=$name awk -v RS='\n==*\n' 'NR > 1 && index($0, ENVIRON["NAME"])' "$log" >"$LOGS/said"
			failed "$prefix$shown" "$LOGS/said"
			;;
		esac
	done <"$log"
	if ((status != 0)) || ! grep -q ' ok$' "$log"; then
		failed "$prefix$* ended with status $status" "$log" host "$SUITE"
	fi
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
	unittests 'unit-python: ' tests/python make -s unit-python "BUILD=$BUILD"
	try "unit-python: a forgotten member is caught" a_forgotten_member_is_caught
}

# Of bench/donard-stat, which turns samples into figures.
run_report() {
	progress "report"
	PYTHONPATH=bench unittests '' tests/bench "$PYTHON" -B -m unittest discover -v -s tests/bench
	try "report: bench/run describes itself" bench/run --help
}
