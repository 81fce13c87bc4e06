# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian's packages of the project, built, checked and used in clean systems of each release. Sourced, never run.


# build_depends - of debian/control, as mmdebstrap takes them.
build_depends() {
	sed -n '/^Build-Depends:/,/^[^ ]/{/^ /{s/^ //; s/[ ,(<].*//; p}}' "$REPO_DIR/debian/control" |
		sed 's/^debhelper-compat$/debhelper/; s/:any$//; s/^dh-sequence-dkms$/dh-dkms/
			s/^dh-sequence-installsysusers$/debhelper/; s/^dh-sequence-python3$/dh-python/'
}

# build_package_root ROOT RELEASE - what the packages are built in.
build_package_root() {
	local root=$1 release=$2 mirror list=$1.list tar=$1.tar
	say "building a root that builds packages ($release)"
	mirror=$(debian_mirror)
	sources "$mirror" "$release" >"$list"
	mmdebstrap --quiet --mode=auto --variant=apt --format=tar --aptopt='APT::Install-Recommends "false"' \
		--include="build-essential fakeroot lintian $(build_depends | xargs)" "$release" "$tar" "$list"
	mkdir -p "$root"
	tar -x -C "$root" --no-same-owner --exclude='./dev/*' -f "$tar"
	mkdir -p "$root"/{src,out,kernel}
	rm -f "$list" "$tar"
}

package_root_key() {
	content_key "$(build_depends)" "$(declare -f build_package_root)"
}

# package_root RELEASE
package_root() {
	cached_of "packages-root-$1" package_root_key build_package_root "$1"
}

# build_packages RELEASE DIR - from the files that git knows, or would.
build_packages() {
	local release=$1 dir=$2 root
	root=$(package_root "$release")
	mkdir -p "$dir/donard"
	(cd "$REPO_DIR" && git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
		xargs -0 cp --parents -t "$dir/donard")
	say "building the packages ($release)"
	in_root "$root" "$dir" bash -c 'cd /out/donard && dpkg-buildpackage -us -uc -b -j2'
}

# check_packages RELEASE DIR - what lintian of that release says; nothing is what is wanted.
check_packages() {
	local root
	root=$(package_root "$1")
	in_root "$root" "$2" bash -c 'lintian --allow-root --fail-on error,warning --display-info /out/*.changes'
}

# header_packages SERIES... - the files of the guests' kernels that DKMS needs, and nothing that boots.
header_packages() {
	local kernels series version abi
	kernels=$(guest_kernels)
	for series in "$@"; do
		version=$(awk -v series="$series" '$1 == series { print $2 }' "$kernels/versions")
		abi=${version%-amd64}
		ls "$kernels"/debs/linux-headers-"$version"_* "$kernels"/debs/linux-headers-"$abi"-common_* \
			"$kernels"/debs/linux-kbuild-"${abi}"_* "$kernels"/debs/linux-kbuild-"$series"_* 2>/dev/null || true
	done
}

# use_packages RELEASE DIR HOOK SERIES... - in a new system of that release, with the packages of DIR and the headers of
# these kernels in /debs, runs the script HOOK inside.
use_packages() {
	local release=$1 dir=$2 hook=$3 mirror
	shift 3
	mirror=$(debian_mirror)
	mkdir -p "$dir/debs"
	cp "$dir"/*.deb "$dir/debs/"
	rm -f "$dir"/debs/*-dbgsym_*
	header_packages "$@" | xargs -r cp -t "$dir/debs"
	cp "$hook" "$dir/debs/hook"
	sources "$mirror" "$release" "$release-backports" >"$dir/list"
	# Apt runs outside of the new system, with the host's proxies.
	# shellcheck disable=SC2016  # for the shell of the hook
	mmdebstrap --quiet --mode=auto --variant=apt --aptopt='APT::Install-Recommends "false"' \
		--customize-hook="copy-in $dir/debs /" \
		--customize-hook='cd "$1/debs" && ./hook outside "$1"' \
		"$release" /dev/null "$dir/list"
}
