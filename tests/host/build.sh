# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the source tree hangs together, and how it is built and installed. Sourced by tests/check, never run.

# --- rooms ---

rooms_import_one_way() {
	tests/host/imports.py
}

rooms_call_one_way() {
	make -s userspace "BUILD=$BUILD" && tests/host/imports.py --objects "$BUILD"
}

# planted [FILE LINE EXPECTED]... - a copy in which each FILE has that LINE more, at its end: the check says what is expected
# of all, each text at the beginning of a line. In a text N is that line's number.
planted() {
	local copy=$LOGS/rooms status=0 missing=0 text out
	local -a expected=()
	rm -rf "$copy"
	mkdir -p "$copy"
	cp -r --parents include lib words cli tool bench nbd kernel "$copy"
	while (($#)); do
		printf '%s\n' "$2" >>"$copy/$1"
		expected+=("${3/:N:/:$(wc -l <"$copy/$1"):}")
		shift 3
	done
	out=$(tests/host/imports.py "$copy") || status=$?
	printf 'status %d (expected 1):\n%s\n' "$status" "$out"
	for text in "${expected[@]}"; do
		[[ $'\n'$out == *$'\n'"$text"* ]] || { printf 'expected, too: %s\n' "$text"; missing=1; }
	done
	((status == 1 && missing == 0))
}

# caught [FILE LINE EXPECTED]... - the check names each include by its line.
caught() {
	local -a rows=()
	while (($#)); do
		rows+=("$1" "$2" "$1:N: $3")
		shift 3
	done
	planted "${rows[@]}"
}

forbidden_includes_are_caught() {
	caught lib/base/bdf.c '#include "region/region.h"' 'lib/base may not include lib/region' \
		lib/drive/open.c '# include "copy/copy.h"' 'lib/drive may not include lib/copy' \
		lib/copy/check.c '#include "drive/blockdev.h"' 'lib/drive/blockdev.h is private to lib/drive' \
		lib/rdma/link.c '#include <donard-lab/meter.h>' 'only lib/meter/lab.c may include' \
		lib/copy/check.c '#include "donard/meter.h"' 'lib/copy may not know include/donard/meter.h' \
		lib/meter/perf.c '#include "base/base.h"' 'lib/meter may not include lib/base' \
		cli/cmd_copy.c '#include "base/base.h"' 'cli may not include lib/base' \
		tool/main.c '#include "../cli/measure.h"' 'tool may not include cli' \
		kernel/compat/compat.h '#include "../p2pmem.h"' 'kernel/compat may not include kernel' \
		kernel/main.c '#include "../include/donard/donard.h"' 'kernel may not include include/donard' \
		lib/base/bdf.c '#include "nowhere.h"' 'nowhere.h is no file of the project'
}

circles_are_caught() {
	planted tool/utf8.h '#include "errors.h"' 'tool: tool/errors includes tool/output includes tool/utf8 includes tool/errors' \
		lib/rdma/link.h '#include "rdma/client.h"' 'lib/rdma: lib/rdma/client includes lib/rdma/talk includes lib/rdma/link includes' &&
		called_in_circle
}

# calls_caught A B BACK EXPECTED [OPTION...] - what the check of objects says of a tree where a() of file A calls b() of
# file B, which returns BACK; gcc gets the options.
calls_caught() {
	local tree=$LOGS/calls status=0 out back=$3
	rm -rf "$tree"
	mkdir -p "$tree/${1%/*}" "$tree/${2%/*}"
	printf 'int a(void);\nint b(void);\nint a(void) { return b(); }\n' >"$tree/$1.c"
	printf 'int a(void);\nint b(void);\nint b(void) { return %s; }\n' "$back" >"$tree/$2.c"
	gcc "${@:5}" -c -o "$tree/$1.o" "$tree/$1.c" && gcc "${@:5}" -c -o "$tree/$2.o" "$tree/$2.c" || return
	out=$(tests/host/imports.py --objects "$tree" "$tree") || status=$?
	printf 'status %d (expected 1): %s\nexpected: %s\n' "$status" "$out" "$4"
	((status == 1)) && [[ $out == "$4"* ]]
}

# The headers of a room may declare what any of its files defines: an include cannot tell.
called_in_circle() {
	calls_caught tool/a tool/b 'a()' 'tool: tool/a calls tool/b calls tool/a: ' &&
		calls_caught kernel/a kernel/b 'a()' 'kernel: kernel/a calls kernel/b calls kernel/a: '
}

# donard/donard.h declares calls of every room: an include cannot tell.
forbidden_calls_are_caught() {
	calls_caught lib/base/low lib/region/high 0 'lib/base/low.c: calls b() of lib/region/high.c' &&
		calls_caught lib/copy/low lib/meter/other 0 'lib/copy/low.c: calls b() of lib/meter/other.c'
}

# --- the libraries' interfaces ---

readonly LIBRARIES=(libdonard libdonard-meter)

# headers_of LIBRARY
headers_of() {
	if [[ $1 == libdonard-meter ]]; then
		echo include/donard/meter.h
	else
		printf '%s\n' include/donard/*.h | grep -v '/meter.h$'
	fi
}

# map_of LIBRARY
map_of() {
	if [[ $1 == libdonard-meter ]]; then
		echo lib/meter/libdonard-meter.map
	else
		echo lib/libdonard.map
	fi
}

functions_of_headers() {
	# shellcheck disable=SC2046  # file names of our own
	sed -n 's/^[a-z].*[ *]\(donard_[a-z0-9_]*\)(.*/\1/p' $(headers_of "$1") | grep -v '_fn$' | sort
}

functions_of_map() {
	sed -n 's/^\t\t\(donard_[a-z0-9_]*\);$/\1/p' "$(map_of "$1")" | sort
}

exported_functions() {
	make -s userspace "BUILD=$BUILD" && nm -D --defined-only "$BUILD/$1.so" |
		awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

exports_are_one_list() {
	local library
	for library in "${LIBRARIES[@]}"; do
		diff -u --label headers --label map <(functions_of_headers "$library") <(functions_of_map "$library") &&
			diff -u --label map --label "$library.so" <(functions_of_map "$library") <(exported_functions "$library") ||
			return
	done
	(($(functions_of_map libdonard | wc -l) > 30 && $(functions_of_map libdonard-meter | wc -l) > 7))
}

# A program may link a library's archive, which shows even names that the library does not export: they must not look like the program's
# own.
archive_adds_no_name() {
	local library
	make -s userspace "BUILD=$BUILD" || return
	for library in "${LIBRARIES[@]}"; do
		diff -u --label map --label "$library.a" <(functions_of_map "$library") \
			<(nm --defined-only "$BUILD/$library.a" | awk '$3 ~ /^donard_/ && $2 ~ /[TDRB]/ { print $3 }' | sort) || return
	done
}

# libdonard contains nothing of the meters or the lab, neither names nor texts.
library_knows_no_meter() {
	local stripped=$LOGS/stripped.so
	make -s userspace "BUILD=$BUILD" && strip --strip-debug -o "$stripped" "$BUILD/libdonard.so.0" || return
	! strings -a "$stripped" | grep -iE '(^|[^a-z])(meters?|quantit(y|ies)|labs?)([^a-z]|$)' &&
		grep -q "the lab's meter" < <(strings -a "$BUILD/libdonard-meter.so.0")
}

a_hole_is_caught() {
	printf 'struct hole { char byte; long word; };\n' >"$LOGS/hole.h"
	says 2 'padding struct' make -s "BUILD=$LOGS/hole" "PUBLIC_HEADERS=$LOGS/hole.h" "$LOGS/hole/header.ok"
}

functions_are_documented() {
	mk/manpages.py --check include/donard/*.h
}

# undocumented SED EXPECTED - the check says that of headers changed so.
undocumented() {
	local status=0 out
	rm -rf "$LOGS/headers"
	cp -r include/donard "$LOGS/headers"
	sed -i "$1" "$LOGS"/headers/{donard,copy}.h
	out=$(mk/manpages.py --check "$LOGS"/headers/*.h 2>&1) || status=$?
	printf '%s: status %d (expected 1): %s\nexpected: %s\n' "$1" "$status" "$out" "$2"
	((status == 1)) && grep -qE "(donard|copy)\.h:[0-9]+: $2" <<<"$out"
}

omissions_are_caught() {
	undocumented '/ \* @client_bdf:/d' 'donard_route_probe\(\): @client_bdf is not documented' &&
		undocumented 's/@client_bdf:/@client:/' 'donard_route_probe\(\): there is no parameter @client' &&
		undocumented 's/Returns the number/The number/' "donard_region_count\(\): no paragraph 'Returns" &&
		undocumented 's/-EBADMSG when/-EDOM when/' 'donard_copy\(\): EDOM is not in the table' &&
		undocumented '/ \* @distance:/d' 'struct donard_route: @distance is not documented' &&
		undocumented '/^const char \*donard_route_text/i int donard_bare(void);' 'donard_route_text\(\) has no comment' &&
		undocumented 's/^ \* donard_open() - make/ * make/' "the comment does not begin with 'donard_open"
}

# A page for each function; the missing date is meant: the version says which they are.
pages_are_sound() {
	local pages=$LOGS/pages library out
	mk/manpages.py --version 1 --into "$pages" include/donard/*.h || return
	grep -A1 '^Link with' "$pages/donard_meter_open.3" | grep -F 'ldonard\-meter' && ! grep -F 'ldonard\-meter' "$pages/donard_copy.3" ||
		return
	diff -u --label map --label pages <(for library in "${LIBRARIES[@]}"; do functions_of_map "$library"; done | sort) \
		<(printf '%s\n' "$pages"/*.3 | sed 's|.*/||; s|\.3$||' | sort) ||
		return
	out=$(mandoc -Tlint -Wwarning "$pages"/*.3 | grep -v 'missing date')
	printf '%s\n' "$out"
	[[ -z $out ]] && grep -q 'DONARD_COPY_ALLOW_BOUNCE' < <(mandoc -Tascii "$pages/donard_copy.3" | sed 's/.\x08//g') &&
		flags_are_their_calls "$pages" && threads_are_said "$pages"
}

# The pages of a queue and of its caches, and no others, keep the object in one thread for good.
threads_are_said() {
	diff -u --label expected --label shown \
		<(printf '%s\n' donard_cache_write donard_queue_close donard_queue_open donard_queue_poll) \
		<(cd "$1" && grep -l 'belongs to the thread that opened it' donard_{cache_write,copy,queue_close,queue_open,queue_poll}.3 |
			sed 's/\.3$//') &&
		grep -q 'has the text of a failure' "$1/donard_queue_open.3" && ! grep 'has the text of a failure' "$1/donard_open.3"
}

# Flags of different calls have the same bits, and some prefixes in common.
flags_are_their_calls() {
	diff -u --label expected --label shown - <(cd "$1" && grep -oHE '^\.B DONARD_(RDMA|CACHE|COMPLETION|STATE)_.*' \
		donard_{rdma_register,cache_serve,queue_poll,memory_state}.3 | sed 's/\.3:\.B//') <<-'END'
		donard_rdma_register DONARD_RDMA_READ
		donard_rdma_register DONARD_RDMA_WRITE
		donard_rdma_register DONARD_RDMA_LOCAL_WRITE
		donard_cache_serve DONARD_CACHE_FORMAT
		donard_cache_serve DONARD_CACHE_VOLATILE_OK
		donard_cache_serve DONARD_CACHE_NO_CLEANER
		donard_cache_serve DONARD_CACHE_READ_BACK
		donard_cache_serve DONARD_CACHE_PASSTHROUGH
		donard_cache_serve DONARD_CACHE_GIVE_UP_DAMAGED
		donard_queue_poll DONARD_COMPLETION_BOUNCED
		donard_queue_poll DONARD_COMPLETION_REGISTERED
		donard_queue_poll DONARD_COMPLETION_VOLATILE
		donard_memory_state DONARD_STATE_DRAINING
		donard_memory_state DONARD_STATE_QUARANTINED
		donard_memory_state DONARD_STATE_GONE
	END
}

# The guests build and run each; this says it in every run of the gate.
examples_compile() {
	local example bad=0
	for example in docs/examples/*.c; do
		gcc -fsyntax-only -Wall -Wextra -Werror -Iinclude "$example" || bad=1
	done
	for example in docs/examples/*.cpp; do
		g++ -std=c++17 -fsyntax-only -Wall -Wextra -Werror -Iinclude "$example" || bad=1
	done
	return "$bad"
}

run_interface() {
	progress "the libraries' interfaces"
	try "lib: comments name parameters, results and errors" functions_are_documented
	! in_ring all || try "lib: an omission in a comment is caught" omissions_are_caught
	try "lib: man pages of the functions" pages_are_sound
	try "lib: headers, map and exports are one list" exports_are_one_list
	try "lib: the archive adds no name" archive_adds_no_name
	try "lib: libdonard knows no meter" library_knows_no_meter
	try "lib: a hole in a public structure is caught" a_hole_is_caught
	try "lib: the examples compile" examples_compile
}

# --- build and install ---

# says STATUS REGEX COMMAND... - ends with that status, and says so much in a few lines.
says() {
	local want=$1 regex=$2 status=0 out
	shift 2
	out=$("$@" 2>&1) || status=$?
	printf 'status %d (expected %d), expected: %s\n%s\n' "$status" "$want" "$regex" "$out"
	((status == want)) && grep -qE -- "$regex" <<<"$out" && (($(wc -l <<<"$out") <= 9))
}

no_pkg_config() {
	says 2 'no /nowhere/pkg-config.*apt install pkg-config .*libjson-c-dev' \
		make userspace "BUILD=$LOGS/bare" PKG_CONFIG=/nowhere/pkg-config
}

no_compiler() {
	says 2 'no compiler /nowhere/cc.*apt install build-essential' make userspace "BUILD=$LOGS/bare" CC=/nowhere/cc
}

no_libraries() {
	PKG_CONFIG_LIBDIR=/nowhere says 2 'does not find liburing libpci .*apt install liburing-dev libpci-dev' \
		make userspace "BUILD=$LOGS/bare"
}

# A compiler that has something to say stops make check, and nobody else.
warnings_stop_the_check_only() {
	local object=$LOGS/bare/lib/base/clock.o
	printf '#warning "of a newer compiler"\n' >"$LOGS/warning.h"
	says 0 'of a newer compiler' make -s "BUILD=$LOGS/bare" WERROR= CPPFLAGS="-include $LOGS/warning.h" "$object" &&
		rm "$object" &&
		says 2 'Werror' make -s "BUILD=$LOGS/bare" WERROR=1 CPPFLAGS="-include $LOGS/warning.h" "$object"
}

# pc_prefix PREFIX
pc_prefix() {
	local library
	for library in "${LIBRARIES[@]}"; do
		make -s "BUILD=$LOGS/bare" "PREFIX=$1" "$LOGS/bare/$library.pc" &&
			says 0 "^prefix=$1\$" grep '^prefix=' "$LOGS/bare/$library.pc" || return
	done
}

# Behind DESTDIR they would be beside that folder.
relative_places_are_refused() {
	says 2 'PREFIX is no path from /: usr\. Give the whole path' make -n "BUILD=$LOGS/bare" DESTDIR=/nowhere PREFIX=usr install &&
		says 2 'UNITDIR is no path from /: units\.' make -n "BUILD=$LOGS/bare" UNITDIR=units uninstall
}

pc_follows_prefix() {
	pc_prefix /usr && pc_prefix /opt/donard
}

# built_copy DIR - copies what was built, so that only linking is left to do.
built_copy() {
	mkdir -p "$1"
	tar -c -C "$BUILD" --exclude='./*san' --exclude=./tests . | tar -x -C "$1"
	find "$1" \( -type l -o -type f -perm /111 \) -delete
}

# A checkout, and a folder to install to, whose paths have a space.
space_in_a_path() {
	local dir="$LOGS/a checkout" left
	mkdir -p "$dir"
	sources | tar -c -T - | tar -x -C "$dir"
	built_copy "$dir/build"
	make -s -C "$dir" userspace install "DESTDIR=$dir/a dest" &&
		LD_LIBRARY_PATH='' "$dir/a dest/usr/local/bin/donard-cli" version &&
		[[ $(readlink -e "$dir/build/donard-stat") == "$dir/bench/donard-stat" ]] &&
		make -s -C "$dir" uninstall "DESTDIR=$dir/a dest" || return
	left=$(find "$dir/a dest" -not -type d)
	printf 'left: %s\n' "$left"
	[[ -z $left ]]
}

# A build for another machine cannot run its programs here: everything is linked again by a compiler whose programs cannot be executed.
runs_nothing_that_it_built() {
	local dir=$LOGS/foreign status=0
	built_copy "$dir/build"
	cat >"$dir/cc" <<-'END'
		#!/bin/bash
		gcc "$@" || exit
		last=
		for word; do
			[[ $last != -o ]] || chmod -x "$word"
			last=$word
		done
	END
	chmod +x "$dir/cc"
	make -s userspace install "BUILD=$dir/build" "CC=$dir/cc" "DESTDIR=$dir/dest" || return
	"$dir/build/donard-cli" || status=$?
	printf 'status %d (expected 126)\n' "$status"
	((status == 126)) && [[ -s $dir/dest/usr/local/share/bash-completion/completions/donard-cli ]]
}

# configures DIR CONFIG... - that kernel has what the module needs, and these lines.
configures() {
	mkdir -p "$1/include/config"
	printf '%s\n' CONFIG_PCI=y CONFIG_ZONE_DEVICE=y CONFIG_DMA_SHARED_BUFFER=y "${@:2}" >"$1/include/config/auto.conf"
}

# fake_kdir DIR [RELEASE] - a tree of kernel headers that are not the running kernel's.
fake_kdir() {
	mkdir -p "$1/include/generated"
	echo "#define UTS_RELEASE \"${2:-6.99-other}\"" >"$1/include/generated/utsrelease.h"
	configures "$1"
	# shellcheck disable=SC2016  # for make
	printf 'modules modules_install:\n\t@echo "$@ LLVM=$(LLVM)"\n' >"$1/Makefile"
}

# built_by LLVM CONFIG... - with which LLVM= a kernel's make is called whose configuration has these lines.
built_by() {
	local llvm=$1 out
	shift
	configures "$LOGS/kdir" "$@"
	# If the path of the checkout has a space, the module is built again before it is installed (kernel/Makefile).
	out=$(make -s install-module "KDIR=$LOGS/kdir" "DESTDIR=$LOGS/kdest" ${GIVEN:+"$GIVEN"} | uniq)
	printf 'expected LLVM=%s: %s\n' "$llvm" "$out"
	[[ $out == "modules LLVM=$llvm"$'\n'"modules_install LLVM=$llvm" ]]
}

module_is_built_as_its_kernel() {
	local GIVEN=''
	fake_kdir "$LOGS/kdir"
	built_by '' CONFIG_CC_IS_GCC=y CONFIG_LD_IS_BFD=y && built_by 1 CONFIG_CC_IS_CLANG=y CONFIG_LD_IS_LLD=y || return
	GIVEN=LLVM=-19
	built_by -19 CONFIG_CC_IS_CLANG=y CONFIG_LD_IS_LLD=y && built_by -19 CONFIG_CC_IS_GCC=y
}

# One line says it, before hundreds of errors would.
other_kernels_are_named() {
	local module=(make install-module "KDIR=$LOGS/kdir" "DESTDIR=$LOGS/kdest")
	fake_kdir "$LOGS/kdir" 5.10.0-30-amd64
	says 2 'Linux 5.10.0-30-amd64: p2pmem is for Linux 6.1 and later.*KDIR=' "${module[@]}" || return
	fake_kdir "$LOGS/kdir"
	sed -i /ZONE_DEVICE/d "$LOGS/kdir/include/config/auto.conf"
	says 2 'Linux 6.99-other was built without CONFIG_ZONE_DEVICE, .*KDIR=' "${module[@]}" || return
	says 2 'to no path with a space' "${module[@]}" "DESTDIR=$LOGS/k dest"
}

# The rule names a group, so the group must be made first.
group_comes_before_rule() {
	local order
	fake_kdir "$LOGS/kdir"
	order=$(make -n install-module "KDIR=$LOGS/kdir" DESTDIR= |
		grep -oE 'systemd-sysusers p2pmem.conf|install .*60-p2pmem.rules|udevadm control' | sed 's/ .*//')
	printf 'expected systemd-sysusers, install, udevadm; seen: %s\n' "$order"
	[[ $order == $'systemd-sysusers\ninstall\nudevadm' ]] && grep -qx 'g p2pmem -' kernel/p2pmem.sysusers
}

# One file has the version, and the title of each man page of a command.
one_version() {
	local version
	version=$(make -s userspace "BUILD=$BUILD" && "$BUILD/donard-cli" version | sed -nE '1s/^[^0-9]*([0-9.]+).*/\1/p')
	printf 'version %s\n' "$version"
	! grep -rnF "$version" kernel lib words tool cli nbd mk include --include='*.[ch]' --include='*.mk' --include='*.in' |
		grep -v 'Returns "\|\* "' &&
		[[ $(grep -lF "\"donard $version\"" docs/*.[15]) == $(printf "%s\n" docs/*.[15]) ]] &&
		make -s install-dkms "DESTDIR=$LOGS/versions" && [[ -d $LOGS/versions/usr/src/p2pmem-$version ]] &&
		grep -qx "PACKAGE_VERSION=\"$version\"" "$LOGS/versions/usr/src/p2pmem-$version/dkms.conf"
}

version_is_that_of_any_locale() {
	make -s dkms-source "DESTDIR=$LOGS/english" && in_turkish make -s dkms-source "DESTDIR=$LOGS/turkish" &&
		diff -r "$LOGS/english" "$LOGS/turkish" &&
		POSIXLY_CORRECT=1 make -s dkms-source "DESTDIR=$LOGS/posix" && diff -r "$LOGS/english" "$LOGS/posix"
}

# fake_dkms DIR - in DIR/bin: it has the module for Linux 6.99-other and 6.1-before, and fails for the first. What it is asked
# for is in DIR/asked. DIR/kdir is the first one's tree, DIR/modules its modules. MAKE_DKMS installs no rule.
fake_dkms() {
	local dir=$1
	MAKE_DKMS=(make -s -o install-rules -o needs-dkms "KDIR=$dir/kdir" DESTDIR= "DKMS_DIR=$dir/there" "modules_dir=$dir/modules")
	rm -rf "$dir"
	fake_kdir "$dir/kdir"
	mkdir -p "$dir/bin" "$dir/there" "$dir/modules/build"
	echo works >"$dir/there/dkms.conf"
	cat >"$dir/bin/dkms" <<-END
		#!/bin/sh
		if [ "\$1" = status ]; then
			printf 'p2pmem/of-a-test, %s, x86_64: installed\n' 6.99-other 6.1-before
			exit
		fi
		echo "\$*" >>$dir/asked
		case "\$*" in
		*" 6.99-other") exit 1 ;;
		esac
	END
	chmod +x "$dir/bin/dkms"
}

# A working module stays if the new one does not compile, even with parallel make.
dkms_source_waits_for_module() {
	local dir=$LOGS/dkms-source MAKE_DKMS make
	fake_dkms "$dir"
	make=("${MAKE_DKMS[@]}" -j8)
	printf 'modules:\n\t@sleep 1; echo "does not compile"; false\n' >"$dir/kdir/Makefile"
	PATH=$dir/bin:$PATH says 2 'does not compile' "${make[@]}" install-dkms || return
	printf 'there: %s\n' "$(cd "$dir" && find there* -type f)"
	[[ $(cat "$dir/there/dkms.conf") == works && $(cd "$dir" && find there* -type f) == there/dkms.conf && ! -e $dir/asked ]] || return
	"${make[@]}" dkms-source && [[ -s $dir/there/kernel/Kbuild ]]
}

# DKMS keeps the module of a kernel for which it was built but not installed.
dkms_keeps_what_it_has() {
	local dir=$LOGS/dkms-kernel MAKE_DKMS
	fake_dkms "$dir"
	rmdir "$dir/modules/build" "$dir/modules"
	PATH=$dir/bin:$PATH says 2 'Linux 6.99-other is not installed: there is no .*/modules/build.*KDIR=' "${MAKE_DKMS[@]}" install-dkms &&
		[[ $(cat "$dir/there/dkms.conf") == works && ! -e $dir/asked ]]
}

dkms_failure_leaves_the_others() {
	local dir=$LOGS/dkms-others MAKE_DKMS
	fake_dkms "$dir"
	PATH=$dir/bin:$PATH says 2 'Linux 6.99-other has no module now.*dkms install p2pmem/[0-9.]* -k 6.99-other' "${MAKE_DKMS[@]}" \
		install-dkms || return
	cat "$dir/asked"
	grep -qx 'remove p2pmem/of-a-test --all' "$dir/asked" && grep -qx 'install p2pmem/[0-9.]* -k 6.1-before' "$dir/asked"
}

# The install is interrupted after DKMS has forgotten all kernels.
dkms_broken_off() {
	local dir=$LOGS/dkms-broken-off MAKE_DKMS
	fake_dkms "$dir"
	sed -i "s/exit 1 ;;/kill -KILL \$PPID ;;/" "$dir/bin/dkms"
	! PATH=$dir/bin:$PATH "${MAKE_DKMS[@]}" install-dkms || return
	grep -qx 6.1-before "$dir/there/kernels-to-build" || return
	sed -i -e 's/^printf .*/:/' -e 's/kill .*;;/;;/' "$dir/bin/dkms"
	[[ -z $("$dir/bin/dkms" status p2pmem) ]] || return
	rm "$dir/asked"
	PATH=$dir/bin:$PATH "${MAKE_DKMS[@]}" install-dkms || return
	cat "$dir/asked"
	grep -qx 'install p2pmem/[0-9.]* -k 6.1-before' "$dir/asked" && [[ ! -e $dir/there/kernels-to-build ]]
}

# Files that Debian's package has installed in the same places.
packages_keep_their_files() {
	local dir=$LOGS/packaged
	rm -rf "$dir"
	mkdir -p "$dir/bin"
	cat >"$dir/bin/dpkg-query" <<-'END'
		#!/bin/sh
		case "$2" in
		*.rules | */dkms.conf) echo "p2pmem-dkms: $2" ;;
		*) exit 1 ;;
		esac
	END
	chmod +x "$dir/bin/dpkg-query"
	make -s install-dkms "DESTDIR=$dir/a dest" || return
	PATH=$dir/bin:$PATH says 2 'belongs to the package p2pmem-dkms.*apt remove p2pmem-dkms' make -s uninstall-dkms "DESTDIR=$dir/a dest" &&
		PATH=$dir/bin:$PATH says 0 '60-p2pmem.rules belongs to the package p2pmem-dkms, and stays' make -s uninstall-rules "DESTDIR=$dir/a dest" &&
		(cd "$dir/a dest" && find . -type f) >"$dir/left" || return
	cat "$dir/left"
	grep -qx ./usr/lib/udev/rules.d/60-p2pmem.rules "$dir/left" && grep -q '/dkms.conf$' "$dir/left" &&
		[[ ! -e $dir/a\ dest/usr/lib/sysusers.d/p2pmem.conf ]]
}

# By the words of dkms.conf, which take each kernel of the guests, from what install-dkms copies and nothing else, for the
# newest.
dkms_builds() {
	local dir=$LOGS/dkms root series kernels=()
	root=$(in_rig guest_root) || return
	for series in $(matrix_kernels archive); do
		kernels+=("$(in_rig kernel_version "$root" "$series")") || return
	done
	make -s install-dkms "DESTDIR=$dir/dest" || return
	mkdir -p "$dir/tree/p2pmem"
	for version in "$dir"/dest/usr/src/p2pmem-*; do
		mkdir "$dir/tree/p2pmem/${version##*-}"
		mv "$version" "$dir/tree/p2pmem/${version##*-}/build"
	done
	# shellcheck disable=SC2016  # for the shell inside
	in_rig in_root "$root" "$dir/tree" bash -ec '
		dkms_tree=/out kernel_source_dir=/usr/src/linux-headers-$1
		. /out/p2pmem/*/build/dkms.conf
		for kernel in "$@" 7.0-rc1; do
			[[ $kernel =~ $BUILD_EXCLUSIVE_KERNEL ]] || { echo "$kernel: left out"; false; }
		done
		for kernel in 5.10.0-30-amd64 6.0.3-1-amd64 8.0.1 16.1.0; do
			[[ ! $kernel =~ $BUILD_EXCLUSIVE_KERNEL ]] || { echo "$kernel: not left out"; false; }
		done
		for setting in $BUILD_EXCLUSIVE_CONFIG; do
			grep -x "$setting=[ym]" "$kernel_source_dir/.config"
		done
		cd "/out/$PACKAGE_NAME/$PACKAGE_VERSION/build"
		eval "${MAKE[0]}"
		[[ $(modinfo -F version "${BUILT_MODULE_LOCATION[0]}/${BUILT_MODULE_NAME[0]}.ko") == "$PACKAGE_VERSION" ]]
	' dkms "${kernels[@]}"
}

run_build() {
	progress "build and install"
	try "build: no pkg-config" no_pkg_config
	try "build: no libraries" no_libraries
	try "build: no compiler" no_compiler
	try "build: warnings stop the check only" warnings_stop_the_check_only
	try "build: libdonard.pc follows PREFIX" pc_follows_prefix
	try "build: relative places are refused" relative_places_are_refused
	try "build: a space in a path" space_in_a_path
	try "build: the module as its kernel, by gcc or clang" module_is_built_as_its_kernel
	try "build: a kernel that the module is not for is named" other_kernels_are_named
	try "build: nothing that was built is run" runs_nothing_that_it_built
	try "build: the group comes before the udev rule" group_comes_before_rule
	try "build: one version" one_version
	try "build: the same in another locale, and by POSIX" version_is_that_of_any_locale
	try "build: DKMS gets no source that does not compile" dkms_source_waits_for_module
	try "build: DKMS keeps what it has, for a kernel that is not installed" dkms_keeps_what_it_has
	try "build: DKMS fails for one kernel and not for the others" dkms_failure_leaves_the_others
	try "build: the next install-dkms builds what one that was broken off forgot" dkms_broken_off
	try "build: the files of packages stay" packages_keep_their_files
	! in_ring all || try "build: what DKMS gets is whole" dkms_builds
}

# not_judged FILE... - where a public function does not judge, first, each handle that it takes: a debug build finds those that
# were freed. The calls about failures answer for closed contexts, too.
not_judged() {
	awk '
		FNR == 1 { head = ""; due = 0 }
		/^DND_(METER_)?PUBLIC/ { head = " " }
		head { head = head $0 }
		due && !/^\tDND_(USES|DEMANDS|LETS_GO)\(/ { print FILENAME ":" FNR ": a handle is not judged (lib/base/handle.h)" }
		due { due-- }
		head && /^\{/ {
			due = gsub(/struct donard_(context|memory|file|queue|cache|rdma_client|rdma_registration|meter|[a-z]+_list) \*[a-z]/, "", head)
			if (head ~ /donard_(error|error_code|failure_get|fail)\(/)
				due = 0
			head = ""
		}' "$@"
}

handles_are_judged() {
	! not_judged lib/*/*.c | grep .
}

an_unjudged_handle_is_caught() {
	local file=$LOGS/unjudged.c
	printf '%s\n' 'DND_PUBLIC int donard_a(struct donard_queue *queue,' '			struct donard_memory *memory)' '{' \
		'	DND_USES(QUEUE, queue);' '	return 0;' '}' >"$file"
	diff - <(not_judged "$file") <<<"$file:5: a handle is not judged (lib/base/handle.h)"
}

# tags_twice FOLDER... - prints each tag of a header that another file defines, too. Tags that only one C file uses may recur.
tags_twice() {
	grep -rnE '^(struct|union|enum) [a-z_0-9]+ \{' "$@" --include='*.[ch]' |
		sed -E 's/:[0-9]+:([a-z]+ [a-z_0-9]+).*/ \1/' | awk '
			{ tag = $2 " " $3; where[tag] = where[tag] " " $1; count[tag]++ }
			$1 ~ /\.h$/ { shared[tag] }
			END { for (tag in shared) if (count[tag] > 1) print tag ":" where[tag] }'
}

tags_are_unique() {
	! tags_twice lib words cli bench tool nbd include kernel | grep .
}

a_tag_twice_is_caught() {
	local tree=$LOGS/tags
	mkdir -p "$tree/lib" "$tree/cli"
	printf 'struct %s {\n};\n' one two >"$tree/lib/a.h"
	printf 'struct %s {\n};\n' two own >"$tree/lib/b.c"
	printf 'struct %s {\n};\n' own >"$tree/cli/c.c"
	diff - <(cd "$tree" && tags_twice lib cli) <<<'struct two: lib/a.h lib/b.c'
}

# openings_of FOLDER - "FUNCTION OPENING" of each failure whose text begins with one word and a colon.
openings_of() {
	grep -rhPzo --include='*.c' \
		'dnd_(meter_)?fail(_errno|_access|_sysfs_write|_member)?\((?:[^";]|"[^"]*"(?=[,)]| :))*?"[^ "]+:(?=[ "])' "$1" |
		tr '\n\0' ' \n' | sed -E 's/\(.*"/ /; s/:$//'
}

# wrong_openings FOLDER - those in which lib/base/failure.c finds no object. A member, or a number, that is at fault is none.
wrong_openings() {
	openings_of "$1" | awk 'NR == FNR { known[$1]; next } !($2 in known) && !($1 == "dnd_fail_member" && $2 ~ /^(%u|options\..*)$/)' \
		<(sed -nE 's/.* openings\[\] = \{ (.*) \};/\1/p' lib/base/failure.c | tr -d '" ' | tr ',' '\n') -
}

failures_begin_with_objects() {
	(($(openings_of lib | wc -l) > 250)) && ! wrong_openings lib | grep .
}

a_wrong_opening_is_caught() {
	local tree=$LOGS/openings
	mkdir -p "$tree"
	cat >"$tree/a.c" <<-'END'
		dnd_fail(ctx, DND_E_BUSY, "%s: in use", name);
		dnd_fail(ctx, DND_E_BUSY, "options.bar: in use");
		dnd_fail_member(ctx, DND_E_BUSY, DND_AT("options.bar"), "options.bar: in use");
		dnd_fail_access(ctx, errno, other ? "Ask root" :
				"Ask", "disk%u: closed", 5);
		dnd_fail(ctx, DND_E_BUSY, "the queue is full: wait");
	END
	diff - <(wrong_openings "$tree") <<<$'dnd_fail options.bar\ndnd_fail_access disk%u'
}

# In copies of the tree: what a change of the rooms' check calls for, and no other change.
rooms_are_guarded() {
	try "style: a forbidden include is caught" forbidden_includes_are_caught
	try "style: a forbidden call is caught" forbidden_calls_are_caught
	try "style: a circle of files is caught" circles_are_caught
}

run_rooms() {
	progress "rooms"
	try "style: a tag of a header has one definition" tags_are_unique
	try "style: a public function judges its handles" handles_are_judged
	try "style: one that does not is caught" an_unjudged_handle_is_caught
	try "style: a tag that is defined twice is caught" a_tag_twice_is_caught
	try "style: a failure's text begins with its object" failures_begin_with_objects
	try "style: one that begins otherwise is caught" a_wrong_opening_is_caught
	try "style: rooms include one way" rooms_import_one_way
	try "style: rooms of the library, and files of a room, call one way" rooms_call_one_way
	! in_ring all || rooms_are_guarded
}
