# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A Debian as it was just installed, with a user who may use sudo, and a checkout. Sourced, never run.

# What every installed Debian has beside what mmdebstrap takes for a minimal one. Not kmod: the recipes name it.
readonly MACHINE_PACKAGES=(adduser sudo mount udev systemd)

# kernel_debs SERIES - the files of that kernel's packages.
kernel_debs() {
	local kernels version
	kernels=$(guest_kernels)
	version=$(awk -v series="$1" '$1 == series { print $2 }' "$kernels/versions")
	find "$kernels/debs" -name "linux-*-${version}_*" -o -name "linux-*-${version%-amd64}[-_]*" -o -name "linux-kbuild-$1_*"
}

# stage_machine DIR KERNEL-VERSION - what the hook puts into the new system: the archive of that kernel's headers, its modules,
# and the checkout.
stage_machine() {
	local dir=$1 version=$2 deb
	mkdir -p "$dir"/{debs,kernel}
	while read -r deb; do
		case ${deb##*/} in
		linux-headers-* | linux-kbuild-*) cp "$deb" "$dir/debs/" ;;
		*) dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/kernel" --no-same-owner --exclude=./usr/share ;;
		esac
	done
	(cd "$dir/debs" && dpkg-scanpackages -m . >Packages 2>/dev/null)
	# Older packages have them in /lib, which is a link there.
	[[ ! -d $dir/kernel/lib ]] || { mkdir -p "$dir/kernel/usr"; mv "$dir/kernel/lib" "$dir/kernel/usr/lib"; }
	(cd "$dir/kernel/usr/lib/modules/$version/kernel" && rm -rf -- "${USELESS_MODULES[@]}")
	depmod -b "$dir/kernel/usr" "$version"
	rm -rf "$dir/kernel/boot"
	(cd "$REPO_DIR" && git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
		tar -c --null -T - -f "$dir/checkout.tar")
}

# type_recipes RELEASE SERIES DIR HOOK - with the commands in DIR/in; leaves DIR/module.squashfs and DIR/dkms.squashfs, the
# system as it was when the one or the other had been typed.
type_recipes() {
	local release=$1 series=$2 dir=$3 hook=$4 mirror root version
	root=$(guest_root)
	version=$(kernel_version "$root" "$series")
	kernel_debs "$series" | stage_machine "$dir/in" "$version"
	echo "$version" >"$dir/in/release"
	# What apt has to know to reach the archive from here.
	apt-config dump | grep -E '^Acquire::[A-Za-z:-]+ "..*";$' >"$dir/in/apt.conf"
	cp "$hook" "$dir/in/hook"
	mirror=$(debian_mirror)
	sources "$mirror" "$release" >"$dir/list"
	# shellcheck disable=SC2016  # for the shell of the hook
	mmdebstrap --quiet --mode=auto --variant=apt --aptopt='APT::Install-Recommends "false"' \
		--include="${MACHINE_PACKAGES[*]}" --customize-hook="copy-in $dir/in /" --customize-hook='"$1/in/hook" "$1"' \
		--customize-hook="copy-out /images/module.squashfs /images/dkms.squashfs $dir" \
		"$release" /dev/null "$dir/list"
}
