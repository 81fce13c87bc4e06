# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Whether a run of the lab deserves another. Sourced by those who run it (tests/check, bench/run), with pipefail set.

# emulators_fault STATUS SAID - of a run that ended with STATUS and said what is in the file SAID: how the emulator let
# its guest down (verdict.sh), as it does on a busy host in one guest of many. Fails where the guest itself is to blame.
emulators_fault() {
	(($1 == 125)) && grep -oE 'the emulator (lost a|let the kernel down) .*' "$2" | tail -n 1
}
