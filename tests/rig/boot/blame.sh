# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Whether a run of the lab deserves another. Sourced by those who run it (tests/check, bench/run), with pipefail set.

# emulators_fault STATUS SAID - prints how the emulator let down the guest of a run that ended with STATUS and printed what
# is in the file SAID: by itself, or by a kernel that died or stalled before anything of the project ran (verdict.sh,
# run.sh). On a busy host this happens to one guest of many. Fails where the guest itself is to blame.
emulators_fault() {
	local -r faults='the emulator lost a|the kernel died before its first program:|the kernel does not come up:?'
	(($1 == 125)) && grep -oE "($faults) .*" "$2" | tail -n 1
}
