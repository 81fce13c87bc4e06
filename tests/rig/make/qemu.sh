# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A second emulator, for machines with devices of our own: QEMU has had a client for vfio-user since 10.1, and Debian's
# stable has 10.0. Sourced, never run.

# From the backports of the guest's release. It is used where it lies: no root, no chroot, nothing installed.
readonly VFIO_USER_PACKAGES=(qemu-system-{x86,common,data} seabios)

# build_qemu DIR - the packages and what they need, unpacked.
build_qemu() {
	local dir=$1 tar=$1.tar list=$1.list mirror
	say "fetching a QEMU that speaks vfio-user (a minute on a fast line)"
	mirror=$(debian_mirror)
	sources "$mirror" "$ROOT_RELEASE" "$ROOT_RELEASE-backports" >"$list"
	mmdebstrap --quiet --mode=auto --variant=extract --format=tar --aptopt='APT::Install-Recommends "false"' \
		--include="${VFIO_USER_PACKAGES[*]/%//$ROOT_RELEASE-backports}" "$ROOT_RELEASE" "$tar" "$list"
	mkdir -p "$dir"
	tar -x -C "$dir" --no-same-owner --exclude='./dev/*' -f "$tar"
	rm -rf "${dir:?}"/usr/share/{doc,man,locale,info} "${dir:?}/var"
	rm -f "$tar" "$list"
}

vfio_user_qemu() {
	cached "qemu-$(content_key "${VFIO_USER_PACKAGES[*]}" "$ROOT_RELEASE" "$(declare -f build_qemu)")" build_qemu
}
