# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is installed, and what goes away again; Debian's packages of it. Sourced by tests/check, never run.

# --- make install, for every change ---

# installs DIR VARIABLE... - and lists the files.
installs() {
	local dir=$1
	shift
	make -s "BUILD=$BUILD" "DESTDIR=$dir" "$@" install install-python install-rules dkms-source &&
		(cd "$dir" && find . -not -type d | sed 's|^\.||' | sort)
}

# undoes VARIABLE... - nothing is left but what was there. By root in a checkout where nobody has built, a folder would be root's.
undoes() {
	local dir=$LOGS/uninstall left
	rm -rf "$dir"
	mkdir -p "$dir/usr/include/donard"
	touch "$dir/usr/include/donard/foreign.h"
	installs "$dir" "$@" >"$LOGS/installed" || return
	(($(wc -l <"$LOGS/installed") > 60)) || { echo "installed: $(<"$LOGS/installed")"; return 1; }
	make -s "BUILD=$LOGS/not-built" "DESTDIR=$dir" "$@" uninstall uninstall-python uninstall-dkms || return
	[[ ! -e $LOGS/not-built ]] || { echo "built: $(find "$LOGS/not-built")"; return 1; }
	left=$(cd "$dir" && find . \( -not -type d -o -name '*donard*' -o -name '*p2pmem*' \) | sort)
	printf 'left: %s\n' "$left"
	[[ $left == $'./usr/include/donard\n./usr/include/donard/foreign.h' ]]
}

uninstall_removes_what_install_put() {
	undoes PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu UNITDIR=/lib/systemd/system && undoes PREFIX=/opt/other
}

installed_for_everybody() {
	local dir=$LOGS/everybody closed
	(umask 077 && installs "$dir" PREFIX=/usr >/dev/null) || return
	closed=$(find "$dir" -not -type l \( -not -perm -444 -o -type d -not -perm -111 \))
	printf 'closed to others: %s\n' "$closed"
	[[ -z $closed ]]
}

# ld.so does not search this LIBDIR, but installed programs find the library all the same, even after the tree was moved.
libdir_is_where_programs_look() {
	local dir=$LOGS/libdir
	make -s "BUILD=$BUILD" "DESTDIR=$dir" PREFIX=/opt/donard LIBDIR=/opt/donard/lib64 install || return
	(cd / && "$dir/opt/donard/bin/donard-cli" version && "$dir/opt/donard/bin/donard-bench" version) &&
		grep -x 'libdir=/opt/donard/lib64' "$dir"/opt/donard/lib64/pkgconfig/libdonard{,-meter}.pc
}

# told_of_unread EXPECTED VARIABLE... - what "make install" of those says of places where udev and systemd do not look.
told_of_unread() {
	local said
	said=$(make -n "BUILD=$BUILD" DESTDIR= "${@:2}" install) || return
	diff <(grep -oE '(udev|systemd) does not look into|Give [^ ]*' <<<"$said" | xargs) <(echo "$1")
}

places_that_nobody_reads_are_told() {
	local prefix rules=RULESDIR=/usr/local/lib/udev/rules.d units=UNITDIR=/usr/local/lib/systemd/system
	local udev="udev does not look into Give $rules" systemd="systemd does not look into Give $units"
	told_of_unread "$udev $systemd" PREFIX=/opt/donard || return
	told_of_unread "$udev" PREFIX=/opt/donard UNITDIR=/lib/systemd/system/ || return
	told_of_unread '' PREFIX=/opt/donard "$rules" "$units" || return
	for prefix in /usr /usr/local; do
		told_of_unread '' "PREFIX=$prefix" || return
	done
}

# installed_python VARIABLE... - what "make install-python" of those says.
installed_python() {
	{ make -s "BUILD=$BUILD" DESTDIR= "PYTHON=$PYTHON" "$@" install-python >/dev/null; } 2>&1
}

