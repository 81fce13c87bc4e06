# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# libcufile.so.0 compared with the packaged ones, and programs that were built for those. Sourced by tests/check, never run.

# cufile_is_missing - prints why the archive gives no cuFile, if that is so.
cufile_is_missing() {
	local found
	found=$(in_rig packaged_cufile) && [[ -e $found/missing ]] && cat "$found/missing"
}

# cufile_of RELEASE - the directory with the packaged header and library.
cufile_of() {
	local found
	found=$(in_rig packaged_cufile) || return
	[[ ! -e $found/missing ]] || { cat "$found/missing"; return 1; }
	printf '%s\n' "$found/$1"
}

# try_packaged NAME COMMAND... - a test that needs the packaged header or library.
try_packaged() {
	local why
	wanted "$1" || return 0
	if why=$(cufile_is_missing); then
		skipped "$1" "$why"
	else
		try "$@"
	fi
}

# try_unloaded NAME COMMAND... - as try_packaged, where p2pmem is not loaded: the library alone finds its module.
try_unloaded() {
	if [[ -e /sys/class/p2pmem ]]; then
		! wanted "$1" || skipped "$1" "p2pmem is loaded on this machine"
	else
		try_packaged "$@"
	fi
}

# The header of 11.8 knows no streams.
streams_of() {
	[[ $1 == bookworm ]] || printf '%s\n' -DCUFILE_STREAMS
}

# same_abi RELEASE TREE - TREE/cufile/abi.h is ours, or a changed copy.
same_abi() {
	local theirs
	theirs=$(cufile_of "$1") || return
	echo "libcufile-dev $(<"$theirs/version") of $1"
	# shellcheck disable=SC2046  # one word or none
	gcc -std=gnu11 -fsyntax-only -Wall -Itests/host/cuda -I"$theirs" -iquote "$2" $(streams_of "$1") tests/host/cufile_abi.c
}

abi_change_is_caught() {
	local tree=$LOGS/cufile change
	mkdir -p "$tree/cufile"
	cp lib/cufile/abi.h "$tree/cufile/"
	same_abi trixie "$tree" || { echo "unchanged, it differs"; return 1; }
	for change in 's/CUF_IO_DISABLED = 5034/CUF_IO_DISABLED = 5033/' 's/int cuda;/long cuda;/' 's/CUF_TIMEOUT = 0x20/CUF_TIMEOUT = 0x21/' \
		's/unsigned int features;/size_t features;/' 's/off_t offset;/int offset;/' 's/CUF_STREAM_ALIGNED.*8U/CUF_STREAM_ALIGNED 16U/'; do
		sed "$change" lib/cufile/abi.h >"$tree/cufile/abi.h"
		! cmp -s lib/cufile/abi.h "$tree/cufile/abi.h" || { echo "changes nothing: $change"; return 1; }
		! same_abi trixie "$tree" || { echo "not caught: $change"; return 1; }
	done
}

# Prints whole names of functions and data; a version would follow an @. Leaves out names that C++, its library or the linker adds.
cufile_names() {
	nm -D --defined-only --with-symbol-versions "$1" | awk '$2 ~ /^[TDBR]$/ && $3 ~ /^[a-zA-Z]/ { print $3 }' | sort
}

absent_by_the_docs() {
	# shellcheck disable=SC2016  # backquotes of the docs
	grep -F 'that no header declares' docs/cufile.md | grep -oE '`[A-Za-z0-9]+`' | tr -d '`' | sort
}

# The names that one of the releases has and ours lacks are those that docs/cufile.md lists, and no others.
same_names() {
	local release theirs
	for release in bookworm trixie; do
		theirs=$(cufile_of "$release") || return
		(($(cufile_names "$theirs/libcufile.so.0" | wc -l) > 15)) || return
		comm -23 <(cufile_names "$theirs/libcufile.so.0") <(cufile_names "$BUILD/cufile/libcufile.so.0")
	done | sort -u >"$LOGS/absent"
	diff -u --label docs --label absent <(absent_by_the_docs) "$LOGS/absent"
}

