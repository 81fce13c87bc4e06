# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is built from the checkout for guests, and the layer of files made of it. Sourced, never run.

# in_root ROOT OUT COMMAND... - runs it inside the guest root, with the repository read-only at /src
# and the directory OUT writable at /out.
in_root() {
	local -a namespaces=(--mount)
	local status=0 leaks=''
	((EUID == 0)) || namespaces+=(--map-root-user)
	# The root of a chroot is no mount point that could be made private: the one mount that is made
	# before there is such a point may be seen outside.
	if ! unshare "${namespaces[@]}" true 2>/dev/null; then
		namespaces+=(--propagation unchanged)
		leaks=1
	fi
	unshare "${namespaces[@]}" "$RIG_DIR/make/enter-root" "$1" "$REPO_DIR" "${@:2}" || status=$?
	[[ -z $leaks ]] || umount "$1" 2>/dev/null || true
	return "$status"
}

# build_tools DIR ROOT - programs of the lab itself.
build_tools() {
	local tool
	mkdir -p "$1"
	for tool in witness peer; do
		in_root "$2" "$1" gcc -O2 -Wall -Wextra -o "/out/$tool" "/src/tests/rig/$tool.c"
	done
}

# kbuild_sources DIR... - the names of the files that the build of a module reads, NUL-separated: not what an
# earlier build in the tree, perhaps for another kernel, left there.
kbuild_sources() {
	find include/uapi include/donard/version.h kernel/nv_p2p.h "$@" -type f \( -name '*.[chS]' -o -name Kbuild -o -name Makefile \) \
		-not -name '*.mod.c' -print0 | LC_ALL=C sort -zu
}

# Kernels whose headers sparse reads. Of Linux 7.3 Debian's headers lack what kbuild starts sparse by, and kbuild goes on
# without a failure; nor does Debian 13's sparse parse these headers.
readonly SPARSE_READS=(6.12 6.1)

# reader_of KERNEL - "sparse" for the newest of these: it takes as long as the compiler. The others are for make check-long.
reader_of() {
	if [[ $1 == "${SPARSE_READS[0]}" ]]; then echo sparse; else echo -; fi
}

# strictly READER - the arguments of make for all warnings, of the compiler and, if that is READER, of sparse.
strictly() {
	echo W=1
	[[ $1 != sparse ]] || printf '%s\n' C=2 CHECK=sparse
}

readonly MODULE_SOURCES=(kernel tests/guest/modules)

