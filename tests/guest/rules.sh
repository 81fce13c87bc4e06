# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# p2pmem's verdicts, and what the doctor predicts from sysfs, against the kernel's own rules (drivers/pci/p2pdma.c), asked by a test module about each region and
# each PCI function: nothing that the kernel refuses is allowed. Once as booted, then with ACS set in other ways.

# shellcheck source=helpers/doctor.sh
. helpers/doctor.sh

readonly ACS_WAYS=(04 08 20) # redirection of requests, of completions, egress control

insmod_rules() {
	[[ -d /sys/module/rules ]] || insmod /opt/donard/modules/rules.ko
}

pairs_agree() {
	local status=0
	rules pairs >"$WORK/pairs" 2>&1 || status=$?
	((status == 0)) || { grep WRONG "$WORK/pairs"; fail "$*: $(tail -n 1 "$WORK/pairs")"; }
	printf '%s: %s\n' "$*" "$(tail -n 1 "$WORK/pairs")"
	# Not as an argument of printf, which would succeed even if the command failed.
	printf '%s: ' "$*"
	doctor_agrees
}

# functions_with_acs - those whose ACS can be set.
functions_with_acs() {
	local device bdf
	for device in /sys/bus/pci/devices/*; do
		bdf=${device##*/}
		! setpci -s "$bdf" ECAP_ACS+6.w >/dev/null 2>&1 || echo "$bdf"
	done
}

# acs BDF BITS
acs() {
	setpci -s "$1" "ECAP_ACS+6.w=00$2:ffff"
}

restored() {
	at_end "setpci -s $1 ECAP_ACS+6.w=$(setpci -s "$1" ECAP_ACS+6.w)"
}

as_booted() {
	pairs_agree "as booted"
}

acs_of_each() {
	local -a with_acs
	local bdf bits set=0
	mapfile -t with_acs < <(functions_with_acs)
	((${#with_acs[@]})) || fail "no function has ACS"
	for bdf in "${with_acs[@]}"; do
		restored "$bdf"
		acs "$bdf" 00
	done
	pairs_agree "no ACS"
	for bdf in "${with_acs[@]}"; do
		for bits in "${ACS_WAYS[@]}"; do
			acs "$bdf" "$bits"
			# Skips bits that the emulator does not allow to be set.
			[[ $(setpci -s "$bdf" ECAP_ACS+6.w) == *"$bits" ]] || continue
			set=$((set + 1))
			pairs_agree "ACS $bits of $bdf"
		done
		acs "$bdf" 00
	done
	for bdf in "${with_acs[@]}"; do
		acs "$bdf" 0c
	done
	pairs_agree "ACS of all"
	((set > 0)) || fail "no bit of ACS can be set, so that nothing was shown"
}

insmod_rules
t "as booted" as_booted
t "ACS of each port" acs_of_each