# Each call that a header declares is made by the sample, and each of ours.
sample_makes_all_calls() {
	local release theirs call
	: >"$LOGS/calls"
	for release in bookworm trixie; do
		theirs=$(cufile_of "$release") || return
		grep -oE '\bcuFile[A-Z][A-Za-z_]*\(' "$theirs/cufile.h" | tr -d '(' >"$LOGS/calls-$release"
		(($(wc -l <"$LOGS/calls-$release") > 15)) || { echo "few calls in the header of $release"; return 1; }
		cat "$LOGS/calls-$release" >>"$LOGS/calls"
	done
	map_names >>"$LOGS/calls"
	while read -r call; do
		grep -qE "[^a-zA-Z](\"$call\"|$call\()" tests/host/cufile_sample.c || { echo "not called: $call"; return 1; }
	done <"$LOGS/calls"
}

map_names() {
	grep -oE '^		[A-Za-z_0-9]+;' lib/cufile/libcufile.map | tr -d '\t;' | sort
}

# docs/cufile.md explains each code of the header, by number and name, and no other.
docs_have_all_codes() {
	local theirs
	theirs=$(cufile_of trixie) || return
	# shellcheck disable=SC2016  # backquotes of the docs
	diff -u --label header --label docs \
		<(sed -nE 's/.*CUFILE_OP\(CUFILEOP_BASE_ERR \+ ([0-9]+), *(CU_FILE_[A-Z_]+),.*/\1 \2/p' "$theirs/cufile.h" |
			awk '$2 != "CU_FILE_IO_MAX_ERROR" { print 5000 + $1, $2 }') \
		<(sed -nE 's/^\| (50[0-9]{2}) \| `([A-Z_]+)` .*/\1 CU_FILE_\2/p' docs/cufile.md)
}

# Nothing but the map's names, and no version, as with theirs: a program that was linked with either finds the other.
exports_are_the_map() {
	diff -u --label map --label library <(map_names) \
		<(nm -D --defined-only --with-symbol-versions "$BUILD/cufile/libcufile.so.0" | awk '{ print $3 }' | sort) &&
		grep -q 'soname: \[libcufile.so.0\]' < <(readelf -d "$BUILD/cufile/libcufile.so.0")
}

# dlopen() has room for them only if they are few, and then each request finds them without a call (mk/userspace.mk).
variables_of_threads_are_few() {
	local bytes
	readelf -d "$BUILD/cufile/libcufile.so.0" | grep STATIC_TLS || return
	bytes=$(readelf -lW "$BUILD/cufile/libcufile.so.0" | awk '$1 == "TLS" { print $6 }')
	echo "bytes of a thread: $bytes"
	((bytes <= 64))
}

# sample RELEASE PROGRAM - tests/host/cufile_sample.c, compiled against the packaged header and linked with that library.
sample() {
	local theirs
	theirs=$(cufile_of "$1") || return
	# The packaged library needs libraries of CUDA's that nobody calls here.
	# shellcheck disable=SC2046  # one word or none
	gcc -std=gnu11 -Wall -Werror -Wno-unused-function -Itests/host/cuda -I"$theirs" -Ilib/cufile $(streams_of "$1") -o "$2" \
		tests/host/cufile_sample.c "$theirs/libcufile.so.0" -Wl,--allow-shlib-undefined
}

# with_ours SETTINGS COMMAND... - by a cufile.json that says so, and its log below $LOGS.
with_ours() {
	local settings=$1
	shift
	printf '%s\n' "$settings" >"$LOGS/cufile.json"
	CUFILE_ENV_PATH_JSON=$LOGS/cufile.json CUFILE_LOGFILE_PATH=$LOGS/cufile.log LD_LIBRARY_PATH=$BUILD/cufile "$@"
}

