# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a run is made of, as a hash: whoever keeps the outcome of a run knows by it whether another one would tell anything new.
# Sourced, never run.

# Files of the lab that a run depends on and that are not in what list_system prints.
readonly KEY_FILES=(lab common.sh boot devices guest initramfs meter power topologies)

# list_tree DIR - names, modes and content of all below it, wherever it lies.
list_tree() {
	(
		cd "$1" || exit
		find . -printf '%P %y %m %l\n' | LC_ALL=C sort
		tree_key .
	)
}

# list_system KERNEL - lists image, kernel and fresh files of a guest. dpkg's list stands for the image's packages: the archive
# moves on, and the recipe, of which the names in the cache are made, does not show that.
list_system() (
	local root stage
	root=$(guest_root)
	stage=$(mktemp -d "${TMPDIR:-/tmp}/donard-key.XXXXXX")
	trap 'remove_tree "$stage"' EXIT
	make_stage "$stage" "$root" "$1"
	basename -a "$(guest_image)" "$(guest_initramfs "$root" "$1")" "$(kernel_home "$root" "$1")"
	kernel_version "$root" "$1"
	sha256sum <"$root/var/lib/dpkg/status"
	matrix_can "$1"
	list_tree "$stage"
)

# list_emulator - the meter's plugin and the like are made from the lab's files.
list_emulator() {
	if [[ $OPT_FABRIC == ntb ]]; then
		basename "$(vfio_user_qemu)"
	else
		qemu-system-x86_64 --version
	fi
}

# run_key COMMAND...
run_key() {
	local name listed
	listed=$(
		for name in KERNEL TOPOLOGY IMAGE PEER PEER_KERNEL FABRIC BARE NO_REGIONS TRACE APPEND ICOUNT METER ONE_PROCESSOR; do
			name=OPT_$name
			printf '%s=%s\n' "$name" "${!name}"
		done
		printf 'command %s\n' "$@"
		list_emulator
		list_system "$OPT_KERNEL"
		[[ -z $OPT_PEER_KERNEL ]] || list_system "$OPT_PEER_KERNEL"
		for name in "${KEY_FILES[@]}"; do
			if [[ -d $RIG_DIR/$name ]]; then
				list_tree "$RIG_DIR/$name"
			else
				sha256sum <"$RIG_DIR/$name"
			fi
		done
	)
	content_key "$listed"
}
