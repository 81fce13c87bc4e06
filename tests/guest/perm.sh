# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Who may do what: "user" is in the group p2pmem, "other" is not.

# shellcheck source=helpers/container.sh
. helpers/container.sh

mode_of() {
	stat -c '%a %U:%G' "$1"
}

nodes() {
	local node
	for node in /dev/p2pmem[0-9]*; do
		equal "mode of $node" "660 root:p2pmem" "$(mode_of "$node")"
	done
	for node in /sys/class/p2pmem/p2pmem[0-9]*/{holders,unrouted}; do
		equal "mode of $node" "440 root:p2pmem" "$(mode_of "$node")"
	done
	equal "mode of the control node" "600 root:root" "$(mode_of /dev/p2pmem_control)"
}

group_may() {
	chmod 1777 "$WORK"
	random_file "$WORK/data" "$MIB"
	chmod 644 "$WORK/data"
	as user regio write p2pmem0 0 "$MIB" "$WORK/data" || fail "user cannot write"
	as user regio read p2pmem0 0 "$MIB" "$WORK/seen" || fail "user cannot read"
	same_bytes "what user wrote" "$WORK/seen" "$WORK/data" "$MIB"
}

others_may_not() {
	exits 1 'Permission denied' as other regio read p2pmem0 0 4096 /dev/null
	exits 1 'denied. Join its group .*p2pmem.*, or run as root' \
		as other donard-cli copy p2pmem0 p2pmem0+64M --size 4096
}

# Facts that only the node provides are shown as unknown, with the reason.
others_see_what_is_public() {
	local seen
	exits 0 'granule +not known.*bus_address +not known.*unknown +p2pmem0.*denied' \
		as other donard-cli info p2pmem0
	seen=$(as other donard-cli info p2pmem0 --json)
	equal "of the node, as JSON" '[null,null]' "$(jq -c '[.granule, .bus_address]' <<<"$seen")"
}

anyone_may_list() {
	exits 0 'p2pmem0' as other donard-cli list
	exits 0 "$LAB_ALPHA_BDF +p2pmem0 +unknown +- +p2pmem0.*Permission denied" as other donard-cli topo
	equal "of what nobody could ask, as JSON" '["unknown",null,null]' \
		"$(as other donard-cli topo --json | jq -c '[.routes[] | [.route, .distance, .translated]] | unique[]')"
}

# Only root and the group may see whose processes use a region.
holders_are_not_public() {
	local pid
	holder mapping p2pmem0 "$MIB" "$LAB_ALPHA" >"$WORK/holder" 2>&1 &
	pid=$!
	at_end "kill -KILL $pid"
	within 10 grep -q ready "$WORK/holder"
	exits 1 'Permission denied' as other cat /sys/class/p2pmem/p2pmem0/holders
	exits 0 'holders +not shown: only root and the region.s group' as other donard-cli info p2pmem0
	equal "holders for others, as JSON" null "$(as other donard-cli info p2pmem0 --json | jq -c .holders)"
	exits 0 "holders +holder \\(pid $pid\\)" as user donard-cli info p2pmem0
	exits 0 'unrouted +not shown: only root and the region.s group' as other donard-cli info p2pmem0
	equal "unrouted for others, as JSON" null "$(as other donard-cli list --json | jq -c '.regions[0].unrouted')"
}

# printable WHAT TEXT - of ASCII, and no line that moves a cursor.
printable() {
	local LC_ALL=C other=$'[^[:print:]\n]'
	# shellcheck disable=SC2053  # a pattern
	[[ $2 != *$other* ]] || fail "$1 is not printable: $(printf %q "$2")"
}

# A process names itself: no name is another line, or a command of root's terminal.
names_forge_nothing() {
	local forged=$'a\n1 init 9 0\e\x9b' pid seen
	cp "$(command -v holder)" "$WORK/$forged"
	"$WORK/$forged" mapping p2pmem0 "$MIB" "$LAB_ALPHA" >"$WORK/said" 2>&1 &
	pid=$!
	at_end "kill -KILL $pid"
	within 10 grep -q ready "$WORK/said"
	equal "holders" "$pid a\\x0a1 init 9 0\\x1b\\x9b $MIB 0" "$(attr p2pmem0 holders)"
	seen=$(donard-cli info p2pmem0 --json)
	equal "pids in JSON" "[$pid]" "$(jq -c '[.holders[].pid]' <<<"$seen")"
	printable JSON "$seen"
	seen=$(donard-cli info p2pmem0)
	printable info "$seen"
	matches info 'holders +"a.x0a1 init 9 0.x1b.x9b" .pid' "$seen"
	seen=$(donard-cli region remove p2pmem0 --if-idle 2>&1) && fail "p2pmem0 was removed"
	printable "the refusal" "$seen"
	matches "the refusal" "held by \"a.x0a1 init 9 0.x1b.x9b\" .pid $pid." "$seen"
	equal "lines of the refusal" 1 "$(wc -l <<<"$seen")"
}

