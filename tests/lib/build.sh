# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the source tree hangs together, and how it is built and installed. Sourced by tests/check, never run.

# --- rooms ---

rooms_import_one_way() {
	tests/lib/imports.py
}

rooms_call_one_way() {
	make -s userspace "BUILD=$BUILD" && tests/lib/imports.py --objects "$BUILD"
}

# caught FILE LINE EXPECTED - the check names this include, added at the end of that file of a copy.
caught() {
	local file=$1 line=$2 expected=$3 copy=$LOGS/rooms status=0 out
	rm -rf "$copy"
	mkdir -p "$copy"
	cp -r --parents include lib cli tool bench kernel "$copy"
	printf '%s\n' "$line" >>"$copy/$file"
	out=$(tests/lib/imports.py "$copy") || status=$?
	expected="$file:$(wc -l <"$copy/$file"): $expected"
	printf '%s in %s: status %d (expected 1): %s\nexpected: %s\n' "$line" "$file" "$status" "$out" "$expected"
	((status == 1)) && [[ $out == "$expected"* ]]
}

forbidden_includes_are_caught() {
	caught lib/base/bdf.c '#include "region/region.h"' 'lib/base may not include lib/region' &&
		caught lib/drive/open.c '# include "copy/copy.h"' 'lib/drive may not include lib/copy' &&
		caught lib/copy/check.c '#include "drive/ring.h"' 'lib/drive/ring.h is private to lib/drive' &&
		caught lib/rdma/link.c '#include <donard-lab/meter.h>' 'only lib/meter/lab.c may include' &&
		caught cli/cmd_copy.c '#include "base/base.h"' 'cli may not include lib/base' &&
		caught tool/main.c '#include "../cli/measure.h"' 'tool may not include cli' &&
		caught kernel/compat/compat.h '#include "../p2pmem.h"' 'kernel/compat may not include kernel' &&
		caught lib/base/bdf.c '#include "nowhere.h"' 'nowhere.h is no file of the project'
}

# donard/donard.h declares calls of every room: an include cannot tell.
forbidden_calls_are_caught() {
	local tree=$LOGS/calls status=0 out
	mkdir -p "$tree/lib/base" "$tree/lib/region"
	printf 'int dnd_high(void);\nint dnd_low(void);\nint dnd_low(void) { return dnd_high(); }\n' >"$tree/lib/base/low.c"
	printf 'int dnd_high(void);\nint dnd_high(void) { return 0; }\n' >"$tree/lib/region/high.c"
	gcc -c -o "$tree/lib/base/low.o" "$tree/lib/base/low.c" || return
	gcc -c -o "$tree/lib/region/high.o" "$tree/lib/region/high.c" || return
	out=$(tests/lib/imports.py --objects "$tree" "$tree") || status=$?
	printf 'status %d (expected 1): %s\n' "$status" "$out"
	((status == 1)) && [[ $out == 'lib/base/low.c: calls dnd_high() of lib/region/high.c'* ]]
}

run_rooms() {
	progress "rooms"
	try "style: rooms include one way" rooms_import_one_way
	try "style: rooms of the library call one way" rooms_call_one_way
	try "style: a forbidden include is caught" forbidden_includes_are_caught
	try "style: a forbidden call is caught" forbidden_calls_are_caught
}