# build_module DIR ROOT KERNEL READER [SOURCE...] - every .ko of the given directories of the repository, what the compiler said of
# them in build.log, and the objects of p2pmem in kernel/, which tests/host looks at: one build tells all.
# Kbuild writes beside its sources, so it gets a copy.
build_module() {
	local dir=$1 root=$2 kernel=$3 reader=$4 source
	local -a arguments
	mapfile -t arguments < <(strictly "$reader")
	mkdir -p "$dir/copy" "$dir/kernel"
	for source in "${@:5}"; do
		say "building $source for kernel $kernel"
		(cd "$REPO_DIR" && kbuild_sources "$source" | xargs -0 cp --parents -t "$dir/copy")
		kernel_make "$root" "$kernel" "$dir" "M=/out/copy/$source" "${arguments[@]}" modules 2>&1 |
			tee -a "$dir/build.log"
		find "$dir/copy/$source" -name '*.ko' -exec mv -t "$dir" {} +
	done
	mv -t "$dir/kernel" "$dir"/copy/kernel/*.o
	rm -rf "$dir/copy"
	strip --strip-debug "$dir"/*.ko "$dir"/kernel/*.o
}

# build_userspace DIR ROOT CUFILE - the project's own programs, and those of tests/guest; CUFILE is packaged_cufile's. Most of
# their sources are the same as the last time.
build_userspace() {
	local dir=$1 root=$2
	local -x COMPILED=$CACHE_DIR/ccache-root
	mkdir -p "$dir/dest/opt/donard/tests/bin" "$dir/build" "$COMPILED"
	# For forget_unused.
	touch "$COMPILED"
	say "building the programs for the guest"
	# ccache is there by the name of gcc, and not as cc.
	in_root "$root" "$dir" make -s "-j$(nproc)" -C /src CC=gcc BUILD=/out/build userspace python
	in_root "$root" "$dir" make -s -C /src CC=gcc BUILD=/out/build DESTDIR=/out/dest PREFIX=/usr install install-rules install-python
	in_root "$root" "$dir" /src/tests/rig/make/build-guest-tests /src/tests/guest /out/dest
	build_cufile_programs "$dir" "$root" "$3"
	install -D -m 755 -t "$dir/dest/opt/donard/tests/host" "$REPO_DIR"/tests/host/{doctor,machines}.py
	install -D -m 755 -t "$dir/dest/opt/donard/tests/data/machines" "$REPO_DIR/tests/data/machines/capture"
	rm -rf "$dir/build"
}

# module_key ROOT KERNEL READER SOURCE...
module_key() {
	local key home
	home=$(kernel_home "$1" "$2")
	key=$(cd "$REPO_DIR" && kbuild_sources "${@:4}" | files_key)
	content_key "$1" "$home" "$key" "$3" "${NO_DEBUG_INFO[*]}" "$(declare -f build_module strictly kernel_make)"
}

# guest_modules ROOT KERNEL [READER]
guest_modules() {
	cached_of "modules-$2" module_key build_module "$1" "$2" "${3:-$(reader_of "$2")}" "${MODULE_SOURCES[@]}"
}

# What build_userspace makes programs of, and installs.
readonly PROGRAM_SOURCES=(Makefile README.md bench cli docs include kernel/60-p2pmem.rules kernel/p2pmem.sysusers kernel/path.c
	kernel/path.h kernel/pmr.h lib mk nbd python service tests/guest tool words)

# userspace_key ROOT CUFILE
userspace_key() {
	local key
	key=$(cd "$REPO_DIR" && tree_key "${PROGRAM_SOURCES[@]}" tests/rig/make/build-guest-tests)
	content_key "$1" "$key" "$REPO_DIR"/tests/host/{cufile_sample.c,cufile_wrapper.cpp,cuda/cuda.h,doctor.py,machines.py} \
		"$REPO_DIR/tests/data/machines/capture" "$(declare -f build_userspace build_cufile_programs)" \
		"$2" "$(cat "$2/missing" 2>/dev/null || true)"
}

# guest_userspace ROOT
guest_userspace() {
	local cufile
	cufile=$(packaged_cufile)
	cached_of userspace userspace_key build_userspace "$1" "$cufile"
}

# tools_key ROOT
tools_key() {
	content_key "$1" "$RIG_DIR"/{witness,peer}.c "$(declare -f build_tools)"
}

# guest_tools ROOT
guest_tools() {
	cached_of tools tools_key build_tools "$1"
}

# stage_kernel_modules DIR ROOT KERNEL - those that the image does not have.
stage_kernel_modules() {
	local home
	is_debug "$3" || return 0
	home=$(kernel_home "$2" "$3")
	mkdir -p "$1/usr/lib"
	cp -r "$home/lib/modules" "$1/usr/lib/"
}

# stage_ntb DIR ROOT KERNEL - the bridge's driver and its clients.
stage_ntb() {
	local modules
	modules=$(guest_ntb "$2" "$3")
	mkdir -p "$1/opt/lab/ntb"
	cp "$modules"/*.ko "$1/opt/lab/ntb/"
}

# make_stage DIR ROOT KERNEL - the files that the guest lays over its image.
make_stage() {
	local dir=$1 root=$2 kernel=$3 tools modules userspace siw
	mkdir -p "$dir/opt/lab/bin" "$dir/opt/donard/modules"
	tools=$(guest_tools "$root")
	install -m 755 "$RIG_DIR"/guest/{init,regions,fabric} "$dir/opt/lab/"
	install -m 755 "$RIG_DIR"/guest/{labctl,known-reports} "$tools"/* "$dir/opt/lab/bin/"
	if [[ $OPT_FABRIC == siw ]]; then
		siw=$(guest_siw "$root" "$kernel")
		cp "$siw/siw.ko" "$dir/opt/lab/"
	fi
	[[ $OPT_FABRIC != ntb ]] || stage_ntb "$dir" "$root" "$kernel"
	stage_kernel_modules "$dir" "$root" "$kernel"
	[[ -z $OPT_BARE ]] || return 0
	modules=$(guest_modules "$root" "$kernel")
	userspace=$(guest_userspace "$root")
	cp "$modules"/*.ko "$dir/opt/donard/modules/"
	cp -a "$userspace/dest/." "$dir/"
}
