# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The kernel's NTB drivers, which Debian leaves out of its kernels; built here from the same source against the guest's
# headers, and unchanged. Sourced, never run.

# build_ntb DIR ROOT KERNEL SOURCE
build_ntb() {
	local dir=$1 options=(CONFIG_NTB{,_AMD,_TRANSPORT,_NETDEV,_PERF,_PINGPONG,_TOOL}"=m")
	say "building the NTB drivers for $3"
	mkdir -p "$dir/copy"
	cp -r "$4/drivers/ntb" "$4/drivers/net/ntb_netdev.c" "$dir/copy/"
	printf 'obj-m := ntb/ ntb_netdev.o\n' >"$dir/copy/Kbuild"
	kernel_make "$2" "$3" "$dir" M=/out/copy "${options[@]}" modules
	find "$dir/copy" -name '*.ko' -exec strip --strip-debug {} + -exec mv -t "$dir" {} +
	rm -rf "$dir/copy"
}

# guest_ntb ROOT KERNEL - the directory with the modules.
guest_ntb() {
	local root=$1 kernel=$2 home source
	home=$(kernel_home "$root" "$kernel")
	source=$(kernel_source "$(kernel_version "$root" "$(series_of "$kernel")")")
	cached "ntb-$kernel-$(content_key "$root" "$home" "$source" "$(declare -f build_ntb)")" \
		build_ntb "$root" "$kernel" "$source"
}

# build_devices DIR - for the host, where the emulator runs.
build_devices() {
	mkdir -p "$1"
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -o "$1/ntbd" "$RIG_DIR"/devices/*.c
}

devices_key() {
	content_key "$RIG_DIR"/devices/* "$(declare -f build_devices)"
}

device_programs() {
	cached_of devices devices_key build_devices
}
