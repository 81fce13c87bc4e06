# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What doctor's probe says of an RDMA NIC: tests of rdma.sh, which sources this. The lab has no NIC with a PCI function, so the
# soft device is shown as that of a drive below the switch: the loopback is a real one, and the DMA is the CPU's.

# shellcheck source=helpers/doctor.sh
. helpers/doctor.sh

# play_nic BDF - in $WORK/nic, for /sys/class/infiniband.
play_nic() {
	local real entry folder=$WORK/nic/$LAB_RDMA_DEVICE
	real=$(readlink -f "/sys/class/infiniband/$LAB_RDMA_DEVICE")
	mkdir -p "$folder"
	for entry in "$real"/*; do
		ln -sfn "$entry" "$folder/"
	done
	ln -sfn "$(readlink -f "/sys/bus/pci/devices/$1")" "$folder/device"
}

# probe_nic STATUS - its JSON in $RESULT.
probe_nic() {
	local status=0
	# shellcheck disable=SC2016  # the inner shell's
	RESULT=$(unshare --mount bash -euc 'mount --bind "$1" /sys/class/infiniband; exec donard-cli doctor --json --probe' \
		nic "$WORK/nic" 2>"$WORK/doctor.err") || status=$?
	equal "status of doctor ($(cat "$WORK/doctor.err")$RESULT)" "$1" "$status"
}

# of_nic REGION FILTER - prints the jq filter's answer about the NIC and this region.
of_nic() {
	jq -r ".pairs[] | select(.client == \"$LAB_RDMA_DEVICE\" and .memory == \"$1\") | $2" <<<"$RESULT"
}

nic_is_probed() {
	play_nic "$LAB_BETA_BDF"
	if [[ $LAB_FABRIC == siw ]]; then
		nic_is_not_probed 'it speaks iWARP'
	else
		nic_is_proven
	fi
	within 10 region_is_free p2pmem0
}

# The drive whose address it has owns p2pmem2, a PMR.
nic_is_proven() {
	local end=$((64 * MIB - 4096))
	random_file "$WORK/data" 4096
	regio write p2pmem2 "$end" 4096 "$WORK/data"
	probe_nic 0
	equal "each way, BAR" "proven proven proven" "$(of_nic p2pmem0 '"\(.read.state) \(.write.state) \(.evidence)"')"
	equal "each way, PMR" "proven proven" "$(of_nic p2pmem2 '"\(.read.state) \(.write.state)"')"
	regio read p2pmem2 "$end" 4096 "$WORK/seen"
	same_bytes "end of the persistent region" "$WORK/seen" "$WORK/data" 4096
	equal "verdict" ready "$(jq -r .verdict <<<"$RESULT")"
	if can p2pdma; then
		equal "each way, pages that it cannot register" "refused refused no" \
			"$(of_nic p2pmem1 '"\(.read.state) \(.write.state) \(.verdict)"')"
		matches "why" "$LAB_RDMA_DEVICE cannot register p2pmem1: its pages are of type p2pdma" "$(of_nic p2pmem1 .read.reason)"
	else
		equal "each way, CMB" "proven proven" "$(of_nic p2pmem1 '"\(.read.state) \(.write.state)"')"
		finds_not not-probed
	fi
}

# nic_is_not_probed REGEX - the prediction stays, and it says what else proves the pair.
nic_is_not_probed() {
	probe_nic 0
	equal "each way" "not-tried not-tried" "$(of_nic p2pmem0 '"\(.read.state) \(.write.state)"')"
	equal "prediction" "yes predicted" "$(of_nic p2pmem0 '"\(.verdict) \(.evidence)"')"
	matches "why" "^not probed: .*$1.*'donard-cli rdma serve' here" "$(of_nic p2pmem0 .read.reason)"
	matches "finding" 'were not proven both ways' "$(finds not-probed)"
}

nic_port_is_down() {
	play_nic "$LAB_BETA_BDF"
	at_end "ip link set wire0 up; within 10 port_is ACTIVE"
	ip link set wire0 down
	within 10 port_is DOWN
	nic_is_not_probed 'port 1 is not active'
}
