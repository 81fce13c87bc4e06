# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What donard-cli promises whatever devices there are: its JSON is JSON, its help is the truth.
# Sourced by tests/check, never run.

# json_of STATUS CHECK ARGUMENT... - of donard-cli; CHECK is Python about the parsed object "it".
json_of() {
	local want=$1 check=$2 status=0
	shift 2
	"$BUILD/donard-cli" "$@" >"$LOGS/json" 2>/dev/null || status=$?
	printf "status %d (expected %d), expected: %s\nJSON: %s\n" "$status" "$want" "$check" "$(cat "$LOGS/json")"
	((status == want)) && python3 -c '
import json, sys
it = json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))
sys.exit(not eval(sys.argv[2]))' "$LOGS/json" "$check"
}

# A file name may hold any byte; the message in JSON stays UTF-8.
json_of_any_name() {
	json_of 1 '"bad�.bin" in it["error"]["message"]' copy --json $'/nowhere/bad\xff.bin' /nowhere/b &&
		json_of 2 '"frob�(" in it["error"]["message"]' $'frob\xc3\x28' --json &&
		json_of 2 '"é�" in it["error"]["message"]' list $'\xc3\xa9\xe2\x82' --json
}

# tool/utf8.c makes every string of a model.
strings_enter_json_once() {
	! grep -rn 'json_object_new_string' cli tool bench --include='*.[ch]' | grep -v '^tool/utf8\.c:'
}

run_cli_contracts() {
	try "cli: JSON of a name that is not UTF-8" json_of_any_name
	try "cli: strings enter JSON at one place" strings_enter_json_once
}
