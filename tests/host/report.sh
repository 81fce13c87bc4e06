# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests of bench/donard-stat, which turns samples into figures: tests/bench says what they show. Sourced by
# tests/check, never run.

run_report() {
	local line seen=0
	progress "report"
	tests/bench/run >"$LOGS/report.log" 2>"$LOGS/report.err" || true
	# shellcheck disable=SC2094  # nobody writes to it
	while IFS= read -r line; do
		case $line in
		'ok - '*) pass "${line#ok - }"; seen=$((seen + 1)) ;;
		'not ok - '*)
			told_after "$LOGS/report.log" "$line" '^(not )?ok - |^#   again: ' | sed 's/^#   | //' >"$LOGS/said"
			failed "${line#not ok - }" "$LOGS/said"
			seen=$((seen + 1))
			;;
		esac
	done <"$LOGS/report.log"
	((seen)) || failed "report: no test was run" "$LOGS/report.err"
	try "report: bench/run describes itself" bench/run --help
}
