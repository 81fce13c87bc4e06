# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cuFile's header and library as Debian packages them, to compare ours with. Nothing of them is shipped or built into
# anything. Sourced, never run.

# CUDA 11.8 and 12.4.
readonly CUFILE_RELEASES=(bookworm trixie)

# Where an archive has none of it, it is asked again after so long.
readonly CUFILE_ASK_MINUTES=60

# unpack_cufile DEBS DIR - cufile.h, libcufile.so.0 and version in DIR.
unpack_cufile() {
	dpkg-deb -f "$1"/libcufile-dev_*.deb Version >"$2/version" &&
		dpkg-deb -x "$1"/libcufile-dev_*.deb "$1/files" &&
		dpkg-deb -x "$1"/libcufile0_*.deb "$1/files" &&
		cp "$1/files/usr/include/cufile.h" "$2/" &&
		cp -L "$1"/files/usr/lib/*/libcufile.so.0 "$2/"
}

# fetch_cufile DIR - DIR/RELEASE for unpack_cufile; or else DIR/missing, with the reason, if the archive has none. ask_again calls
# it with set -e off.
fetch_cufile() {
	local dir=$1 debs=$1.debs release status
	for release in "${CUFILE_RELEASES[@]}"; do
		say "fetching cuFile's header and library of $release (2 MB)"
		mkdir -p "$dir/$release" || return
		status=0
		fetch_debs "$debs" "$release" non-free libcufile-dev libcufile0 || status=$?
		if ((status == NOT_IN_ARCHIVE)); then
			printf "no packaged cuFile: this host's Debian archive gives no libcufile-dev and libcufile0 of %s (non-free)\n" \
				"$release" >"$dir/missing"
			break
		fi
		((status == 0)) || return "$status"
		unpack_cufile "$debs" "$dir/$release" || return
		rm -rf "$debs"
	done
	rm -rf "$debs" "$debs.apt"
}

# is_old DIR - is it long since the archive said that it has none?
is_old() {
	[[ -n $(find "$1/missing" -mmin "+$CUFILE_ASK_MINUTES" 2>/dev/null) ]]
}

# ask_again DIR - of an archive that had none. It may be out of reach now: then, too, the old answer stands. Under the lock, so
# that no other run is building something for which it has read that answer.
ask_again() (
	wait_for_lock 9 "another run builds something in the cache $CACHE_DIR"
	is_old "$1" || exit 0
	trap 'rm -rf "$1".tmp.*' EXIT
	trap 'exit 143' TERM
	if fetch_cufile "$1.tmp.new" >&2 && [[ ! -e $1.tmp.new/missing ]]; then
		mv -T -- "$1" "$1.tmp.old"
		mv -T -- "$1.tmp.new" "$1"
	else
		touch "$1/missing"
	fi
) 9>"$CACHE_DIR/.lock"

# packaged_cufile - prints the directory of them. Where that has a file "missing", only what needs them is left out.
packaged_cufile() {
	local dir
	dir=$(cached "cufile-$(content_key "${CUFILE_RELEASES[*]}" "$(declare -f fetch_debs fetch_cufile unpack_cufile)")" fetch_cufile)
	! is_old "$dir" || ask_again "$dir"
	printf '%s\n' "$dir"
}

# build_cufile_programs DIR ROOT PACKAGED - those of tests/host/cufile_* for guests: built for the packaged library, of
# which nothing goes there. Without that, the reason goes there.
build_cufile_programs() {
	local tests=$1/dest/opt/donard/tests bin=/out/dest/opt/donard/tests/bin
	local -a flags=(-O2 -g -Wall -Wno-unused-function -DCUFILE_STREAMS -I/out/cufile -I/src/tests/host/cuda -I/src/lib/cufile)
	if [[ -e $3/missing ]]; then
		say "without the programs of cuFile: $(<"$3/missing")"
		cp "$3/missing" "$tests/no-cufile"
		return
	fi
	cp -r "$3/trixie" "$1/cufile"
	in_root "$2" "$1" gcc -std=gnu11 "${flags[@]}" -o "$bin/cufile_sample" /src/tests/host/cufile_sample.c \
		/out/cufile/libcufile.so.0 -Wl,--allow-shlib-undefined
	in_root "$2" "$1" g++ -std=c++17 "${flags[@]}" -pthread -o "$bin/cufile_wrapper" /src/tests/host/cufile_wrapper.cpp -ldl
	rm -rf "$1/cufile"
}
