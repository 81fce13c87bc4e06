# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests that need no guest: style, unit, command line. Sourced by tests/check, never run.

readonly MAX_LINES=800
# A folder of its own: in make's folder, where warnings are no errors, make would not compile the files again with other CFLAGS.
BUILD=${BUILD:-build/check}

# use_ccache - a clone is built anew, mostly of sources that the compiler has seen in another one. Debug information may then
# name the other one's folder.
use_ccache() {
	[[ -x /usr/lib/ccache/gcc ]] || return 0
	# shellcheck disable=SC2016  # the lab's
	CCACHE_DIR=$(in_rig eval 'printf %s/ccache "$CACHE_DIR"') || return
	mkdir -p "$CCACHE_DIR" || return
	# The lab forgets what no run has used for two weeks.
	touch "$CCACHE_DIR"
	export PATH=/usr/lib/ccache:$PATH CCACHE_DIR CCACHE_BASEDIR=$REPO CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=500M
}

# --- style ---

sources() {
	git ls-files --cached --others --exclude-standard 2>/dev/null | while read -r file; do
		[[ ! -f $file ]] || printf '%s\n' "$file"
	done
}

shell_scripts() {
	sources | grep -vE '\.(c|h|md)$' | xargs -d '\n' awk '
		FNR > 3 { nextfile }
		/^#!.*sh$|shellcheck shell=/ { print FILENAME; nextfile }'
}

