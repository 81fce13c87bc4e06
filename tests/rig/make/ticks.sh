# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The program that measures the host's time-stamp counter. Sourced, never run.

build_ticks() {
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$1" "$RIG_DIR/boot/ticks.c"
}

ticks_key() {
	content_key "$RIG_DIR/boot/ticks.c" "$(declare -f build_ticks)"
}

ticks_program() {
	cached_of ticks ticks_key build_ticks
}
