# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the lab's commands: messages, the cache and its locks. Sourced, never run.

# What goes into the cache is for every user of a guest.
umask 022

# Failures inside $(...) count too.
shopt -s inherit_errexit

# Else cd may go elsewhere, and prints where.
unset CDPATH
# What the lab calls is GNU's, and options may stand behind operands.
unset POSIXLY_CORRECT
RIG_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The cache lies outside the clone: a fresh clone must not have to build the guest root again.
CACHE_DIR=${DONARD_CACHE:-${XDG_CACHE_HOME:-~/.cache}/donard}
CACHE_DIR=$(realpath -ms -- "$CACHE_DIR")
# shellcheck disable=SC2034  # read by the files that source this one
REPO_DIR=$(cd "$RIG_DIR/../.." && pwd)

# Exit codes of every command of the lab; a guest command's own status is passed through.
# shellcheck disable=SC2034
readonly EX_USAGE=2 EX_UNSUPPORTED=3 EX_LAB=125

# What only ends a wait for what never happens: many times what that takes on an idle host. Guests have it as LAB_HANG_SECONDS.
# shellcheck disable=SC2034
readonly HANG_SECONDS=300

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	local status=$1
	shift
	say "$*"
	exit "$status"
}

# The dynamic linker would cut the name of a library there, QEMU that of a disk, and modprobe tells names between blanks.
[[ $CACHE_DIR != *[[:space:]:,]* ]] ||
	die "$EX_UNSUPPORTED" "the cache's path may have no blank, colon or comma: $CACHE_DIR. Name another folder in DONARD_CACHE"

# content_key FILE|STRING... - a short name for the content of files and the text of other arguments.
content_key() {
	local arg
	for arg in "$@"; do
		if [[ -f $arg ]]; then
			cat -- "$arg"
		else
			printf '%s\n' "$arg"
		fi
	done | sha256sum | cut -c1-16
}

# tree_key DIR... - the same for all files below directories, and for which of them are programs.
tree_key() {
	{
		find "$@" -type f -not -name '.*' -print0 | files_key
		find "$@" -type f -not -name '.*' -perm -u=x -print | LC_ALL=C sort
	} | sha256sum | cut -c1-16
}

# files_key < NAMES - the same for files whose names come NUL-separated.
files_key() {
	LC_ALL=C sort -z | xargs -0r sha256sum -- | sha256sum | cut -c1-16
}

# cached NAME BUILDER [ARG...] - prints $CACHE_DIR/NAME, built first if absent.
#
# BUILDER gets the name of a file or directory to create, NAME.*; it may use that plus an extension for
# its own intermediate files. The result is renamed when it succeeded, under a lock: an interrupted or concurrent run never leaves, nor
# sees, half a result. Builders take turns; one that takes very long has a lock of its own, CACHE_LOCK.
cached() {
	local name=$1 builder=$2 dest=$CACHE_DIR/$1
	shift 2
	if [[ -e $dest ]]; then
		# For forget_unused.
		touch -c "$dest" 2>/dev/null || true
	else
		mkdir -p "$(dirname "$dest")"
		# No "||" after this: it would switch set -e off inside the builder.
		(
			wait_for_lock 9 "another run builds something in the cache $CACHE_DIR"
			[[ ! -e $dest ]] || exit 0
			tmp=$dest.tmp.$BASHPID
			trap 'discard_build "$?" "$tmp" "$name"' EXIT
			# Behind what the builder runs, which may still write there.
			trap 'exit 143' TERM
			forget_unused
			"$builder" "$tmp" "$@" >&2
			# The name may outlive a crash of the host that the bytes do not: an image would be empty for good.
			[[ -d $tmp ]] || sync -- "$tmp"
			mv -T -- "$tmp" "$dest"
		) 9>"$CACHE_DIR/${CACHE_LOCK:-.lock}"
	fi
	printf '%s\n' "$dest"
}

# cached_of PREFIX KEY BUILDER [ARG...] - the same of what is built from the checkout, which may be edited meanwhile: "KEY ARG..."
# prints the key of its files and of all else that goes into it. The name is PREFIX-KEY.
cached_of() {
	local key
	key=$("$2" "${@:4}")
	cached "$1-$key" build_unmoved "$key" "${@:2}"
}

