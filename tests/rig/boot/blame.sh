# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Whether a run of the lab deserves another. Sourced by those who run it (tests/check, bench/run), with pipefail set.

# emulators_fault STATUS SAID - of a run that ended with STATUS and said what is in the file SAID: how the emulator let
# its guest down, or a kernel died or stalled before anything of the project ran (verdict.sh, run.sh), as happens on a busy
# host in one guest of many. Fails where the guest itself is to blame.
emulators_fault() {
	local -r faults='the emulator lost a|the kernel died before its first program:|the kernel does not come up:?'
	(($1 == 125)) && grep -oE "($faults) .*" "$2" | tail -n 1
}
