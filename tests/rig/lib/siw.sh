# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# siw, the kernel's software iWARP. Debian leaves it out of its kernels; built here from the same source
# against the guest's headers. Sourced, never run.

# package_version KERNELS-DIR VERSION - Debian's version of the packages of a kernel.
package_version() {
	dpkg-deb -f "$1/debs/linux-headers-$2"_*.deb Version
}

# download_source APT-DIR PACKAGE VERSION - that very version, or the newest when the archive has moved on:
# siw hardly changes between updates of one series.
download_source() {
	cd "$1" || return
	private_apt "$1" apt-get download "$2=$3" && return
	say "the archive no longer has $2 $3; taking its newest"
	private_apt "$1" apt-get download "$2"
}

# fetch_siw DIR KERNELS-DIR PACKAGE-VERSION - its files, out of Debian's package of the kernel source.
fetch_siw() {
	local dir=$1 version=$3 apt=$1.apt series package
	series=$(cut -d. -f1,2 <<<"$version")
	package=linux-source-$series
	say "fetching siw from $package $version (150 MB, half a minute on a fast line)"
	mkdir -p "$dir" "$apt"
	: >"$apt/status"
	private_apt_update "$apt" <"$2/sources.list"
	(download_source "$apt" "$package" "$version")
	dpkg-deb --fsys-tarfile "$apt/$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ --strip-components=5 -C "$dir" "$package/drivers/infiniband/sw/siw"
}

# build_siw DIR ROOT VERSION SOURCE
build_siw() {
	local dir=$1
	say "building siw for $3"
	mkdir -p "$dir"
	cp -r "$4" "$dir/copy"
	in_root "$2" "$dir" make -s -C "/usr/src/linux-headers-$3" M=/out/copy "-j$(nproc)" \
		CONFIG_RDMA_SIW=m CONFIG_DEBUG_INFO_BTF_MODULES= modules
	strip --strip-debug -o "$dir/siw.ko" "$dir/copy/siw.ko"
	rm -rf "$dir/copy"
}

# guest_siw ROOT VERSION - the directory with siw.ko.
guest_siw() {
	local root=$1 version=$2 kernels package source
	kernels=$(guest_kernels)
	package=$(package_version "$kernels" "$version")
	source=$(cached "siw-source-$package-$(content_key "$(declare -f fetch_siw)")" \
		fetch_siw "$kernels" "$package")
	cached "siw-$version-$(content_key "$root" "$source" "$(declare -f build_siw)")" \
		build_siw "$root" "$version" "$source"
}
