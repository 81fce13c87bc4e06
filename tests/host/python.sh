# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Unit tests of the Python binding, by Debian's Python, which is the one that its packages are for. Sourced, never run.

export PYTHON=/usr/bin/python3

# unit_python - counts the lines of unittest's output: "test_name (where) ... ok".
unit_python() {
	local log=$LOGS/unit-python.log status=0 line name
	progress "unit-python"
	make -s unit-python "BUILD=$BUILD" >"$log" 2>&1 || status=$?
	# shellcheck disable=SC2094  # nobody writes to it
	while IFS= read -r line; do
		name=${line%% *}
		case $line in
		test_*' ... ok') pass "unit-python: ${name//_/ }" ;;
		test_*' ... skipped '*) skipped "unit-python: ${name//_/ }" "${line#* ... skipped }" ;;
		test_*' ... '*)
			sed -n "/^[A-Z]*: $name /,/^=====/p" "$log" >"$LOGS/said"
			failed "unit-python: ${name//_/ }" "$LOGS/said"
			;;
		esac
	done <"$log"
	if ((status != 0)) || ! grep -q ' ok$' "$log"; then
		failed "unit-python: make unit-python ended with status $status" "$log"
	fi
}

# A member that a structure gains, and that nobody gave to Python.
a_forgotten_member_is_caught() {
	local tree=$LOGS/forgotten status=0 out
	rm -rf "$tree"
	mkdir -p "$tree"
	cp -r --parents include lib/libdonard.map mk Makefile python tests/python "$tree"
	sed -i 's/^\tuint64_t offset_bytes;$/&\n\tuint64_t colour;/' "$tree"/include/donard/{donard,copy}.h
	make -s -C "$tree" "BUILD=$tree/build" python || return
	out=$(LD_LIBRARY_PATH=$BUILD PYTHONPATH=$tree/build/python "$PYTHON" -B -m unittest discover -s "$tree/tests/python" \
		-k test_records_have_each_member 2>&1) || status=$?
	printf '%s\n' "$out"
	((status == 1)) && grep -q colour <<<"$out"
}

run_python() {
	unit_python
	try "unit-python: a forgotten member is caught" a_forgotten_member_is_caught
}
