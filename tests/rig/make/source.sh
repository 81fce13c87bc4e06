# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is needed of the source of the guests' kernels, as Debian packages it. Sourced, never run.

# What Debian does not build, and the judge of kernel style with its lists of words.
readonly SOURCE_FILES=(drivers/infiniband/sw/siw drivers/ntb drivers/net/ntb_netdev.c
	scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch})

# package_version KERNELS-DIR VERSION - Debian's version of the packages of a kernel.
package_version() {
	dpkg-deb -f "$1/debs/linux-headers-$2"_*.deb Version
}

# download_source APT-DIR PACKAGE VERSION - that very version, or the newest when the archive has moved on:
# these files hardly change between updates of one series.
download_source() {
	cd "$1" || return
	private_apt "$1" apt-get download "$2=$3" && return
	say "the archive no longer has $2 $3; taking its newest"
	private_apt "$1" apt-get download "$2"
}

# fetch_source DIR KERNELS-DIR PACKAGE-VERSION [FILE...] - these files and directories of it, or all.
fetch_source() {
	local dir=$1 version=$3 apt=$1.apt series package
	local -a files=("${@:4}")
	series=$(cut -d. -f1,2 <<<"$version")
	package=linux-source-$series
	say "fetching $package $version (150 MB, half a minute on a fast line)"
	mkdir -p "$dir" "$apt"
	: >"$apt/status"
	private_apt_update "$apt" <"$2/sources.list"
	(download_source "$apt" "$package" "$version")
	dpkg-deb --fsys-tarfile "$apt/$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ --strip-components=1 -C "$dir" "${files[@]/#/$package/}"
	rm -rf "$apt"
}

# kernel_source VERSION - the directory with SOURCE_FILES of a guest's kernel.
kernel_source() {
	local kernels package
	kernels=$(guest_kernels)
	package=$(package_version "$kernels" "$1")
	cached "source-$package-$(content_key "${SOURCE_FILES[*]}" "$(declare -f fetch_source)")" \
		fetch_source "$kernels" "$package" "${SOURCE_FILES[@]}"
}
