# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Headers of NVIDIA's driver as Debian packages them, to compare our declarations with. Nothing of them is shipped or
# built into anything. Sourced, never run.

# Releases with a driver generation of their own: 535, 550, and what backports may bring.
readonly NVIDIA_RELEASES=(bookworm trixie trixie-backports)

# fetch_nv_p2p DIR - DIR/RELEASE/nv-p2p.h, and DIR/RELEASE/version.
fetch_nv_p2p() {
	local dir=$1 debs=$1.debs release
	for release in "${NVIDIA_RELEASES[@]}"; do
		say "fetching the header of NVIDIA's open driver in $release (35 MB)"
		mkdir -p "$dir/$release"
		fetch_debs "$debs" "$release" '' nvidia-open-kernel-source
		dpkg-deb -f "$debs"/*.deb Version >"$dir/$release/version"
		dpkg-deb --fsys-tarfile "$debs"/*.deb | tar -xO ./usr/src/nvidia-open-kernel.tar.xz |
			tar -xJO --wildcards '*/nvidia/nv-p2p.h' >"$dir/$release/nv-p2p.h"
		rm -rf "$debs"
	done
}

nv_p2p_headers() {
	cached "nv-p2p-$(content_key "${NVIDIA_RELEASES[*]}" "$(declare -f fetch_nv_p2p)")" fetch_nv_p2p
}
