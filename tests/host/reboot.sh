# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A machine that is booted twice with the same configuration, its devices in other slots the second time. Sourced by
# tests/check, never run.

# boot TOPOLOGY OPTION... -- COMMAND...
boot() {
	tests/rig/lab run --kernel "$(matrix_newest)" --topology "$1" --share "$LOGS/reboot" "${@:2}"
}

# Below a switch, then each on a root port: no bus number and no path is the same. The drives' serial numbers are.
regions_after_reboot() {
	local apply='donard-cli region apply --json --config /mnt/share/etc'
	mkdir -p "$LOGS/reboot"
	boot switch -- donard-cli region save --config /mnt/share/etc &&
		boot switch --no-regions -- sh -c "$apply >/mnt/share/same" &&
		boot rootports --no-regions -- sh -c "$apply >/mnt/share/moved; echo \$? >/mnt/share/status"
	cat "$LOGS"/reboot/{same,moved,status}
	python3 - "$LOGS/reboot" <<-'END'
		import json, sys
		read = lambda name: {region["name"][:3]: region["status"] for region in json.load(open(sys.argv[1] + "/" + name))["regions"]}
		expected = {"bar": "added", "cmb": "added", "pmr": "added"}, {"bar": "missing", "cmb": "added", "pmr": "added"}, "1"
		seen = read("same"), read("moved"), open(sys.argv[1] + "/status").read().strip()
		print("expected", expected, "seen", seen)
		sys.exit(expected != seen)
	END
}

run_reboot() {
	progress "reboot"
	try "reboot: regions come back, drives' in other slots, too" regions_after_reboot
}
