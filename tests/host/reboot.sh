# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Machines that are booted in another way than the suites' guests: twice, with the same configuration, its devices in other
# slots the second time; and with a kernel that lacks something. Sourced by tests/check, never run.

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
		boot rootports --no-regions -- sh -c "$apply >/mnt/share/moved; echo \$? >/mnt/share/status" || return
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

# Such a kernel maps the pages write-back, so that the other types are refused, and by their cause. The guest joins its two outputs,
# since nothing else has them in order.
without_pat() {
	local kernel=$1 add="donard-cli region add --kind pci-bar --device \$LAB_GPU_BDF --bar 2" seen status=0
	seen=$(tests/rig/lab run --kernel "$kernel" --append nopat --no-regions -- sh -c "
		exec 2>&1
		$add --memtype uc; echo status \$?
		$add; echo status \$?
		$add --memtype wb >/dev/null; echo status \$?
		cat /sys/class/p2pmem/p2pmem0/memtype" 2>&1) || status=$?
	printf 'seen, with status %d: %s\n' "$status" "$seen"
	((status == 0)) || return
	seen=$(grep -E '^(donard-cli|status|wb|wc|uc)' <<<"${seen//$'\r'/}")
	[[ $seen == *'no PAT'*'memory type uc'*'use memory type wb'*'status 3'*'no PAT'*'memory type wc'*'status 3'*'status 0'*wb ]]
}

run_reboot() {
	local kernel

	progress "reboot"
	try "reboot: regions come back, drives' in other slots, too" regions_after_reboot
	for kernel in $(matrix_kernels archive); do
		try "reboot: a kernel without PAT is named, $kernel" without_pat "$kernel"
	done
}
