# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Debian archive, asked without touching the user's apt configuration. Sourced, never run.

readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

host_codename() {
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# mirror_of RELEASE - the archive that the host's own apt uses for it, so that proxies, local mirrors
# and air-gapped setups keep working. It may be named there by what the release is now ("stable"). Other archives name theirs in
# both ways, and may stand first: what ends as Debian's do goes before the rest, and alone counts under another name.
mirror_of() {
	# Without "release info", since a fresh machine has never fetched any.
	# shellcheck disable=SC2016  # the dollars are apt's
	apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
		awk -v release="$1" -v alias="^(stable|oldstable|testing|unstable|sid)${1#"$(host_codename)"}\$" '
			$2 != "main" { next }
			{ sub("/$", "", $3); as_debians = $3 ~ /\/debian(-security)?$/ }
			$1 == release && as_debians && !proper { proper = $3 }
			$1 == release && !named { named = $3 }
			$1 ~ alias && as_debians && !aliased { aliased = $3 }
			END { if (proper named aliased) print proper ? proper : named ? named : aliased }'
}

debian_mirror() {
	local mirror
	mirror=$(mirror_of "$(host_codename)")
	[[ -n $mirror ]] || die "$EX_UNSUPPORTED" "this host's apt names no Debian archive for '$(host_codename)'"
	printf '%s\n' "$mirror"
}

# sources MIRROR RELEASE... - lines for a sources.list.
sources() {
	local mirror=$1 release
	shift
	for release in "$@"; do
		printf 'deb [signed-by=%s] %s %s main contrib\n' "$KEYRING" "$mirror" "$release"
	done
}

# host_backports - of the one release that needs them: testing has none.
host_backports() {
	[[ $(host_codename) != bookworm ]] || echo bookworm-backports
}

# host_sources - the host's release with its updates, plus backports.
host_sources() {
	local codename mirror security backports
	codename=$(host_codename)
	mirror=$(debian_mirror)
	security=$(mirror_of "$codename-security")
	backports=$(host_backports)
	sources "$mirror" "$codename" "$codename-updates" ${backports:+"$backports"}
	[[ -z $security ]] || sources "$security" "$codename-security"
}

# private_apt DIR COMMAND... - an apt tool with the sources and package lists of DIR, and the packages
# that DIR/status says are installed if there is one. The host's apt.conf (proxy, timeouts) stays in force.
private_apt() {
	local dir=$1 tool=$2 status=/var/lib/dpkg/status
	shift 2
	[[ ! -f $dir/status ]] || status=$dir/status
	"$tool" -qq -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$dir/lists" -o Dir::State::Status="$status" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@"
}

# private_apt_update DIR < SOURCES - all of them: by itself apt takes a host that it does not reach for no failure, and what reads
# the lists would say that the archive lacks something.
private_apt_update() {
	mkdir -p "$1/lists/partial"
	cat >"$1/sources.list"
	private_apt "$1" apt-get update --error-on=any ||
		die "$EX_UNSUPPORTED" "the package lists of the Debian archive could not be fetched"
}

# mmdebstrap ARGUMENT... - it unpacks the whole system below TMPDIR: /tmp may be small, or run no programs, and in a folder of the
# user's own the users of the new system may do nothing.
mmdebstrap() {
	TMPDIR=/var/tmp command mmdebstrap "$@"
}

# What fetch_debs returns where the archive's lists were read, and have no such package. Any other failure tells nothing of that.
readonly NOT_IN_ARCHIVE=4

# fetch_debs DIR RELEASE MORE-COMPONENTS PACKAGE... - into DIR, the newest of that release, by package lists of their own.
fetch_debs() {
	local dir=$1 release=$2 more=$3 apt=$1.apt mirror package names
	mirror=$(debian_mirror) && mkdir -p "$dir" "$apt" && : >"$apt/status" || return
	sources "$mirror" "$release" | sed "s/\$/ $more/" | private_apt_update "$apt" || return
	for package in "${@:4}"; do
		names=$(private_apt "$apt" apt-cache pkgnames "$package") || return
		grep -qx -- "$package" <<<"$names" || return "$NOT_IN_ARCHIVE"
	done
	(cd "$dir" && private_apt "$apt" apt-get download "${@:4}") || return
	rm -rf "$apt"
}
