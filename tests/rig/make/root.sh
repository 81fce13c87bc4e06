# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The guest's root: a Debian tree that modules and programs are built in, and the read-only image of it
# that guests boot from. Sourced, never run.

readonly ROOT_PACKAGES=(
	# to build in it (gcc-12: what Debian's 6.1 headers insist on)
	gcc g++ gcc-12 pahole make bc bison flex libelf-dev libssl-dev libc6-dev pkg-config sparse ccache liburing-dev libjson-c-dev libinih-dev libpci-dev libcmocka-dev
	libibverbs-dev librdmacm-dev libisal-dev nbdkit-plugin-dev
	# to run in it
	bash-builtins fio nvme-cli pciutils kmod mount util-linux e2fsprogs xfsprogs mdadm lvm2 procps iproute2 strace jq
	rdma-core ibverbs-utils ibverbs-providers rdmacm-utils perftest python3-pyverbs
	# what uses a write cache as a disk, and a region as persistent memory
	nbdkit nbd-client libnbd-bin sqlite3 ndctl libpmem-dev libpmemobj-dev
	# containers of an engine
	systemd-container
	# to build the Python binding with, and to run it
	python3-cffi python3-numpy
)

# rdma-core's own tests: python3-pyverbs ships them as documentation.
readonly RDMA_CORE_TESTS=/usr/share/doc/rdma-core/tests

# What no emulated machine has. The rest is kept unpacked, since xz is slow under emulation.
readonly USELESS_MODULES=(
	sound drivers/{accel,ata,bluetooth,comedi,gpu,hid,iio,input,isdn,leds,media,mmc,mtd,parport,pcmcia}
	drivers/{platform,power,scsi,staging,thunderbolt,tty,usb,video,w1} drivers/net/{can,ethernet,wireless,wwan}
	net/{bluetooth,mac80211,netfilter,wireless} fs/{afs,btrfs,ceph,cifs,gfs2,jfs,ocfs2,smb,ubifs}
)

# unpack_kernels KERNELS-DIR ROOT
unpack_kernels() {
	local kernels=$1 root=$2 deb version
	for deb in "$kernels"/debs/*.deb; do
		# /lib of the older packages is a link to usr/lib here: keep it.
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$root" --no-same-owner --keep-directory-symlink --exclude=./usr/share
	done
	while read -r _ version; do
		(cd "$root/usr/lib/modules/$version/kernel" && rm -rf -- "${USELESS_MODULES[@]}")
		find "$root/usr/lib/modules/$version" -name '*.ko.xz' -print0 |
			xargs -0r -n 64 -P "$(nproc)" xz -d
		depmod -b "$root" "$version"
	done <"$kernels/versions"
}

# build_root ROOT KERNELS-DIR - works for root and, by user namespaces, for anyone else.
build_root() {
	local root=$1 kernels=$2 mirror list=$1.list tar=$1.tar path
	local -a exclude=()
	say "building the guest root ($ROOT_RELEASE, ${#ROOT_PACKAGES[@]} packages; a minute or two)"
	mirror=$(debian_mirror)
	sources "$mirror" "$ROOT_RELEASE" "$ROOT_RELEASE-backports" >"$list"
	for path in doc man locale info lintian; do
		exclude+=(--dpkgopt="path-exclude=/usr/share/$path/*")
	done
	# With the directories above them.
	exclude+=(--dpkgopt="path-include=${RDMA_CORE_TESTS%/*}*")
	mmdebstrap --quiet --mode=auto --variant=apt --format=tar "${exclude[@]}" \
		--aptopt='APT::Install-Recommends "false"' --include="${ROOT_PACKAGES[*]}" \
		"$ROOT_RELEASE" "$tar" "$list"
	mkdir -p "$root"
	tar -x -C "$root" --no-same-owner --exclude='./dev/*' -f "$tar"
	gzip -d "$root$RDMA_CORE_TESTS"/*.gz
	unpack_kernels "$kernels" "$root"
	cp "$kernels/versions" "$root/etc/donard-kernels"
	# Places to mount things on: the tree itself stays read-only from here on.
	mkdir -p "$root"/{src,out,kernel,ccache,mnt/share,mnt/lab}
	rm -f "$list" "$tar"
}

# build_image FILE ROOT - without what only the build of modules needs. gcc stays, with all that a user's program
# wants: headers, crt files, libgcc.
build_image() {
	local image=$1 root=$2
	say "packing the guest image"
	mksquashfs "$root" "$image" -quiet -no-progress -comp lz4 -all-root -no-xattrs -wildcards -e usr/src \
		'usr/lib/linux-kbuild*' 'usr/lib/gcc/*/12' 'usr/libexec/gcc/*/*/lto1' var/cache var/lib/apt \
		var/lib/dpkg/info boot
}

# guest_root - the tree; guest_image - the file system that guests boot from. Built on first use.
guest_root() {
	local kernels key
	require_namespaces
	kernels=$(guest_kernels)
	key=$(content_key "$kernels" "${ROOT_PACKAGES[*]}" "${USELESS_MODULES[*]}" "$RDMA_CORE_TESTS" \
		"$(declare -f build_root unpack_kernels)")
	cached "root-$key" build_root "$kernels"
}

guest_image() {
	local root
	root=$(guest_root)
	cached "image-$(content_key "$root" "$(declare -f build_image)").squashfs" build_image "$root"
}