# Holders that do not fit into a page are counted.
many_holders() {
	local fd said shown me=$BASHPID
	for ((said = 0; said < 400; said++)); do
		# shellcheck disable=SC2034  # open until the test ends
		exec {fd}<>/dev/p2pmem0
	done
	shown=$(attr p2pmem0 holders | grep -c "^$me bash 0 0\$")
	equal "the last line" "and $((400 - shown)) more" "$(attr p2pmem0 holders | tail -n 1)"
	equal "in JSON" "$shown $((400 - shown))" \
		"$(donard-cli info p2pmem0 --json | jq -r '"\(.holders | length) \(.holders_left_out)"')"
	matches info "holders +bash .*and $((400 - shown)) more" "$(donard-cli info p2pmem0)"
}

# No pid is shown that a reader in another PID namespace could mistake for one of its own processes.
pids_are_the_readers() {
	exec 5<>/dev/p2pmem0
	equal "from outside" "$BASHPID bash 0 0" "$(attr p2pmem0 holders)"
	equal "from inside" "0 bash 0 0" "$(unshare --pid --fork cat /sys/class/p2pmem/p2pmem0/holders)"
	exec 5>&-
	# shellcheck disable=SC2016
	equal "of one inside" "1 bash 0 0" \
		"$(unshare --pid --fork bash -c 'exec 5<>/dev/p2pmem0; cat /sys/class/p2pmem/p2pmem0/holders')"
}

# The process that opened the region has ended; the one that has it now is named.
heirs_are_holders() {
	local child
	child=$(bash -c 'exec 5<>/dev/p2pmem0; sleep 1000 >/dev/null & echo $!')
	at_end "kill $child"
	within 10 grep -qx sleep "/proc/$child/comm"
	equal "holders" "$child sleep 0 0" "$(attr p2pmem0 holders)"
}

# heir_holds KIND - the memory without a descriptor of the region, which the process that opened it left behind.
heir_holds() {
	local child
	holder "$1" p2pmem0 "$MIB" >"$WORK/holder" 2>&1 || fail "holder: $(cat "$WORK/holder")"
	within 10 grep -q ready "$WORK/holder"
	child=$(sed -n 's/^pid //p' "$WORK/holder")
	at_end "kill -KILL $child 2>/dev/null"
	equal "holders, by $1" "$child holder $MIB 0" "$(attr p2pmem0 holders)"
	exits 1 "held by holder .pid $child." donard-cli region remove p2pmem0 --if-idle
	kill -KILL "$child"
	within 10 region_is_free p2pmem0
}

heirs_of_mappings_are_holders() {
	heir_holds heir
	heir_holds dmabuf
}

# The same user id in another user namespace counts as another user, since any number of containers may map it.
leftovers_stay_in_their_namespace() {
	random_file "$WORK/data" "$MIB"
	head -c "$MIB" /dev/zero >"$WORK/zeros"
	without_capability regio write p2pmem0 0 "$MIB" "$WORK/data"
	unshare --user --map-root-user regio read p2pmem0 0 "$MIB" "$WORK/seen"
	same_bytes "what another namespace sees" "$WORK/seen" "$WORK/zeros" "$MIB"
	unshare --user --map-root-user regio write p2pmem0 0 "$MIB" "$WORK/data"
	unshare --user --map-root-user regio read p2pmem0 0 "$MIB" "$WORK/seen"
	same_bytes "what the next one of that kind sees" "$WORK/seen" "$WORK/zeros" "$MIB"
}

# Seeing left-over bytes takes the capability, which other programs of the same user do not have.
leftovers_stay_with_the_capability() {
	random_file "$WORK/data" "$MIB"
	head -c "$MIB" /dev/zero >"$WORK/zeros"
	as user regio write p2pmem0 0 "$MIB" "$WORK/data"
	regio read p2pmem0 0 "$MIB" "$WORK/seen"
	same_bytes "what root sees" "$WORK/seen" "$WORK/data" "$MIB"
	without_capability regio read p2pmem0 0 "$MIB" "$WORK/seen"
	same_bytes "what its uid alone sees" "$WORK/seen" "$WORK/zeros" "$MIB"
}

# Nobody has seen what a call that failed took and gave back.
leftovers_stay_over_failed_calls() {
	random_file "$WORK/data" "$MIB"
	as user regio write p2pmem0 $((8 * MIB)) "$MIB" "$WORK/data"
	python3 - "$(attr p2pmem0 size)" <<-'END'
		import errno, mmap, os, sys
		def mapped(length):
		    return mmap.mmap(os.open("/dev/p2pmem0", os.O_RDWR), length)
		held = mapped(4096)
		try:
		    mapped(int(sys.argv[1]))
		    sys.exit("all of it was mapped although a part is held")
		except OSError as error:
		    if error.errno != errno.ENOSPC:
		        raise
	END
	within 10 region_is_free p2pmem0
	: >"$WORK/seen"
	chmod 0666 "$WORK/seen"
	as user regio read p2pmem0 $((8 * MIB)) "$MIB" "$WORK/seen"
	same_bytes "what its user finds" "$WORK/seen" "$WORK/data" "$MIB"
}

