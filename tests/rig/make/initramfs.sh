# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The initramfs of each kernel, and the layer of fresh files appended to it. Sourced, never run.

# Just enough to reach the image and the lab's channels. 9p: /mnt/lab and /mnt/share.
readonly BOOT_MODULES=(virtio_pci virtio_blk virtio_console squashfs overlay 9p 9pnet_virtio pvpanic-pci)

# pack DIR FILE - as a cpio archive owned by root.
pack() {
	(cd "$1" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0) >"$2"
}

# module_closure HOME VERSION MODULE... - module files, each after those it needs.
module_closure() {
	local home=$1 version=$2 module
	shift 2
	for module in "$@"; do
		modprobe -d "$home" -S "$version" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# build_initramfs FILE HOME VERSION
build_initramfs() {
	local file=$1 home=$2 version=$3 dir=$1.d module
	mkdir -p "$dir"/{bin,dev,modules,proc,sys}
	cp "$(command -v busybox)" "$dir/bin/busybox"
	install -m 755 "$RIG_DIR/initramfs/init" "$dir/init"
	# A kernel that has them all built in names none.
	: >"$dir/modules/order"
	while read -r module; do
		cp "$module" "$dir/modules/"
		basename "$module" >>"$dir/modules/order"
	done < <(module_closure "$home" "$version" "${BOOT_MODULES[@]}")
	pack "$dir" "$file"
	remove_tree "$dir"
}

# initramfs_key HOME VERSION
initramfs_key() {
	content_key "$1" "$RIG_DIR/initramfs/init" "${BOOT_MODULES[*]}" "$(declare -f build_initramfs)"
}

# guest_initramfs ROOT KERNEL
guest_initramfs() {
	local home version
	home=$(kernel_home "$1" "$2")
	version=$(kernel_version "$1" "$2")
	cached_of "initramfs-$version" initramfs_key build_initramfs "$home" "$version"
}