# Following the advice is enough.
python_that_does_not_look_is_told() {
	local prefix=$LOGS/python said
	rm -rf "$prefix"
	mkdir -p "$prefix/lib" && cp -P "$BUILD"/libdonard*.so* "$prefix/lib/" || return
	said=$(installed_python "PREFIX=$prefix") || return
	printf 'said: %s\n' "$said"
	[[ $said == "make: $PYTHON does not look into $prefix/lib/python3/dist-packages: "* ]] || return
	# shellcheck disable=SC2086  # assignments
	env ${said##*Run it with } "$PYTHON" -c 'import donard; print(donard.version())' || return
	said=$(PYTHONPATH=$prefix/own installed_python "PREFIX=$prefix" "PYTHONDIR=$prefix/own") || return
	printf 'said where it looks: %s\n' "$said"
	[[ -z $said ]]
}

# The sandbox of a unit leaves its program in sight, wherever PREFIX is.
units_see_what_they_run() {
	local dir=$LOGS/units hidden
	rm -rf "$dir"
	make -s "BUILD=$BUILD" "DESTDIR=$dir" PREFIX=/home/newcomer/donard install || return
	grep -h '^ExecStart=' "$dir"/home/newcomer/donard/lib/systemd/system/*.service || return
	hidden=$(grep -lE '^(ProtectHome=(yes|true|1|on|tmpfs)|InaccessiblePaths=|TemporaryFileSystem=)' \
		"$dir"/home/newcomer/donard/lib/systemd/system/*.service)
	printf 'hide it: %s\n' "$hidden"
	[[ -z $hidden ]]
}

# Each file goes into one package, and each line of debian/*.install takes one.
debian_divides_what_is_installed() {
	local dir=$LOGS/divide
	rm -rf "$dir"
	installs "$dir" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu >"$LOGS/installed" || return
	python3 - "$LOGS/installed" debian/*.install <<-'END'
		import fnmatch, sys
		files = [line.strip().lstrip("/") for line in open(sys.argv[1])]
		lines = [(name, line.split()[0]) for name in sys.argv[2:] for line in open(name)]
		takes = lambda pattern, file: fnmatch.fnmatch(file, pattern) or fnmatch.fnmatch(file, pattern + "/*")
		faults = [f"{file}: in {[name for name, pattern in lines if takes(pattern, file)]}" for file in files
		          if len({name for name, pattern in lines if takes(pattern, file)}) != 1]
		faults += [f"{name}: nothing is {pattern}" for name, pattern in lines
		           if not any(takes(pattern, file) for file in files)]
		print("\n".join(faults), len(files), "files")
		sys.exit(bool(faults) or len(files) < 60)
	END
}

# Each document that a program, a library or a man page names is there, below the folder that donard-cli(1) names.
documents_that_are_named_are_installed() {
	local dir=$LOGS/documents named
	rm -rf "$dir"
	installs "$dir" PREFIX=/usr >/dev/null || return
	named=$(cd "$dir/usr" && grep -rhoaE 'docs/[a-z-]+\.md' bin lib share/man | sort -u)
	printf 'named: %s\n' "$named"
	(($(wc -l <<<"$named") > 5)) && grep -q '/usr/share/doc/donard' "$dir/usr/share/man/man1/donard-cli.1" &&
		(cd "$dir/usr/share/doc/donard" && xargs ls README.md <<<"$named")
}

# links_of FILE - what it links to beside it, but for man pages, which are where man looks, and what is in a checkout alone.
links_of() {
	grep -oE '\]\([^)#: ]+' "$1" | sed 's/^](//' | grep -vE '\.[0-9]$|^https?$|^(\.\./)?((lib|tests|bench)/|CONTRIBUTING|LICENSE)'
}

# An installed document leads where its twin in a checkout does.
links_of_documents_lead_somewhere() {
	local dir=$LOGS/links docs=$LOGS/links/usr/share/doc/donard file link dead=()
	rm -rf "$dir"
	installs "$dir" PREFIX=/usr >/dev/null || return
	for file in "$docs"/README.md "$docs"/docs/*.md; do
		for link in $(links_of "$file"); do
			[[ -e ${file%/*}/$link ]] || dead+=("${file#"$docs/"}: $link")
		done
	done
	printf 'dead: %s\n' "${dead[@]}"
	[[ -s $docs/docs/examples/own-read.c && -z ${dead[*]} ]]
}

debian_has_the_version() {
	local version
	version=$("$BUILD/donard-cli" version | sed -nE '1s/^[^0-9]*([0-9.]+).*/\1/p')
	printf 'version %s, changelog: %s\n' "$version" "$(head -n 1 debian/changelog)"
	[[ $(head -n 1 debian/changelog) == "donard ($version) "* ]]
}

# debian/ says for each symbol version in a library's map since when it exists.
debian_has_the_symbols() {
	local library
	for library in "${LIBRARIES[@]}"; do
		diff -u --label map --label symbols <(grep -oE '^DONARD_(METER_)?[0-9.]+' "$(map_of "$library")") \
			<(grep -oE '\(symver\)DONARD_(METER_)?[0-9.]+' "debian/${library}0.symbols" | sed 's/(symver)//') || return
	done
}

# small_module DIR - in place of the kernel module of a checkout.
small_module() {
	echo 'obj-m := p2pmem.o' >"$1/kernel/Kbuild"
	printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("empty");\n' >"$1/kernel/p2pmem.c"
}

# Of a checkout whose module is one line: the folder that modules_install fills is the one that depmod and dkms are told of,
# and that uninstall-module empties. The headers of the oldest kernel name two releases (mk/module.mk). Then the same from a
# path with a space, which Kbuild does not take.
modules_go_where_they_are_sought() {
	local dir=$LOGS/modules checkout=$LOGS/modules/checkout root kernel
	root=$(in_rig guest_root) && kernel=$(in_rig kernel_version "$root" "$(matrix_oldest)") || return
	mkdir -p "$checkout/kernel"
	cp -r --parents Makefile mk include/donard/version.h kernel/{Makefile,dkms.conf.in,60-p2pmem.rules,p2pmem.sysusers} \
		"$checkout"
	small_module "$checkout"
	# shellcheck disable=SC2016  # for the shell inside
	in_rig in_root "$root" "$dir" bash -ec '
		cd /out
		cp -r checkout "a checkout"
		cd checkout
		for_kernel=(make -s "KDIR=/usr/src/linux-headers-$1")
		"${for_kernel[@]}" install-module DESTDIR=/out/dest
		filled=$(cd /out/dest/lib/modules && find . -name p2pmem.ko)
		depmod=$("${for_kernel[@]}" -n install-module DESTDIR= | sed -n "s/^depmod -a //p")
		dkms=$("${for_kernel[@]}" -n -o module install-dkms DESTDIR= | sed -n "s/.*for kernel in \([^ ;]*\).*/\1/p")
		echo "expected $1; filled: $filled; depmod: $depmod; dkms: $dkms"
		[[ $filled == "./$1/"*/p2pmem.ko && $depmod == "$1" && $dkms == "$1" ]]
		"${for_kernel[@]}" uninstall-module DESTDIR=/out/dest
		left=$(find /out/dest -name "*p2pmem*")
		echo "left: $left"
		[[ -z $left ]]
		cd "/out/a checkout"
		"${for_kernel[@]}" install-module DESTDIR=/out/dest
		[[ -s /out/dest/lib/modules/$filled && -z $(find /tmp -name "p2pmem*") ]]
	' install "$kernel"
}

# In a layer over the guest's root, which loses the programs one after another. Nothing is compiled but the small module.
# Debian compresses the modules of its newest kernel.
minimal_system_is_told() {
	local dir=$LOGS/minimal root kernel compressed
	root=$(in_rig guest_root) && kernel=$(in_rig kernel_version "$root" "$(matrix_oldest)") &&
		compressed=$(in_rig kernel_version "$root" "$(matrix_newest)") || return
	mkdir -p "$dir/checkout/build"
	sources | tar -c -T - | tar -x -C "$dir/checkout"
	tar -c -C "$BUILD" --exclude='./*san' --exclude=./tests . | tar -x -C "$dir/checkout/build"
	small_module "$dir/checkout"
	LAYER=1 in_rig in_root "$root" "$dir" bash /src/tests/host/minimal "$kernel" "$compressed"
}

# recipes_say SED EXPECTED - recipes.py says so of a copy whose README, or table, was changed.
recipes_say() {
	local copy=$LOGS/recipes-copy status=0 out
	rm -rf "$copy"
	mkdir -p "$copy/docs" "$copy/tests/host" "$copy/tests/guest"
	cp --parents README.md docs/install.md tests/{recipes,matrix} tests/host/recipes.py tests/guest/*.sh "$copy"
	sed -i "$1" "$copy"/{README.md,tests/recipes}
	out=$("$copy/tests/host/recipes.py" check 2>&1) || status=$?
	printf '%s: status %d (expected 1), expected: %s\n%s\n' "$1" "$status" "$2" "$out"
	((status == 1)) && grep -qF -- "$2" <<<"$out"
}

# shellcheck disable=SC2016  # the quotes are Markdown's
recipe_without_test_is_noticed() {
	recipes_say 's/^    sudo donard-cli rdma write/& --more/' 'README.md: Over RDMA: 1: no test runs: sudo donard-cli rdma write --more' &&
		recipes_say 's/^## Over RDMA/    sudo make more\n\n&/' 'README.md: On real hardware: 4: no test runs: sudo make more' &&
		recipes_say 's/^When something/Type `sudo make more`. &/' 'README.md: no test runs: sudo make more' &&
		recipes_say '/^run .*removed/d' 'docs/install.md: Removing it: 2: no test runs: sudo make uninstall-dkms' &&
		recipes_say 's/^run   lab /run   lba /' 'tests/recipes: nobody types a step lba' &&
		recipes_say 's/^held  fio/held  oif/' 'tests/recipes: no suite oif' &&
		recipes_say 's/: 64M --measure/&x/; s/^held  none: sudo delgroup.*/&x/' 'tests/recipes: nobody is told to type: sudo delgroup p2pmemx'
}

run_install() {
	progress "install and uninstall"
	try_first "install: build" make -s userspace "BUILD=$BUILD"
	try "install: uninstall removes what install put there" uninstall_removes_what_install_put
	try "install: files are for everybody, whatever the umask" installed_for_everybody
	try "install: LIBDIR is where programs look" libdir_is_where_programs_look
	try "install: places where nobody looks are told" places_that_nobody_reads_are_told
	try "install: a Python that does not look there is told" python_that_does_not_look_is_told
	try "install: the units see what they run" units_see_what_they_run
	try "install: documents that are named are there" documents_that_are_named_are_installed
	try "install: links of documents lead somewhere" links_of_documents_lead_somewhere
	try "install: modules go where depmod and dkms look" modules_go_where_they_are_sought
	try "install: each recipe has a test" tests/host/recipes.py check
	try "install: a recipe without a test is noticed" recipe_without_test_is_noticed
	! in_ring all || try "install: a minimal system is told what it lacks" minimal_system_is_told
	try "install: debian divides what is installed" debian_divides_what_is_installed
	try "install: debian has the version" debian_has_the_version
	try "install: debian has the symbol versions" debian_has_the_symbols
}

# --- the packages, in make check-long ---

# docs/install.md names each package that was built.
install_names_each_package() {
	local dir=$1 line
	line=$(grep '^    sudo apt install \.\./' docs/install.md)
	diff <(cd "$dir/donard" && eval "printf '%s\n' ${line#*install }" | sed 's|.*/||' | sort) \
		<(cd "$dir" && printf '%s\n' *.deb | grep -v -- -dbgsym_ | sort)
}

# packages_of RELEASE KERNEL... - built, checked and used there.
packages_of() {
	local release=$1 dir=$LOGS/packages-$1
	shift
	rm -rf "$dir"
	mkdir -p "$dir"
	try_first "packages: build on $release" in_rig build_packages "$release" "$dir"
	[[ -n $(compgen -G "$dir/*.changes") ]] || return
	try "packages: lintian of $release" lintian_is_content "$release" "$dir"
	try "packages: docs/install.md names each of $release" install_names_each_package "$dir"
	try "packages: install, use and purge on $release, modules for $*" \
		in_rig use_packages "$release" "$dir" "$REPO/tests/host/packages-hook" "$@"
}

lintian_is_content() {
	local out
	out=$(in_rig check_packages "$@" 2>&1) || { printf '%s\n' "$out"; return 1; }
	! grep -E '^[EW]: ' <<<"$out"
}

run_packages() {
	progress "packages"
	each_release packages_of
}