user_may_not_add() {
	exits 1 'Only root.*CAP_SYS_RAWIO' as user donard-cli region add --kind pci-bar \
		--device "$LAB_GPU_BDF" --bar 2
	exits 1 'Only root.*CAP_SYS_RAWIO' as user donard-cli region remove p2pmem0
	exits 1 'Only root.*CAP_SYS_RAWIO' as user donard-cli region set p2pmem0 --page-type generic
	region_exists p2pmem0 || fail "p2pmem0 is gone"
}

user_may_not_set_page_type() {
	exits 1 'ermission' as user bash -c 'echo generic >/sys/class/p2pmem/p2pmem0/page_type'
}

# Root without the capability is refused: the calls themselves check it, and not only the modes of the nodes.
without_capability() {
	setpriv --bounding-set -sys_rawio --inh-caps -sys_rawio "$@"
}

capability_is_checked() {
	dmesg -C
	exits 0 'EPERM.*CAP_SYS_RAWIO' without_capability uapi control-without-capability "$LAB_GPU_BDF"
	exits 1 'not permitted' without_capability bash -c 'echo generic >/sys/class/p2pmem/p2pmem0/page_type'
	exits 1 'not permitted' without_capability bash -c 'echo 1 >/sys/class/p2pmem/p2pmem0/pinned_importers'
	equal "pinned_importers" 0 "$(attr p2pmem0 pinned_importers)"
	exits 1 'page type cannot be set.*Only root.*CAP_SYS_RAWIO' \
		without_capability donard-cli region set p2pmem0 --page-type generic
	exits 0 'pinned_importers cannot be set: CAP_SYS_RAWIO is missing' dmesg
}

# Root of a container copies both ways with two nodes, also where a seccomp filter refuses io_uring.
container_copies() {
	local filter
	with_drive_of_user
	random_file "$WORK/data" $((4 * MIB))
	put_on_drive "$WORK/data" "$LAB_BETA" 0
	for filter in env "forbid EPERM io_uring"; do
		# shellcheck disable=SC2034,SC2206  # copy(); words
		CLI=(in_container $filter donard-cli)
		copy "$LAB_BETA" p2pmem0 --size 4M --verify
		result_is $((4 * MIB)) switch 0
		equal "evidence" proven "$(field route_evidence)"
		copy p2pmem0 "$LAB_BETA" --size 4M --dst-offset 8M --verify
		result_is $((4 * MIB)) switch 0
		equal "evidence" proven "$(field route_evidence)"
	done
	exits 1 'p2pmem1' in_container donard-cli copy "$LAB_BETA" p2pmem1 --size 4096
	exits 1 'p2pmem_control' in_container donard-cli region remove p2pmem0
}

# These options are in docs/containers.md. In the engine's own user namespace, a bound node belongs to nobody.
nspawn_copies() {
	with_nspawn
	random_file "$WORK/data" $((4 * MIB))
	put_on_drive "$WORK/data" "$LAB_BETA" 0
	# shellcheck disable=SC2034  # copy()
	CLI=(in_nspawn donard-cli)
	copy "$LAB_BETA" p2pmem0 --size 4M --verify
	result_is $((4 * MIB)) switch 0
	equal "evidence" proven "$(field route_evidence)"
	copy p2pmem0 "$LAB_BETA" --size 4M --dst-offset 8M --verify
	result_is $((4 * MIB)) switch 0
	exits 1 'p2pmem1' in_nspawn donard-cli copy "$LAB_BETA" p2pmem1 --size 4096
	exits 1 'cannot be opened: .*user namespace' in_nspawn --private-users=pick donard-cli copy "$LAB_BETA" p2pmem0 --size 4096
}

core t "modes of the nodes" nodes
core t "the group may use regions" group_may
core t "others may not" others_may_not
core t "others see what is public" others_see_what_is_public
core t "anyone may list" anyone_may_list
core t "holders are not public" holders_are_not_public
core t "names forge nothing" names_forge_nothing
t "many holders" many_holders
t "pids are the reader's" pids_are_the_readers
t "heirs are holders" heirs_are_holders
t "heirs of mappings are holders" heirs_of_mappings_are_holders
core t "leftovers stay in their user namespace" leftovers_stay_in_their_namespace
core t "leftovers stay with the capability" leftovers_stay_with_the_capability
t "leftovers stay over calls that fail" leftovers_stay_over_failed_calls
core t "a user may not add or remove" user_may_not_add
core t "a user may not change the page type" user_may_not_set_page_type
core t "the capability is checked" capability_is_checked
t "a container copies" container_copies
t "a container of systemd-nspawn copies" nspawn_copies
