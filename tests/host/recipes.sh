# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The recipes of README.md and docs/install.md, typed as they are written (tests/recipes says where). Sourced by tests/check, never
# run.

# recipe_commands STEP... - one a line.
recipe_commands() {
	local step
	for step; do
		tests/host/recipes.py "$step" || return
	done
}

# Builds and installs: natively, in the clean Debian. Everything else waits until that has booted.
readonly BUILDS='(^|[[:space:]])(make|apt|apt-get|systemctl)[[:space:]]'

# recipes_of RELEASE KERNEL... - installed, booted with the first kernel, used and removed there, with the module by itself
# and by DKMS.
recipes_of() {
	local release=$1 series=$2 dir=$LOGS/recipes-$1 way
	mkdir -p "$dir/in" "$dir/guest"
	for way in module dkms packages removed; do
		recipe_commands "$way" | grep -E "$BUILDS" >"$dir/in/$way"
	done
	recipe_commands module booted removed | grep -vE "$BUILDS" >"$dir/guest/booted"
	cp tests/host/recipes-guest "$dir/guest/"
	try_first "recipes: installed and removed on $release" in_rig type_recipes "$release" "$series" "$dir" \
		"$REPO/tests/host/recipes-hook"
	for way in module dkms; do
		[[ -e $dir/$way.squashfs ]] || continue
		try "recipes: used on $release, kernel $series, $way" tests/rig/lab run --kernel "$series" --image "$dir/$way.squashfs" \
			--share "$dir/guest" -- bash /mnt/share/recipes-guest
		rm "$dir/$way.squashfs"
	done
	rm -rf "$dir"
}

# Runs it as at a terminal, where a shell of the lab is left at once.
lab_recipe() {
	echo exit | script -qec "$1" /dev/null
}

run_recipes() {
	local command
	local -a commands
	progress "recipes"
	each_release recipes_of
	mapfile -t commands < <(recipe_commands lab)
	try "recipes: there are some for the lab" test "${#commands[@]}" -gt 0
	for command in "${commands[@]}"; do
		try "recipes: $command" lab_recipe "$command"
	done
}
