# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# CUDA's header as Debian packages it, to compare our declarations with. Nothing of it is shipped or built into anything.
# Sourced, never run.

# 11.8 and 12.4.
readonly CUDA_RELEASES=(bookworm trixie)

# header_of_package URL - of a package of 900 MB, no more than is before its end is fetched. Its checksum is not looked at, so
# what comes is read by a compiler that makes nothing of it.
header_of_package() {
	tar -xO --occurrence=1 ./usr/include/cuda.h < <(curl -sSfL --connect-timeout 30 --max-time 300 "$1" 2>/dev/null | dpkg-deb --fsys-tarfile /dev/stdin 2>/dev/null)
}

# fetch_cuda_headers DIR - DIR/RELEASE/cuda.h and version; no DIR/RELEASE where the archive has no such package.
fetch_cuda_headers() {
	local dir=$1 apt=$1.apt release mirror url
	mirror=$(debian_mirror)
	for release in "${CUDA_RELEASES[@]}"; do
		say "fetching CUDA's header of $release (5 MB)"
		mkdir -p "$dir" "$apt"
		: >"$apt/status"
		sources "$mirror" "$release" | sed 's/$/ non-free/' | private_apt_update "$apt"
		url=$(private_apt "$apt" apt-get --print-uris download nvidia-cuda-dev | cut -d"'" -f2) || url=
		[[ -n $url ]] || continue
		mkdir "$dir/$release"
		private_apt "$apt" apt-cache show nvidia-cuda-dev | sed -n 's/^Version: //p' >"$dir/$release/version"
		header_of_package "$url" >"$dir/$release/cuda.h" ||
			die 1 "the beginning of $url does not hold ./usr/include/cuda.h, or curl cannot read it"
		rm -rf "$apt"
	done
}

cuda_headers() {
	cached "cuda-$(content_key "${CUDA_RELEASES[*]}" "$(declare -f fetch_cuda_headers header_of_package)")" fetch_cuda_headers
}
