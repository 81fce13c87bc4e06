# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# kernel/nv_p2p.h compared with the nv-p2p.h of each driver generation in Debian. Sourced by tests/check, never run.

# nv_p2p_header RELEASE - the directory with the packaged header.
nv_p2p_header() {
	local headers
	headers=$(in_rig nv_p2p_headers) || return
	printf '%s\n' "$headers/$1"
}

# compare_nv_p2p RELEASE TREE - TREE/kernel/nv_p2p.h is ours, or a changed copy.
compare_nv_p2p() {
	local theirs
	theirs=$(nv_p2p_header "$1") || return
	echo "nvidia-open-kernel-source $(<"$theirs/version") of $1"
	gcc -std=gnu11 -fsyntax-only -Wall -I"$theirs" -I"$2" tests/host/nvp2p.c
}

# compare_nv_p2p_2 - trixie's header, with a page table of version 2 as the driver 595 has it, which Debian does not yet.
compare_nv_p2p_2() {
	local theirs tree=$LOGS/nvp2p2
	theirs=$(nv_p2p_header trixie) || return
	mkdir -p "$tree"
	sed -e 's/\(define NVIDIA_P2P_PAGE_TABLE_VERSION\) .*/\1 0x00020000/' -e 's/uint8_t \*gpu_uuid;/&\n    uint32_t flags;/' \
		"$theirs/nv-p2p.h" >"$tree/nv-p2p.h"
	(($(grep -c -e 'uint32_t flags;' -e 'TABLE_VERSION 0x00020000' "$tree/nv-p2p.h") == 2)) ||
		{ echo "the header is not as it was: $theirs"; return 1; }
	gcc -std=gnu11 -fsyntax-only -Wall -I"$tree" -I. tests/host/nvp2p.c
}

# The comparison fails for a copy of our header that one of these changed.
nv_p2p_change_is_caught() {
	local tree=$LOGS/nvp2p change
	mkdir -p "$tree/kernel"
	cp kernel/nv_p2p.h "$tree/kernel/" && compare_nv_p2p trixie "$tree" || return
	for change in 's/0x00010002/0x00010003/' 's/u32 entries;/u64 entries;/' 's/u8 \*gpu_uuid;/u8 gpu_uuid;/' \
		's/u32 rreqmb_0;/&\n\tu32 more;/' 's/NVIDIA_P2P_PAGE_SIZE_4KB = 0,/NVIDIA_P2P_PAGE_SIZE_4KB = 1,/' \
		's/u64 virtual_address, u64 length,$/u64 virtual_address, u32 length,/' 's/u32 va_space, u64/u64 va_space, u64/'; do
		sed "$change" kernel/nv_p2p.h >"$tree/kernel/nv_p2p.h"
		! cmp -s kernel/nv_p2p.h "$tree/kernel/nv_p2p.h" || { echo "changes nothing: $change"; return 1; }
		! compare_nv_p2p trixie "$tree" || { echo "not caught: $change"; return 1; }
	done
}

run_nvp2p() {
	local release
	progress "declarations of NVIDIA's peer-to-peer interface"
	for release in bookworm trixie trixie-backports; do
		try "build: nv_p2p.h as the driver in $release" compare_nv_p2p "$release" .
	done
	try "build: nv_p2p.h as a driver with page tables of version 2" compare_nv_p2p_2
	try "build: a change of nv_p2p.h is caught" nv_p2p_change_is_caught
}
