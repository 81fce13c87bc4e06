# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The non-transparent bridge between the two machines, by the kernel's own clients. Sourced by suites, from their directory.

# shellcheck source=fabric.sh
. helpers/fabric.sh

# One client at a time has the bridge.
readonly CLIENTS=(ntb_netdev ntb_transport ntb_perf ntb_pingpong ntb_tool)

# sh_on here|peer SCRIPT [ARG...] - SCRIPT with $DIR, the files of ntb_tool there.
sh_on() {
	local where=$1 script=$2
	shift 2
	on "$where" bash -euo pipefail -c "DIR=\$(echo /sys/kernel/debug/ntb_tool/*); $script" bash "$@" </dev/null
}

# tool here|peer FILE - what ntb_tool says there.
tool() {
	sh_on "$1" "cat \"\$DIR/\$1\"" "$2"
}

# tell here|peer FILE WORDS - writes to ntb_tool. Its writes to the bridge are posted, so a read waits for them.
tell() {
	sh_on "$1" "echo \"\$2\" >\"\$DIR/\$1\"; cat \"\$DIR/db\" >/dev/null" "$2" "$3"
}

load_client() {
	insmod "/opt/lab/ntb/$1.ko" "${@:2}"
	labctl peer insmod "/opt/lab/ntb/$1.ko" "${@:2}" </dev/null
}

# Gives up ntb_tool's windows first: it would remove their files after their folder, which goes wrong (6.1 to 7.3).
unload_clients() {
	local window module
	for window in /sys/kernel/debug/ntb_tool/*/peer0/{,peer_}mw_trans?; do
		[[ ! -e $window ]] || echo 0:0 >"$window" || echo 0 >"$window"
	done 2>/dev/null
	for module in "${CLIENTS[@]}"; do
		[[ ! -d /sys/module/$module ]] || rmmod "$module"
	done
}

unload_clients_on_both() {
	unload_clients
	labctl peer bash -c "$(declare -p CLIENTS); $(declare -f unload_clients); unload_clients" </dev/null
}

# link_is here|peer Y|N
link_is() {
	[[ $(tool "$1" peer0/link) == "$2" ]]
}

both_links_are() {
	link_is here "$1" && link_is peer "$1"
}

# with_tool - ntb_tool at both ends with the link up, until the end of the test.
with_tool() {
	at_end unload_clients_on_both
	load_client ntb_tool
	within 20 both_links_are Y
}

# bridge_counts - counted WORD... counts from this moment on.
bridge_counts() {
	labctl ntb counts >"$WORK/counts"
	BRIDGE_FROM=$(stat -c %s /mnt/lab/ntb.log)
}

# counted NAME WHAT [WHICH] - prints the bridge's count since bridge_counts; 0 if it is not listed.
counted() {
	local key="$* "
	labctl ntb counts >"$WORK/counts.now"
	awk -v key="$key" 'index($0, key) == 1 { seen[FILENAME] = $NF }
		END { print seen[ARGV[2]] - seen[ARGV[1]] }' "$WORK/counts" "$WORK/counts.now"
}

# bytes_at NAME read|write START LENGTH - of the bridge's trace since bridge_counts, those at these addresses of the other
# machine.
bytes_at() {
	labctl ntb counts >/dev/null # it writes what it has not written yet
	tail -c "+$((BRIDGE_FROM + 1))" /mnt/lab/ntb.log >"$WORK/bridge"
	local kind name address bytes sum=0
	while read -r kind name _ address bytes; do
		[[ $kind == "ntb_$2" && $name == "$1" ]] || continue
		((address < $3 || address + bytes > $3 + $4)) || sum=$((sum + bytes))
	done <"$WORK/bridge"
	echo "$sum"
}