# On a machine without the module the sample runs in compatibility mode if that is allowed, and else fails.
sample_runs() {
	sample "$1" "$LOGS/cufile-sample-$1" || return
	with_ours '{ "properties": { "allow_compat_mode": true, "force_compat_mode": true } } // allowed' "$LOGS/cufile-sample-$1" compat "$LOGS/cufile-data"
}

sample_is_refused() {
	sample trixie "$LOGS/cufile-sample" || return
	: >"$LOGS/cufile.log"
	with_ours '{}' "$LOGS/cufile-sample" refused "$LOGS/cufile-data" &&
		grep 'modprobe p2pmem' "$LOGS/cufile.log"
}

# ---- an archive without non-free ----

# without_packages DIR COMMAND - with the lab's functions, an empty cache, and such an archive.
without_packages() {
	# shellcheck disable=SC2016  # expanded in the lab's shell
	DONARD_CACHE=$1/cache in_rig eval 'fetch_debs() { echo asked >>"$CACHE_DIR/asked"; return "${FETCH_STATUS-$NOT_IN_ARCHIVE}"; }'"; $2"
}

# fetched_from STATUS COMPONENT FILE - what comes of cuFile's packages where the archive has a component non-free, and in its list
# FILE; or, for another COMPONENT, where it has none.
fetched_from() {
	local dir status=0
	dir=$(mktemp -d "$LOGS/archive.XXXXXX")
	mkdir -p "$dir/dists/x/$2/binary-amd64" "$dir/cache"
	printf '%b' "$3" >"$dir/dists/x/$2/binary-amd64/Packages"
	printf 'Suite: x\nComponents: %s\nArchitectures: amd64\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n %s %d %s\n' "$2" \
		"$(sha256sum <"$dir/dists/x/$2/binary-amd64/Packages" | cut -d' ' -f1)" \
		"$(wc -c <"$dir/dists/x/$2/binary-amd64/Packages")" "$2/binary-amd64/Packages" >"$dir/dists/x/Release"
	DONARD_CACHE=$dir/cache in_rig eval "sources() { echo 'deb [trusted=yes] file:$dir x'; }"'
		packaged_cufile' >"$dir/said" 2>&1 || status=$?
	printf '%s of %s: expected %d, seen %d: %s\n' "$3" "$2" "$1" "$status" "$(<"$dir/said")"
	((status == $1)) && { ((status)) || [[ -e $(tail -n 1 "$dir/said")/missing ]]; }
}

# Nothing else is: a package that cannot be fetched is one that the next try may bring.
only_what_no_list_names_is_missing() {
	local named='Package: libcufile-dev\nVersion: 1\nArchitecture: amd64\nFilename: a.deb\nSize: 1\nSHA256: 0\n\n'
	fetched_from 0 non-free '' && fetched_from 0 non-free "$named" && fetched_from 0 main '' &&
		fetched_from 125 non-free "$named${named/-dev/0}"
}

# The programs are built all the same, and the reason is where the suite of guests finds it.
left_out_without_packages() {
	# shellcheck disable=SC2016  # expanded in the lab's shell
	local dir=$LOGS/no-cufile
	mkdir -p "$dir/dest/opt/donard/tests/bin"
	# shellcheck disable=SC2016  # expanded in the lab's shell
	without_packages "$dir" 'set -e; build_cufile_programs '"${dir@Q}"' /nowhere "$(packaged_cufile)"; packaged_cufile' || return
	cat "$dir/dest/opt/donard/tests/no-cufile"
	grep -q '^no packaged cuFile: .*bookworm (non-free)' "$dir/dest/opt/donard/tests/no-cufile" &&
		(($(wc -l <"$dir/cache/asked") == 1))
}

