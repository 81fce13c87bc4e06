# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The debug kernels: Debian's source of a kernel of the lab, configured to check itself. Sourced, never run.
#
# A name is SERIES-FLAVOUR ("7-kcsan"). debug/config is what all flavours have in common, debug/config-FLAVOUR what this one
# checks. The directory in the cache holds "version", "vmlinuz", "lib/modules" and "tree", which modules are built against. It
# does not depend on the guest's root but for the compiler: a new package there must not cost an hour.

readonly DEBUG_CONFIG=$RIG_DIR/debug/config DEBUG_LEFT_OUT=$RIG_DIR/debug/uninstrumented

# flavour_of NAME|VERSION - of "7-debug" and "7.3.4-debug": "debug".
flavour_of() {
	printf '%s\n' "${1##*-}"
}

# is_debug NAME|VERSION
is_debug() {
	[[ -f $DEBUG_CONFIG-$(flavour_of "$1") ]]
}

# series_of KERNEL - what a kernel is called in the archive.
series_of() {
	printf '%s\n' "${1%%-*}"
}

# root_compiler ROOT - the exact version of the compiler in there.
root_compiler() {
	awk '$1 == "Package:" { package = $2 }
		$1 == "Version:" && package ~ /^gcc-[0-9]+$/ { print package, $2 }' "$1/var/lib/dpkg/status"
}

# leave_uninstrumented TREE - what DEBUG_LEFT_OUT names. Barriers are told to KCSAN there, too, or it would take them for
# missing; not in arch, part of which runs outside the kernel.
leave_uninstrumented() {
	local dir makefile
	local -a kept=()
	while read -r dir; do
		kept+=(-not -path "$1/$dir/*")
	done < <(sed -n 's/^!//p' "$DEBUG_LEFT_OUT")
	while read -r dir; do
		find "$1/$dir" -name Makefile "${kept[@]}"
	done < <(grep -v '^[#!]' "$DEBUG_LEFT_OUT") | while read -r makefile; do
		printf '\nKASAN_SANITIZE := n\nUBSAN_SANITIZE := n\nKCSAN_SANITIZE := n\n' >>"$makefile"
		[[ $makefile == "$1"/arch/* ]] || printf 'KCSAN_INSTRUMENT_BARRIERS := y\n' >>"$makefile"
	done
}

# debug_make ROOT DIR ARG... - in DIR/tree.
debug_make() {
	in_root "$1" "$2" make -s -C /out/tree "-j$(nproc)" KBUILD_BUILD_USER=donard KBUILD_BUILD_HOST=lab "${@:3}"
}

# debug_config FLAVOUR
debug_config() {
	printf 'CONFIG_LOCALVERSION="-%s"\n' "$1"
	grep -hE '^(# )?CONFIG_' "$DEBUG_CONFIG" "$DEBUG_CONFIG-$1"
}

# configure_debug_kernel ROOT DIR FLAVOUR - what Kconfig does not accept as it is written fails, rather than being off unsaid.
configure_debug_kernel() {
	local wanted lost=''
	debug_config "$3" >"$2/config"
	debug_make "$1" "$2" KCONFIG_ALLCONFIG=/out/config allnoconfig
	while read -r wanted; do
		grep -qxF -- "$wanted" "$2/tree/.config" || lost+=" $wanted"
	done <"$2/config"
	[[ -z $lost ]] || die "$EX_LAB" "$DEBUG_CONFIG and config-$3: this kernel does not take:$lost"
}

# prune_debug_tree TREE - leaves what modules are built against.
prune_debug_tree() {
	local dir
	for dir in Documentation block certs crypto drivers fs init io_uring ipc kernel lib mm net rust samples security sound \
		usr virt vmlinux vmlinux.o vmlinux.a vmlinux.unstripped; do
		rm -rf -- "${1:?}/$dir"
	done
	find "$1/arch" -mindepth 1 -maxdepth 1 -type d -not -name x86 -exec rm -rf {} +
	find "$1" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) -not -path '*/scripts/*' -not -path '*/tools/*' -delete
}

# build_debug_kernel DIR ROOT KERNELS-DIR PACKAGE-VERSION FLAVOUR
build_debug_kernel() {
	local dir=$1 root=$2
	say "building the $5 kernel from linux-source $4 (15 to 20 minutes on two idle processors)"
	mkdir -p "$dir"
	fetch_source "$dir/tree" "$3" "$4"
	leave_uninstrumented "$dir/tree"
	configure_debug_kernel "$root" "$dir" "$5"
	debug_make "$root" "$dir" bzImage modules
	debug_make "$root" "$dir" INSTALL_MOD_PATH=/out DEPMOD=true modules_install
	debug_make "$root" "$dir" kernelrelease >"$dir/version"
	cp "$dir/tree/arch/x86/boot/bzImage" "$dir/vmlinuz"
	rm -f "$dir/lib/modules/"*/{build,source}
	depmod -b "$dir" "$(<"$dir/version")"
	prune_debug_tree "$dir/tree"
}

# debug_key ROOT KERNELS-DIR PACKAGE-VERSION FLAVOUR
debug_key() {
	content_key "$(debug_config "$4")" "$(grep -v '^#' "$DEBUG_LEFT_OUT")" "$3" "$(root_compiler "$1")" \
		"$(declare -f build_debug_kernel leave_uninstrumented configure_debug_kernel prune_debug_tree debug_make)"
}

# debug_kernel ROOT KERNEL - its directory, built on first use. Nobody else waits for that: it has its own lock.
debug_kernel() {
	local kernels package flavour
	flavour=$(flavour_of "$2")
	kernels=$(guest_kernels)
	package=$(package_version "$kernels" "$(kernel_version "$1" "$(series_of "$2")")")
	CACHE_LOCK=.lock-debug cached_of kernels-debug debug_key build_debug_kernel "$1" "$kernels" "$package" "$flavour"
}
