# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The guest kernels: which ones, and their packages. Sourced, never run.

# shellcheck source=../../matrix.sh
. "$RIG_DIR/../matrix.sh"
# "7" is the newest of its series in the archive, whatever its second number.
mapfile -t KERNELS < <(matrix_kernels archive | sort -V)
# Built here from the source of one of these (debug.sh).
# shellcheck disable=SC2034  # lab, build
mapfile -t DEBUG_KERNELS < <(matrix_kernels source)
# shellcheck disable=SC2034
readonly KERNELS DEBUG_KERNELS
readonly ROOT_RELEASE=trixie

# newest_kernel SERIES < PACKAGE-NAMES - the newest version that has both headers and an image. The
# archive holds headers some days before it holds the signed image; the unsigned one boots too.
newest_kernel() {
	local series=$1 names version
	names=$(cat)
	while read -r version; do
		if grep -qxE "linux-(image|binary-unsigned)-${version//+/\\+}" <<<"$names"; then
			printf '%s\n' "$version"
			return
		fi
	done < <(sed -n -E "s/^linux-headers-(${series//./\\.}\..*[0-9]-amd64)$/\1/p" <<<"$names" | sort -rV)
	die "$EX_LAB" "the Debian archive has no kernel $series"
}

# kernel_packages SERIES VERSION < PACKAGE-NAMES - what to fetch for it. Debian cuts 7.x into more
# packages than 6.x, so take those that exist.
kernel_packages() {
	local series=$1 version=$2 abi=${2%-amd64}
	grep -xF -e "linux-image-$version" -e "linux-binary-$version" -e "linux-binary-unsigned-$version" \
		-e "linux-base-$version" -e "linux-modules-$version" -e "linux-headers-$version" \
		-e "linux-headers-$abi-common" -e "linux-kbuild-$abi" -e "linux-kbuild-$series"
}

# build_kernels DIR - fetches the packages of all kernels; DIR/versions records what was found.
build_kernels() {
	local dir=$1 mirror names series version
	local -a packages
	say "fetching the guest kernels ${KERNELS[*]} (300 MB; a minute on a fast line)"
	mirror=$(debian_mirror)
	mkdir -p "$dir/debs"
	: >"$dir/status"
	sources "$mirror" bookworm "$ROOT_RELEASE" "$ROOT_RELEASE-backports" | private_apt_update "$dir"
	names=$(private_apt "$dir" apt-cache pkgnames linux-)
	for series in "${KERNELS[@]}"; do
		version=$(newest_kernel "$series" <<<"$names")
		printf '%s %s\n' "$series" "$version" >>"$dir/versions"
		mapfile -t packages < <(kernel_packages "$series" "$version" <<<"$names")
		say "kernel $series is $version"
		(cd "$dir/debs" && private_apt "$dir" apt-get download "${packages[@]}")
	done
	remove_tree "$dir/lists"
}

# guest_kernels - the directory of packages, fetched on first use. The key is the recipe; a new recipe, or
# an empty cache, asks the archive again for the newest versions.
guest_kernels() {
	local key
	key=$(content_key "${KERNELS[*]}" "$ROOT_RELEASE" \
		"$(declare -f build_kernels newest_kernel kernel_packages)")
	cached "kernels-$key" build_kernels
}

# kernel_can CAPABILITY - does the kernel that boots have it? tests/matrix explains each.
kernel_can() {
	[[ " $(matrix_can "$OPT_KERNEL") " == *" $1 "* ]]
}

# kernel_home ROOT KERNEL - the directory that holds its image and its modules.
kernel_home() {
	if is_debug "$2"; then
		debug_kernel "$1" "$2"
	else
		printf '%s\n' "$1"
	fi
}

# kernel_version ROOT KERNEL - as uname -r says it.
kernel_version() {
	if is_debug "$2"; then
		cat "$(debug_kernel "$1" "$2")/version"
	else
		awk -v series="$2" '$1 == series { print $2 }' "$1/etc/donard-kernels"
	fi
}

# vmlinuz_of ROOT KERNEL
vmlinuz_of() {
	local home version file
	home=$(kernel_home "$1" "$2")
	version=$(kernel_version "$1" "$2")
	for file in "$home/vmlinuz" "$home/boot/vmlinuz-$version" "$home/usr/lib/modules/$version"/vmlinuz{,.unsigned}; do
		[[ ! -f $file ]] || { printf '%s\n' "$file"; return; }
	done
	die "$EX_LAB" "no image of kernel $2 in $home"
}

# Nothing reads a module's debug information, which takes a sixth of the build.
readonly NO_DEBUG_INFO=(CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES=)

# kernel_make ROOT KERNEL OUT ARG... - make inside the guest's root, against what modules for that kernel are built with.
kernel_make() {
	local root=$1 kernel=$2 out=$3 tree
	shift 3
	if is_debug "$kernel"; then
		# Coverage of the modules under test (tests/guest/fuzz.c), and of nothing else.
		KERNEL_TREE=$(debug_kernel "$root" "$kernel")/tree in_root "$root" "$out" \
			make -s -C /kernel "-j$(nproc)" KCOV_INSTRUMENT=y "${NO_DEBUG_INFO[@]}" "$@"
	else
		tree=/usr/src/linux-headers-$(kernel_version "$root" "$kernel")
		in_root "$root" "$out" make -s -C "$tree" "-j$(nproc)" "${NO_DEBUG_INFO[@]}" "$@"
	fi
}
