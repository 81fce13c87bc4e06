# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a flush of the emulated devices does, and what a power cut makes of what was not flushed. Sourced, never run.

# build_power DIR - for the host, where the emulator runs.
build_power() {
	local -a gcc=(gcc -std=gnu11 -O2 -Wall -Wextra -Werror)
	mkdir -p "$1"
	"${gcc[@]}" -shared -fPIC -o "$1/flush.so" "$RIG_DIR/power/flush.c"
	"${gcc[@]}" -o "$1/lose" "$RIG_DIR/power/lose.c"
}

power_key() {
	content_key "$RIG_DIR"/power/* "$(declare -f build_power)"
}

power_tools() {
	cached_of power power_key build_power
}