has_spdx() {
	local file
	local -a files=()
	while read -r file; do
		case $file in
		LICENSE-* | *.json | *.log | *.md | .gitignore | *.svg | *.txt) continue ;;
		# Debian's formats; debian/copyright has the licences.
		debian/changelog | debian/control | debian/copyright | debian/source/* | debian/*.install | debian/*.links | debian/*.symbols)
			continue ;;
		# Output of other programs.
		tests/unit/captured/*) continue ;;
		esac
		files+=("$file")
	done < <(sources)
	awk '
		FNR <= 3 && /SPDX-License-Identifier: / { has[FILENAME] }
		FNR > 3 { nextfile }
		END {
			for (i = 1; i < ARGC; i++)
				if (!(ARGV[i] in has)) {
					print "no SPDX line: " ARGV[i]
					bad = 1
				}
			exit bad
		}' "${files[@]}"
}

is_short() {
	local counts
	counts=$(sources | grep -vE '^LICENSE-|\.(svg|json)$' | xargs -d '\n' wc -l) || return
	! awk -v most="$MAX_LINES" '$1 > most && $2 != "total" { print $2 ": " $1 " lines, more than " most }' <<<"$counts" | grep .
}

# docs/library.md promises that.
examples_are_short() {
	! wc -l docs/examples/* | awk '$1 >= 80 && $2 != "total" { print $2 ": " $1 " lines, more than 79" }' | grep .
}

# README names each page, so that users find it.
readme_names_each_page() {
	local bad=0 page
	for page in docs/*.md docs/*.[15]; do
		[[ $page == docs/donard-cli-* ]] || grep -qF "]($page" README.md || { echo "README.md does not name $page"; bad=1; }
	done
	return "$bad"
}

# A "|" within code ends the cell, too, unless it is "\|".
tables_are_whole() {
	local -a pages
	mapfile -t pages < <(git ls-files '*.md')
	! awk '
		{ line = $0; gsub(/\\\|/, "", line); cells = gsub(/\|/, "", line) - 1 }
		!/^\|/ { want = 0; next }
		!want { want = cells }
		cells != want { printf "%s:%d: %d cells, and the head has %d\n", FILENAME, FNR, cells, want }' "${pages[@]}" | grep .
}

# Differences between kernels live in kernel/compat and nowhere else.
versions_in_compat() {
	! grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' kernel --include='*.[ch]' | grep -v '^kernel/compat/'
}

shell_is_clean() {
	local -a files
	mapfile -t files < <(shell_scripts)
	shellcheck -x -P SCRIPTDIR -P tests/guest "${files[@]}"
}

# A reader that ends early kills the program before it, now and then, and with pipefail that is the pipe's status.
pipes_are_read() {
	local -a files
	mapfile -t files < <(shell_scripts)
	! grep -nE '(^|[^|])\| *(grep +-[a-zA-Z]*[qm]|head( |$))' "${files[@]}"
}

# A user's exported CDPATH may lead cd elsewhere. Guests have no such user.
cd_heeds_no_path() {
	local -a files
	mapfile -t files < <(shell_scripts | grep -v '^tests/guest/')
	# shellcheck disable=SC2016  # of the scripts
	mapfile -t files < <(grep -l '^cd "$(dirname' "${files[@]}")
	printf 'looked at: %s\n' "${files[*]}"
	((${#files[@]} > 3)) && ! grep -L '^unset CDPATH' "${files[@]}" | grep .
}

# The table of tests/check --since has a row for each file, files for each row, and only suites that exist.
each_file_calls_for_suites() {
	local bad=0 path suites suite file row known
	known=$(matrix_suites; matrix_host; printf '%s\n' ALL - USERS)
	touches_read
	while read -r path suites; do
		[[ -n $(compgen -G "$path") ]] || { echo "no file: touches $path"; bad=1; }
		for suite in $suites; do
			[[ $'\n'$known$'\n' == *$'\n'"$suite"$'\n'* ]] ||
				{ echo "no suite '$suite': touches $path"; bad=1; }
		done
	done < <(matrix_rows touches)
	while read -r file; do
		row_of "$file"
		[[ -n $row ]] || { echo "tests/matrix: no row touches $file"; bad=1; }
	done < <(sources)
	return "$bad"
}

# A word that no kernel has would leave its tests out everywhere; the list above the rows explains each.
each_capability_is_known() {
	local known word bad=0
	known=$(sed -nE 's/^#\t([a-z0-9-]+)  .*/\1/p' tests/matrix)
	while read -r word; do
		grep -qx -- "$word" <<<"$known" || { echo "tests/matrix explains no capability '$word'"; bad=1; }
	done < <(grep -ohE '(^|[!;&|(]|\<(if|then|else))[[:space:]]*can [a-z0-9-]+' tests/guest/*.sh tests/guest/helpers/*.sh | sed 's/.* //' | sort -u)
	return "$bad"
}

# A suite that no row of tests/matrix names would never run, nor one that has no file.
each_suite_has_a_row() {
	local bad=0 file suite begin said
	local -a functions
	for file in tests/guest/*.sh; do
		suite=$(basename "$file" .sh)
		[[ $suite != lib && $suite != run ]] || continue
		grep -qxF -- "$suite" < <(matrix_suites) || grep -qxE "\. (\./)?$suite\.sh" tests/guest/*.sh ||
			{ echo "tests/matrix: no row guest names the suite $suite"; bad=1; }
	done
	mapfile -t functions < <(for suite in $(matrix_host); do host_functions "$suite"; done)
	said=$(text_of "${functions[@]}")
	for begin in $(compgen -A function run_); do
		! grep -qE '\<(try|try_first|unittests|unit_run) ' < <(declare -f "$begin") || grep -q "^$begin ()" <<<"$said" ||
			{ echo "tests/matrix: no row host names the suite of $begin"; bad=1; }
	done
	for suite in $(matrix_suites) $(matrix_host); do
		[[ -e tests/guest/$suite.sh ]] || declare -F "run_$suite" >/dev/null || { echo "tests/matrix: there is no suite $suite"; bad=1; }
	done
	return "$bad"
}

# Commands in documents that name a suite need --long: without it, a suite that the gate lacks does not run, and a guest's suite runs only
# the gate's part. CONTRIBUTING.md may mean that part.
each_command_runs_what_it_names() {
	local bad=0 file command named suite ring
	while IFS=: read -r file command; do
		named=${command##*--only }
		named=${named#\"}
		suite=${named%%[^a-z]*}
		ring=gate
		[[ "$command " != *' --long '* ]] || ring=all
		[[ "$command " != *' --debug '* ]] || ring=debug
		[[ -n $suite && $ring$suite != debuglab ]] || continue
		grep -qxF -- "$suite" < <(matrix_suites "$ring"; matrix_host "$ring") || { echo "$file: $suite is not in the ring $ring: $command"; bad=1; }
		[[ $ring == gate && $file == docs/* && $named != "$suite"/* ]] || continue
		! grep -qxF -- "$suite" < <(matrix_suites) || { echo "$file: the core of $suite alone: $command"; bad=1; }
	done < <(git ls-files -z '*.md' | xargs -0 grep -HoE "tests/check [^\`#]*--only [^\`#]+")
	return "$bad"
}

# docs/trials.md has one command for all its tests. The mark of a test says which option it takes, and without a mark none.
each_trial_runs_alone() {
	local bad=0 row ring mark suite said
	local -A suites
	for ring in gate all debug; do
		suites[$ring]=$'\n'$(matrix_suites "$ring"; matrix_host "$ring")$'\n'
	done
	said=$(sed '/^## /,$d' docs/trials.md)
	said=${said//$'\n'/ }
	for mark in "--long\` where \`(long)" "--debug\` where \`(debug kernel)"; do
		[[ $said == *"\`$mark\` is said"* ]] || { echo "docs/trials.md: its command does not say \`$mark\`"; bad=1; }
	done
	while IFS= read -r row; do
		ring=gate
		[[ $row != *'(long)'* ]] || ring=all
		[[ $row != *'(debug kernel)'* ]] || ring=debug
		while IFS= read -r suite; do
			[[ ${suites[$ring]} == *$'\n'"$suite"$'\n'* ]] || { echo "$suite is not in the ring $ring: $row"; bad=1; }
		done < <(grep -oE '`[a-z]+/"' <<<"$row" | tr -d '`/"')
	done < <(grep '^|' docs/trials.md)
	return "$bad"
}

# Checks SUITE/"NAME" in documents; NAME stands for any name, and "..." for the rest of one.
each_named_test_exists() {
	local bad=0 named suite name
	while IFS= read -r named; do
		suite=${named%%/*} name=${named#*/\"}
		[[ $name == *...\" || $name == NAME\" ]] || has_test "$suite" "${name%\"}" || { echo "there is no test $named"; bad=1; }
	done < <(git ls-files -z '*.md' | xargs -0 grep -hoE '\<[a-z]+/"[^"]+"' | sort -u)
	return "$bad"
}

# All that a new kernel is, as tests/matrix says.
each_kernel_is_whole() {
	local bad=0 kernel
	for kernel in $(matrix_kernels archive); do
		matrix_releases | grep -xE ".*[[:space:]]${kernel//./\\.}([[:space:]].*)?" || { echo "no release has kernel $kernel"; bad=1; }
		matrix_guests gate | grep "^$kernel " || { echo "no guest of the gate boots kernel $kernel"; bad=1; }
		[[ -s bench/baseline/$kernel.json ]] || { echo "no bench/baseline/$kernel.json"; bad=1; }
	done
	return "$bad"
}

run_style() {
	progress "style"
	try "style: licence lines" has_spdx
	try "style: no file over $MAX_LINES lines" is_short
	try "style: an example has fewer than 80 lines" examples_are_short
	try "style: README names each page" readme_names_each_page
	try "style: the rows of a table have its cells" tables_are_whole
	try "style: kernel versions only in kernel/compat" versions_in_compat
	try "style: shellcheck" shell_is_clean
	try "style: pipes are read to the end" pipes_are_read
	try "style: a script that goes to its folder heeds no CDPATH" cd_heeds_no_path
	try "style: each file calls for suites" each_file_calls_for_suites
	try "style: each suite has a row" each_suite_has_a_row
	try "style: capabilities are known" each_capability_is_known
	try "style: documents name tests that there are" each_named_test_exists
	try "style: and run what they name" each_command_runs_what_it_names
	try "style: a trial says how it runs alone" each_trial_runs_alone
	try "style: each kernel has releases, guests and a baseline" each_kernel_is_whole
	run_rooms
	run_kernel_style
}

# each_release FUNCTION - FUNCTION RELEASE KERNEL...
each_release() {
	local rows row words
	mapfile -t rows < <(matrix_releases)
	for row in "${rows[@]}"; do
		read -ra words <<<"$row"
		"$1" "${words[@]}"
	done
}

# --- the modules, which the lab compiles for each kernel ---

# in_rig COMMAND... - with the lab's functions.
in_rig() {
	# shellcheck disable=SC2016
	bash -c 'set -euo pipefail
		RIG_DIR=$1; shift
		. "$RIG_DIR/common.sh"
		for part in apt kernels debug root source cufile cuda nvidia stage packages recipes; do . "$RIG_DIR/make/$part.sh"; done
		"$@"' rig "$REPO/tests/rig" "$@"
}

# modules_of KERNEL [READER] - where the lab has built them, with all warnings.
modules_of() {
	local root
	root=$(in_rig guest_root) && in_rig guest_modules "$root" "$@"
}

# Compiler, sparse, objtool and modpost; on 6.12 and 6.1 also the kernel's check of comments. Sparse says things about the kernel's
# own headers as well; those are not ours.
# no_warnings KERNEL [READER]
no_warnings() {
	local modules
	modules=$(modules_of "$@") && [[ -e $modules/build.log ]] || return
	! grep -iE '\<(warning|error)\>' "$modules/build.log" | grep -vE '^(\./)?(/usr/src/|include/|arch/)'
}

# sparse_is_run KERNEL - it finds what no compiler does.
sparse_is_run() {
	local dir=$LOGS/planted root
	local -a arguments
	mapfile -t arguments < <(in_rig strictly sparse)
	root=$(in_rig guest_root) || return
	mkdir -p "$dir"
	echo 'obj-m := planted.o' >"$dir/Kbuild"
	cat >"$dir/planted.c" <<-'END'
		#include <linux/module.h>
		static int __user *there;
		int *planted_here(void);
		int *planted_here(void) { return there; }
		MODULE_LICENSE("GPL");
		MODULE_DESCRIPTION("an address of a program, taken for the kernel's");
	END
	in_rig kernel_make "$root" "$1" "$dir" M=/out "${arguments[@]}" modules >"$LOGS/planted.log" 2>&1
	grep -q 'planted.c:4:.*different address spaces' "$LOGS/planted.log" || { cat "$LOGS/planted.log"; return 1; }
}

# module_calls_one_way KERNEL - the files of p2pmem, by its objects.
module_calls_one_way() {
	local modules
	modules=$(modules_of "$1") && tests/host/imports.py --objects "$modules"
}

# Of its complaints two cannot be met: kzalloc_obj() is younger than 6.1, and KERNEL_VERSION() stands where
# every other module has it.
# checkpatch_clean FILE...
checkpatch_clean() {
	local root source
	root=$(in_rig guest_root) || return
	source=$(in_rig kernel_source "$(in_rig kernel_version "$root" "$(matrix_newest)")") || return
	perl "$source/scripts/checkpatch.pl" --no-tree --terse --show-types --file \
		--ignore SPDX_LICENSE_TAG,LINUX_VERSION_CODE,FILE_PATH_CHANGES,ALLOC_WITH_SIZEOF,CONSTANT_COMPARISON "$@"
}

# kernel-doc of headers too, which W=1 leaves out. 6.12's, since Debian's newer headers lack it.
comments_are_whole() {
	local root version
	root=$(in_rig guest_root) && version=$(in_rig kernel_version "$root" 6.12) || return
	perl "$root/usr/src/linux-headers-$version/scripts/kernel-doc" -none -Wall -Werror \
		include/uapi/*.h kernel/*.[ch] kernel/ntb/*.[ch] kernel/compat/*.h tests/guest/modules/*/*.[ch]
}

run_kernel_style() {
	local kernel
	if in_ring all; then
		try "style: sparse is run" sparse_is_run 6.12
		try "style: modules for 6.1, read by sparse" no_warnings 6.1 sparse
	fi
	for kernel in $(matrix_kernels archive); do
		progress "modules for $kernel, all warnings"
		try "style: modules for $kernel, all warnings" no_warnings "$kernel"
		try "style: files of the module for $kernel call one way" module_calls_one_way "$kernel"
	done
	try "style: checkpatch" checkpatch_clean kernel/*.[ch] kernel/ntb/*.[ch] kernel/compat/*.h
	! in_ring all || try "style: checkpatch, the tests' modules" checkpatch_clean tests/guest/modules/*/*.[ch]
	try "style: kernel-doc describes each member" comments_are_whole
}

# --- unit ---

# unit_programs TARGET - those with a test that is wanted, as make takes them.
unit_programs() {
	local file name
	while IFS=: read -r file name; do
		! wanted "$1: $name" || basename "$file" .c
	done < <(unit_names) | sort -u | xargs
}

# unit_run TARGET - with cmocka's results.
unit_run() {
	local -a some=()
	if by_name; then
		some=("UNIT_NAMES=$(unit_programs "$1")")
		[[ ${some[*]} != *= ]] || return 0
	fi
	progress "$1"
	count_suite "$1: " make -s "$1" "BUILD=$BUILD" "${some[@]}"
}

run_unit() {
	unit_run unit
	unit_run unit-asan
	run_python
	in_ring all || return 0
	unit_run unit-tsan
	unit_run unit-valgrind
}

# --- command line ---

# without_module COMMAND... - as on a machine that has it not loaded, whatever this one has.
without_module() {
	mkdir -p "$LOGS/empty/sys/class"
	DONARD_SYSFS_ROOT=$LOGS/empty/sys "$@"
}

cli_exits() {
	local want=$1 regex=$2 status=0 out
	shift 2
	out=$("$BUILD/donard-cli" "$@" 2>&1) || status=$?
	printf 'status %d (expected %d): %s\n' "$status" "$want" "$out"
	((status == want)) && grep -qE -- "$regex" <<<"$out"
}

# Usage errors go to stderr and leave stdout empty; help goes to stdout.
streams() {
	[[ -z $("$BUILD/donard-cli" copy 2>/dev/null) ]] && [[ -z $("$BUILD/donard-cli" help 2>&1 >/dev/null) ]]
}

without_perftest() {
	local status=0 out
	out=$(PATH=/nonexistent "$BUILD/donard-cli" bench rdma ::1 --block-sizes 4K --perftest 2>&1) || status=$?
	printf 'status %d (expected 3): %s\n' "$status" "$out"
	((status == 3)) && [[ $out == *'apt install perftest'* ]]
}

# bench_alone STATUS MESSAGE CODE - checks donard-cli in a folder of its own, without PATH. --json comes before or after 'bench'.
bench_alone() {
	local status out words
	for words in "bench setup p2pmem0 --json" "--json bench setup p2pmem0"; do
		status=0
		# shellcheck disable=SC2086  # words
		out=$(LD_LIBRARY_PATH=$BUILD PATH=/nonexistent "$LOGS/no-bench/donard-cli" $words 2>&1) || status=$?
		printf '%s: status %d (expected %d): %s\n' "$words" "$status" "$1" "$out"
		((status == $1)) && [[ $out == *"$2"* && $out == *"\"code\":\"$3\""* ]] || return
	done
}

# 'bench' runs another program, which is missing, or is no program.
without_bench() {
	local folder=$LOGS/no-bench out
	rm -rf "$folder"
	mkdir -p "$folder"
	cp "$BUILD/donard-cli" "$folder/"
	bench_alone 3 'there is no donard-bench' unsupported || return
	out=$(LD_LIBRARY_PATH=$BUILD PATH=/nonexistent "$folder/donard-cli" help bench 2>&1)
	printf 'help bench: %s\n' "$out"
	[[ $out == *'there is no donard-bench '* && $out != *'{'* ]] || return
	echo >"$folder/donard-bench"
	chmod +x "$folder/donard-bench"
	bench_alone 1 'donard-bench: Exec format error' system
}

# 'bench' is donard-bench under another name: the same help, but for that name.
bench_by_both_names() {
	diff <("$BUILD/donard-bench" help table1 | sed 's/donard-bench/donard-cli bench/') \
		<("$BUILD/donard-cli" help bench table1) &&
		diff <("$BUILD/donard-cli" bench table1 --help) <("$BUILD/donard-cli" help bench table1)
}

# completes WORD... - what bash offers when the last one is to be completed.
completes() {
	# shellcheck disable=SC2016  # the inner shell's
	PATH="$BUILD:$PATH" bash -c '. "$0"; COMP_WORDS=(donard-cli "$@"); COMP_CWORD=$#
		_donard_cli; printf "%s\n" "${COMPREPLY[@]}"' cli/completion.bash "$@"
}

completes_bench() {
	diff <(printf '%s\n' copy queue rdma setup table1 null | sort) \
		<(completes bench '' | grep -vxE 'version|help' | sort) &&
		completes bench table1 --here | grep -xF -- --here &&
		completes '' | grep -xF bench
}

run_cli() {
	progress "command line"
	try_first "cli: build" make -s userspace "BUILD=$BUILD"
	run_build
	run_nvp2p
	run_cudaapi
	run_interface
	try "cli: version" cli_exits 0 '[0-9]+\.[0-9]+\.[0-9]+' version
	try "cli: an offset that is too large" cli_exits 2 "'9999999T' is too large; the largest offset is 9223372036854775807" \
		copy /dev/null p2pmem0+9999999T
	try "cli: an offset that is none" cli_exits 2 "'x' is not an offset; they look like p2pmem0\\+64M" copy /dev/null p2pmem0+x
	try "cli: help" cli_exits 0 'copy' help
	try "cli: help of a command" cli_exits 0 '--allow-bounce' help copy
	try "cli: --help" cli_exits 0 '--allow-bounce' copy --help
	try "cli: no command" cli_exits 2 'a command is missing'
	try "cli: no prefixes of commands" cli_exits 2 'lis' lis
	try "cli: unknown option" cli_exits 2 'no-such' list --no-such
	try "cli: no prefixes of options" cli_exits 2 'js' list --js
	try "cli: bad size" cli_exits 2 'not a size' copy --size 5Q a b
	try "cli: half a command" cli_exits 2 "'rdma serv' is no command" rdma serv
	try "cli: half a command lists the other half" cli_exits 2 'region remove' region
	try "cli: help of half a command" cli_exits 0 'rdma serve' help rdma
	try "cli: half a command, --help" cli_exits 0 'region remove' region --help
	try "cli: nearly a region" cli_exits 2 'no such region.*\./p2pmemX' copy /dev/null p2pmemX
	try "cli: rdma, unknown access" cli_exits 2 'none of read, write, both' rdma serve dram --access all
	try "cli: rdma, unknown direction" cli_exits 2 'none of write, read' rdma bw 127.0.0.1 --direction up
	try "cli: rdma, bad port" cli_exits 2 'not a number from 0 to 65535' rdma serve dram --port 65536
	try "cli: rdma, bad depth" cli_exits 2 'not a number from 1 to 4096' rdma write 127.0.0.1 --queue-depth 0
	try "cli: rdma, once or clients" cli_exits 2 'give one of them' rdma serve dram --once --clients 2
	try "cli: rdma, no such target" cli_exits 2 "neither a region, a GPU nor 'dram'" rdma serve /etc/passwd
	try "cli: rdma, no address" cli_exits 2 'not an address' rdma read 'no such host'
	try "cli: bench without donard-bench" without_bench
	try "cli: bench, half a command" cli_exits 2 'a command is missing' bench
	try "cli: bench, unknown command" cli_exits 2 "'tables' is no command" bench tables
	try "cli: bench, its version" cli_exits 0 'donard-bench [0-9]' bench version
	try "cli: bench is donard-bench" bench_by_both_names
	try "cli: bench, completion" completes_bench
	try "cli: bench, no such size" cli_exits 2 "'5Q' is not a size from 1 to 1T" bench setup p2pmem0 --sizes 4K,5Q
	try "cli: bench, no live allocation" cli_exits 2 "'-1' is not a number from 0 to 1000000" bench setup p2pmem0 --live -1
	try "cli: bench rdma, unknown direction" cli_exits 2 'none of write, read, both' bench rdma ::1 --direction up
	try "cli: bench rdma, large blocks" cli_exits 2 '1 GiB at most' bench rdma ::1 --block-sizes 4K,2G
	try "cli: bench table1, large blocks" cli_exits 2 '1 GiB at most' bench table1 dram=::1 --block-size 2G
	try "cli: bench rdma, port of nothing" cli_exits 2 'needs --perftest' bench rdma ::1 --perftest-port 1
	try "cli: bench rdma, perftest of several sizes" \
		cli_exits 2 "give one size for writes.* for 4096 bytes start it with '-s 4096 -n 1000'" bench rdma ::1 --perftest
	try "cli: bench rdma, perftest from a GPU" \
		cli_exits 2 'give a region without an offset, or dram' bench rdma ::1 --block-sizes 4K --perftest --local gpu:0
	try "cli: bench rdma, no perftest" without_perftest
	try "cli: bench table1, no name" cli_exits 2 'no name or no address' bench table1 =192.0.2.1
	try "cli: bench table1, no port" cli_exits 2 'no address or no port' bench table1 dram=192.0.2.1:0
	try "cli: bench table1, half a bracket" cli_exits 2 'no address or no port' bench table1 'dram=[::1'
	try "cli: bench table1, a name twice" cli_exits 2 'two of that name' bench table1 a=::1 a=::2
	try "cli: bench table1, no target here" cli_exits 2 'targets look like dram=dram' bench table1 --here ::1 gpu=
	try "cli: no module" without_module cli_exits 3 'not loaded' list
	try "cli: no module, JSON" without_module cli_exits 3 '"no-module"' list --json
	try "cli: streams" streams
	run_cli_contracts
	run_top
}