# build_unmoved TMP HASH KEY BUILDER [ARG...] - BUILDER, of files whose hash must be the same when it has read them: what was
# built from others would be taken for these as long as the cache has it.
build_unmoved() {
	local now
	"$4" "$1" "${@:5}"
	now=$("$3" "${@:5}")
	[[ $now == "$2" ]] || die "$EX_LAB" "files below $REPO_DIR changed while the lab built from them. Run it again"
}

# wait_for_lock DESCRIPTOR WHAT-HAS-IT - that may be long, or forever if it was stopped: nobody should have to guess.
wait_for_lock() {
	flock -n "$1" || { say "$2; waiting for it"; flock "$1"; }
}

# forget_unused - what no run has used for two weeks, and the debris of runs that were killed. What another user left there, or
# another run removes at the same time, stops no build.
forget_unused() {
	find "$CACHE_DIR" -mindepth 1 -maxdepth 1 \( -mtime +14 -o -name '*.tmp.*' -mtime +0 \) \
		-not -name '.lock*' -exec rm -rf --one-file-system {} + 2>/dev/null || true
}

# discard_build STATUS TMP NAME - at the exit of its shell. A builder's own status (make's 2, the compiler's 1) is not the lab's:
# but for a host that lacks something, and what a signal ended.
discard_build() {
	rm -rf --one-file-system -- "$2" "$2".*
	(($1 != 0)) || return 0
	say "could not build $3 in the cache $CACHE_DIR"
	(($1 == EX_UNSUPPORTED || $1 > 128)) || exit "$EX_LAB"
}

remove_tree() {
	[[ ! -e $1 ]] || rm -rf --one-file-system -- "$1"
}

# have PROGRAM
have() {
	type -P "$1" >/dev/null
}

# require_namespaces - what in_root works in. Most containers have none, nor has an ordinary user on some hosts: better to hear of
# it now than after all has been fetched.
require_namespaces() {
	local -a namespaces=(--mount --propagation unchanged)
	((EUID == 0)) || namespaces+=(--map-root-user)
	unshare "${namespaces[@]}" true 2>/dev/null || die "$EX_UNSUPPORTED" \
		"this machine refuses mount namespaces, in which guests are built. A container has them with --privileged, an ordinary user where the kernel allows user namespaces"
}

# require_folders - that what a run makes can be written, and that QEMU takes their paths whole: behind a comma it looks for an
# option.
require_folders() {
	local lock
	[[ $REPO_DIR != *,* ]] ||
		die "$EX_UNSUPPORTED" "the checkout's path may have no comma: $REPO_DIR. Move it to another folder"
	[[ ${TMPDIR-} != *,* ]] ||
		die "$EX_UNSUPPORTED" "the path of the folder for a run's files may have no comma: $TMPDIR. Name another folder in TMPDIR"
	mkdir -p "$CACHE_DIR" 2>/dev/null ||
		die "$EX_UNSUPPORTED" "no folder can be made at $CACHE_DIR. Name another folder in DONARD_CACHE"
	[[ -w $CACHE_DIR ]] || cache_is_not_ours "$CACHE_DIR"
	for lock in "$CACHE_DIR"/.lock{,-boot,-debug}; do
		{ : >>"$lock"; } 2>/dev/null || cache_is_not_ours "$lock"
	done
}

# cache_is_not_ours FILE - as where root has once used the cache of an ordinary user.
cache_is_not_ours() {
	die "$EX_UNSUPPORTED" "$1 belongs to $(stat -c %U -- "$1"), and cannot be written. Remove the cache (sudo rm -r $(printf %q "$CACHE_DIR")), or name another folder in DONARD_CACHE"
}

# require_tools - what only tests/rig/setup can bring.
require_tools() {
	local tool
	for tool in qemu-system-x86_64 mmdebstrap mksquashfs cpio busybox; do
		have "$tool" || die "$EX_UNSUPPORTED" "this host has no $tool; run: sudo $(printf %q "$RIG_DIR/setup")"
	done
}
