# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# kernel/nv_p2p.h compared with the nv-p2p.h of each driver generation in Debian. Sourced by tests/check, never run.

# nv_p2p_header RELEASE - the directory with the packaged header.
nv_p2p_header() {
	local headers
	headers=$(in_rig nv_p2p_headers) || return
	printf '%s\n' "$headers/$1"
}

# compare_nv_p2p RELEASE
compare_nv_p2p() {
	local theirs
	theirs=$(nv_p2p_header "$1") || return
	echo "nvidia-open-kernel-source $(<"$theirs/version") of $1"
	gcc -std=gnu11 -fsyntax-only -Wall -I"$theirs" -I. tests/host/nvp2p.c
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

run_nvp2p() {
	local release
	progress "declarations of NVIDIA's peer-to-peer interface"
	for release in bookworm trixie trixie-backports; do
		try "build: nv_p2p.h as the driver in $release" compare_nv_p2p "$release"
	done
	try "build: nv_p2p.h as a driver with page tables of version 2" compare_nv_p2p_2
}
