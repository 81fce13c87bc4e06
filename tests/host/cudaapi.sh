# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib/gpu/cuda.h and the lab's libcuda compared with the cuda.h of Debian's CUDA. Sourced by tests/check, never run.

# numbers_of FILE... - "NAME NUMBER" of each constant.
numbers_of() {
	sed -nE 's/^\s*(CU[A-Z0-9_]+) = ([0-9]+),.*/\1 \2/p; s/^#define (CU[A-Z0-9_]+)\s+\(\(CUresult\)([0-9]+)\)/\1 \2/p' "$@"
}

# same_numbers RELEASE FILE... - at least 20, so that no change of the style hides them.
same_numbers() {
	local theirs name number count=0 file=$LOGS/cuda-numbers.c
	theirs=$CUDA_HEADERS/$1
	echo "nvidia-cuda-dev $(<"$theirs/version") of $1"
	printf '#include <cuda.h>\n' >"$file"
	while read -r name number; do
		printf '_Static_assert(%s == %s, "%s");\n' "$name" "$number" "$name"
		count=$((count + 1))
	done < <(numbers_of "${@:2}") >>"$file"
	((count > 20)) || { echo "only $count numbers found"; return 1; }
	gcc -std=gnu11 -fsyntax-only -Wall -I"$theirs" "$file"
}

# The table of the calls is compared by the names that it is filled with; at least 15, for the same reason.
same_prototypes() {
	local theirs calls file=$LOGS/cuda-prototypes.c
	theirs=$CUDA_HEADERS/$1
	{
		printf '#include <stdint.h>\n#include <cuda.h>\n'
		sed -n '/^struct dnd_cuda {/,/^};/p' "$2"
		printf '#define SAME(member, call) __builtin_types_compatible_p(__typeof__(*((struct dnd_cuda *)0)->member), __typeof__(call))\n'
		sed -nE 's/^\s*\{ "(cu[A-Za-z0-9_]+)", &calls\.([a-z_]+) \},/_Static_assert(SAME(\2, \1), "\1");/p' lib/gpu/driver.c
	} >"$file"
	calls=$(grep -c ^_Static_assert "$file")
	((calls > 15)) || { echo "only $calls calls found"; return 1; }
	((calls == $(grep -c '^.CUresult (\*' "$file"))) || { echo "not each call of the table is looked up"; return 1; }
	gcc -std=gnu11 -fsyntax-only -Wall -I"$theirs" "$file"
}

# The lab's libcuda, compiled with their declarations in place of ours.
lab_library_fits() {
	local theirs tree=$LOGS/libcuda file
	theirs=$CUDA_HEADERS/$1
	rm -rf "$tree"
	mkdir -p "$tree"
	cp -r tests/guest/cuda tests/guest/modules "$tree/"
	# Two old names are the new ones there.
	printf '#include <stdint.h>\n#include <cuda.h>\n#undef cuGetProcAddress\n#undef cuDevicePrimaryCtxRelease\n' >"$tree/cuda/numbers.h"
	for file in "$tree"/cuda/*.c; do
		gcc -std=gnu11 -fsyntax-only -Wall -Werror -I"$theirs" "$file" || return
	done
}

# compare_cuda NAME RELEASE COMMAND... - a test, unless the archive lacks the header, or does not give parts of packages.
compare_cuda() {
	wanted "$1" || return 0
	if [[ -z $CUDA_HEADERS ]]; then
		skipped "$1" "the header of nvidia-cuda-dev could not be fetched: $(tail -n 1 "$LOGS/cuda-headers")"
	elif [[ ! -d $CUDA_HEADERS/$2 ]]; then
		skipped "$1" "the archive has no nvidia-cuda-dev (non-free) of $2"
	else
		try "$1" "${@:3}"
	fi
}

run_cudaapi() {
	local release CUDA_HEADERS
	progress "declarations of the CUDA driver API"
	CUDA_HEADERS=$(in_rig cuda_headers 2>"$LOGS/cuda-headers") || CUDA_HEADERS=
	for release in bookworm trixie; do
		compare_cuda "build: cuda.h's numbers as CUDA in $release" "$release" same_numbers "$release" lib/gpu/cuda.h
		compare_cuda "build: cuda.h's calls as CUDA in $release" "$release" same_prototypes "$release" lib/gpu/cuda.h
	done
	# Numbers and calls of 12 are in it.
	compare_cuda "build: numbers of the lab's libcuda as CUDA in trixie" trixie same_numbers trixie tests/guest/cuda/numbers.h
	compare_cuda "build: the lab's libcuda has the calls of CUDA in trixie" trixie lab_library_fits trixie
}
