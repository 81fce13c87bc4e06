# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A kernel that is locked down, as Secure Boot does it, while a GPU's region is there. It stays so until the guest ends,
# in which no region can be added from then on: the last suite of its guest.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh

lock_down() {
	mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
	equal "lockdown before" '[none] integrity confidentiality' "$(</sys/kernel/security/lockdown)"
	echo integrity >/sys/kernel/security/lockdown
}

codes() {
	donard-cli doctor --json | jq -r '.findings[] | select(.severity == "fault") | .code' | paste -sd' '
}

verdict() {
	donard-cli doctor --json | jq -r .verdict
}

# Existing regions go on working; none can be added or changed.
locked_down() {
	# shellcheck disable=SC2119
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	equal_none "faults before" codes
	equal "verdict before" ready "$(verdict)"
	lock_down
	equal "faults" lockdown "$(codes)"
	equal "verdict" ready "$(verdict)"
	copy "$LAB_ALPHA" gpu:0 --size 1M --verify
	equal "verified" true "$(field verified)"
	within 10 nothing_is_pinned
	exits 1 'the kernel is locked down .PCI access.: boot without lockdown' \
		donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	exits 1 'page type cannot be set: the kernel is locked down .PCI access.' \
		donard-cli region set p2pmem0 --page-type generic
	exits 1 'p2pmem0: cannot be removed: the kernel is locked down .PCI access.' donard-cli region remove p2pmem0
	exits 1 'not permitted' bash -c 'echo 1 >/sys/class/p2pmem/p2pmem0/pinned_importers'
	exits 0 'pinned_importers cannot be set: the kernel is locked down' dmesg
}

core t "a GPU's region" locked_down
