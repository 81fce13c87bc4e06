# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Topologies drawn at random, the same ones for the same seed: root ports with functions, switches or bridges to
# conventional PCI below, an IOMMU or none, a root complex that forwards or not. Sourced, never run.

# Ports that take functions, and how many each has; conventional buses, which only the BAR's function may be on.
LEAVES=() CONVENTIONAL=()
declare -A TAKEN=()

# grow PORT DEPTH - what lies below it.
grow() {
	local port=$1 depth=$2
	case $((RANDOM % 4)) in
	0)
		qemu_arg -device "pcie-pci-bridge,id=$port-pci,bus=$port"
		CONVENTIONAL+=("$port-pci")
		;;
	1 | 2)
		((depth < 3)) || { LEAVES+=("$port"); return; }
		pcie_switch "$port-sw" "$port" "$port-a" "$port-b"
		grow "$port-a" $((depth + 1))
		grow "$port-b" $((depth + 1))
		;;
	*) LEAVES+=("$port") ;;
	esac
}

# take_place - leaves in $PLACE where the next function goes: often beside another one.
take_place() {
	local leaf=${LEAVES[RANDOM % ${#LEAVES[@]}]}
	PLACE=$leaf,addr=0.${TAKEN[$leaf]:-0},multifunction=on
	TAKEN[$leaf]=$((${TAKEN[$leaf]:-0} + 1))
}

place_gpu() {
	if ((${#CONVENTIONAL[@]} && RANDOM % 2)); then
		gpu "${CONVENTIONAL[0]},addr=1"
	else
		take_place
		gpu "$PLACE"
	fi
}

# generated SEED
generated() {
	RANDOM=$1
	one_processor
	if ((RANDOM % 2)); then
		machine intel-iommu,intremap=off
		kernel_arg intel_iommu=on
	fi
	((RANDOM % 3)) || processor family=25
	root_port rp0
	root_port rp1
	root_port rp2
	LEAVES=(rp2)
	grow rp0 1
	grow rp1 1
	place_gpu
	take_place
	alpha "$PLACE"
	take_place
	beta "$PLACE"
}