# The old answer stands where it is out of reach then.
archive_is_asked_again() {
	local dir=$LOGS/no-cufile-yet
	mkdir -p "$dir"
	# shellcheck disable=SC2016
	without_packages "$dir" 'set -e
		age() { touch -d "61 minutes ago" "$(packaged_cufile)/missing"; }
		age; packaged_cufile
		age; FETCH_STATUS=100; built=$(packaged_cufile); cat "$built/missing"; packaged_cufile' &&
		(($(wc -l <"$dir/cache/asked") == 3))
}

# ---- wrappers ----

# wrapper_runs COMMAND... - opened by name, where it is allowed and nowhere else; then each byte is counted.
wrapper_runs() {
	with_ours '{ "properties": { "allow_compat_mode": true, "force_compat_mode": true } }' "$@" "$LOGS/cufile-wrapped" host compat
}

# Loads the library and its calls by name, as Python's wrappers do, including calls that may be missing.
python_wrapper_runs() {
	wrapper_runs tests/guest/cufile_wrapper.py
}

# The report of bytes that went through DRAM is printed even if the program never closes the driver.
counts_at_exit() {
	: >"$LOGS/cufile.log"
	with_ours '{ "properties": { "allow_compat_mode": true } }' python3 - <<-'END' || return
		import ctypes, tempfile
		lib = ctypes.CDLL("libcufile.so.0")
		class Descriptor(ctypes.Structure):
		    _fields_ = [("type", ctypes.c_int), ("fd", ctypes.c_void_p), ("operations", ctypes.c_void_p)]
		file = tempfile.TemporaryFile(dir="/dev/shm")
		file.write(bytes(5000))
		file.flush()
		handle, buffer = ctypes.c_void_p(), ctypes.create_string_buffer(5000)
		assert lib.cuFileHandleRegister(ctypes.byref(handle), ctypes.byref(Descriptor(1, file.fileno()))) == 0
		assert lib.cuFileRead(handle, buffer, ctypes.c_size_t(5000), ctypes.c_long(0), ctypes.c_long(0)) == 5000
	END
	grep 'NOTICE 1 reads (5000 bytes), .* 5000 bytes in compatibility mode' "$LOGS/cufile.log"
}

# cpp_wrapper_runs RELEASE - as those of C++ do, with that header's declarations.
cpp_wrapper_runs() {
	local theirs
	theirs=$(cufile_of "$1") || return
	# shellcheck disable=SC2046  # one word or none
	g++ -std=c++17 -O1 -Wall -Wextra -Werror -Itests/host/cuda -I"$theirs" $(streams_of "$1") -pthread -o "$LOGS/cufile-wrapper" \
		tests/host/cufile_wrapper.cpp -ldl && wrapper_runs "$LOGS/cufile-wrapper"
}

run_abi() {
	local release
	progress "libcufile.so.0 beside the packaged ones"
	try_first "abi: build" make -s userspace "BUILD=$BUILD"
	for release in bookworm trixie; do
		try_packaged "abi: numbers and layouts as in $release" same_abi "$release" lib
		try_packaged "abi: a program of $release runs in compatibility mode" sample_runs "$release"
		try_packaged "abi: a wrapper in C++, of $release, runs in compatibility mode" cpp_wrapper_runs "$release"
	done
	try_packaged "abi: a change of a layout is caught" abi_change_is_caught
	try_packaged "abi: names are theirs, but for those that the docs name" same_names
	try_packaged "abi: the sample makes all calls" sample_makes_all_calls
	try_packaged "abi: the docs have all codes" docs_have_all_codes
	try_unloaded "abi: a program is refused without the module" sample_is_refused
	try "abi: exports are the map, without versions" exports_are_the_map
	try "abi: a thread's variables are few, and found without a call" variables_of_threads_are_few
	try "abi: a wrapper in Python runs in compatibility mode" python_wrapper_runs
	try "abi: bytes in compatibility mode are told at the exit" counts_at_exit
	try "abi: without the packages only these tests are left out" left_out_without_packages
	try "abi: the archive is asked again later" archive_is_asked_again
	try "abi: packages that cannot be fetched are not missing" only_what_no_list_names_is_missing
}
