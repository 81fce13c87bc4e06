# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What donard-cli doctor says. Sourced by suites.

# doctor STATUS ARGUMENT... - its JSON in $RESULT.
doctor() {
	local want=$1 status=0
	shift
	RESULT=$(donard-cli doctor --json "$@" 2>"$WORK/doctor.err") || status=$?
	equal "status of donard-cli doctor $* ($(cat "$WORK/doctor.err")$RESULT)" "$want" "$status"
}

# each_pair FILTER - prints the jq filter's answers for all pairs with a region, each answer once.
each_pair() {
	jq -r "[.pairs[] | select(.is_region) | $1] | unique | join(\" \")" <<<"$RESULT"
}

# between CLIENT-BDF REGION FILTER - the same of one pair.
between() {
	jq -r ".pairs[] | select(.client_bdf == \"$1\" and .memory == \"$2\") | $3" <<<"$RESULT"
}

# finds CODE - its cause.
finds() {
	jq -e -r ".findings[] | select(.code == \"$1\") | .cause" <<<"$RESULT" || fail "no finding $1 in $RESULT"
}

finds_not() {
	local seen
	seen=$(jq -r "if .findings | type == \"array\" then . else error(\"no findings\") end |
		.findings[] | select(.code == \"$1\") | .cause" <<<"$RESULT")
	equal "findings of $1" "" "$seen"
}

# doctor_agrees - doctor's prediction from sysfs and the kernel's answer about host bridges agree with the module for each pair. Prints
# how many pairs there are.
doctor_agrees() {
	RESULT=$(donard-cli doctor --json) || true
	finds_not prediction-differs
	equal "pairs that were not asked about, or not certain" 0 \
		"$(jq '[.pairs[] | select(.is_region and (.predicted_by != "module" or (.sysfs_certain | not)))] | length' <<<"$RESULT")"
	jq -e -r '[.pairs[] | select(.is_region)] | length | select(. > 0) | "\(.) routes predicted from sysfs"' <<<"$RESULT" ||
		fail "no pair: $RESULT"
}
