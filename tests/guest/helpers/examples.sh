# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds and runs the examples of the documentation against what is installed. Sourced, never run.

readonly EXAMPLES=/usr/share/doc/donard/docs/examples

# build_example FILE PROGRAM - by the command that its comment gives.
build_example() {
	local compiler=gcc libraries
	[[ $1 != *.cpp ]] || compiler=g++
	libraries=$(sed -n 's/.*pkg-config --cflags --libs \([^)]*\)).*/\1/p' "$EXAMPLES/$1")
	# shellcheck disable=SC2046,SC2086  # words
	$compiler -Wall -Wextra -Werror -o "$2" "$EXAMPLES/$1" $(pkg-config --cflags --libs $libraries) ||
		fail "$1 does not build"
}

# example_says PROGRAM REGEX ARGUMENT...
example_says() {
	local program=$1 regex=$2 said status=0
	shift 2
	said=$("$program" "$@" 2>&1) || status=$?
	equal "status of $(basename "$program") $*, which said: $said" 0 "$status"
	matches "what $(basename "$program") says" "$regex" "$said"
}
