# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# donard-cli top, the candidates for regions, and what bench overwrites, with a sysfs made up for them. Sourced by tests/check,
# never run.

# top_tree - $LOGS/top has one region and one drive.
top_tree() {
	local tree=$LOGS/top file
	local region=$tree/class/p2pmem/p2pmem0 controller=$tree/devices/nvme0
	rm -rf "$tree"
	mkdir -p "$region/statistics" "$tree/class/nvme" "$tree/block" "$controller/nvme0n1"
	for file in kind=pci-bar bdf=0000:03:00.0 bar=2 offset=0 size=268435456 available=134217728 page_type=generic \
		memtype=wc persistent=0 pinned_importers=0 state=ready unrouted= 'holders=12 my tool 4096 1'; do
		printf '%s\n' "${file#*=}" >"$region/${file%%=*}"
	done
	for file in maps=10 faults=20 pins=1 routes=2 read_bytes=0 written_bytes=0 taken_bytes=134217728 peak_bytes=134217728; do
		printf '%s\n' "${file#*=}" >"$region/statistics/${file%%=*}"
	done
	for file in transport=pcie address=0000:04:00.0 state=live model=M serial=S; do
		printf '%s\n' "${file#*=}" >"$controller/${file%%=*}"
	done
	echo '5 0 8 0 6 0 16 0 3 0 0' >"$controller/nvme0n1/stat"
	ln -s "$controller" "$tree/class/nvme/nvme0"
	ln -s "$controller/nvme0n1" "$tree/block/nvme0n1"
	export DONARD_SYSFS_ROOT=$tree DONARD_DEV_ROOT=$tree
}

# in_top_tree FUNCTION...
in_top_tree() (
	top_tree
	"$@"
)

top_without_module() {
	# The largest count is one.
	says 3 'not loaded' "$BUILD/donard-cli" top --count 1000000000 &&
		[[ $("$BUILD/donard-cli" top --json 2>/dev/null) == '{'*'"code":"no-module"'*'}' ]]
}

top_json() {
	"$BUILD/donard-cli" top --json --count 2 >"$LOGS/top.json" || return
	cat "$LOGS/top.json"
	python3 - "$LOGS/top.json" <<-'END'
		import json, sys
		first, second = map(json.loads, open(sys.argv[1]))
		assert first["seconds"] is None and second["seconds"] > 0, (first["seconds"], second["seconds"])
		assert first["time_seconds"] > 0 and second["time_seconds"] > 0, (first, second)
		region, drive = first["regions"][0], first["drives"][0]
		assert (region["name"], region["maps"], region["peak_bytes"], region["available"]) == ("p2pmem0", 10, 1 << 27, 1 << 27)
		assert region["holders"] == [{"pid": 12, "command": "my tool", "bytes": 4096, "pinned_pages": 1}], region
		assert drive == {"name": "nvme0n1", "reads": 5, "read_bytes": 4096, "writes": 6, "written_bytes": 8192, "in_flight": 3}
	END
}

top_without_holders() {
	[[ $("$BUILD/donard-cli" top --count 1) == *'my tool'* ]] || return
	[[ $("$BUILD/donard-cli" top --count 1 --no-holders) != *'my tool'* ]] || return
	[[ $("$BUILD/donard-cli" top --count 1 --no-holders) != *'shown to root'* ]] || return
	[[ $("$BUILD/donard-cli" top --count 1 --no-holders --json) == *'"holders":null'* ]]
}

# A region whose group the user is not in. Even root cannot read a folder as a file.
top_hides_one() {
	local hidden=$LOGS/top/class/p2pmem/p2pmem1 shown
	cp -r "$LOGS/top/class/p2pmem/p2pmem0" "$hidden"
	rm "$hidden/holders"
	mkdir "$hidden/holders"
	shown=$("$BUILD/donard-cli" top --count 1)
	echo "$shown"
	[[ $shown == *p2pmem1*'my tool'*"is shown to root and that region's group"* ]]
}

# Nothing is available of a GPU's region, nor of a pmem device.
top_knows_no_owner() {
	local region=$LOGS/top/class/p2pmem/p2pmem0 shown
	echo 0 >"$region/available"
	cp -r "$region" "${region%0}1"
	cp -r "$region" "${region%0}2"
	echo gpu-nvidia >"${region%0}1/kind"
	echo pmem >"${region%0}2/page_type"
	shown=$("$BUILD/donard-cli" top --count 1)
	echo "$shown"
	grep -qE '^p2pmem0 +ready +256 MiB +256 MiB' <<<"$shown" && grep -qE '^p2pmem1 +ready +- +256 MiB' <<<"$shown" &&
		grep -qE '^p2pmem2 +ready +- +256 MiB' <<<"$shown"
}

# top_says REGEX TIMES - the top that runs has written as many such lines: soon, or it fails.
top_says() {
	local i
	for ((i = 0; i < 10 * HANG_SECONDS; i++)); do
		(($(grep -cE "$1" "$LOGS/top.txt") < $2)) || return 0
		sleep 0.1
	done
	printf 'expected %s lines like %s; it said:\n' "$2" "$1"
	cat "$LOGS/top.txt"
	return 1
}

# put VALUE FILE - in one step, as sysfs has it.
put() {
	printf '%s\n' "$1" >"$2.new" && mv "$2.new" "$2"
}

# Rates of fields that changed between two samples, and of those that did not. Another region or drive with the same name has none yet.
top_changes() {
	local tree=$LOGS/top region=$LOGS/top/class/p2pmem/p2pmem0
	local owned='^p2pmem0 +ready +128 MiB +256 MiB +128 MiB'
	top_says "$owned +- +- +- +- +-\$" 1 && top_says '^p2pmem0  12   my tool  4 KiB  1' 1 || return
	put 1010 "$region/statistics/maps"
	top_says "$owned +[1-9][0-9]* +0 +0 +0 +0\$" 1 || return
	put '5 0 2097160 0 6 0 16 0 0 0 0' "$tree/devices/nvme0/nvme0n1/stat"
	top_says '^nvme0n1 +0 +[1-9][0-9.]* MiB/s +0 +0 +0$' 1 || return
	put '5 0 8 0 6 0 16 0 1 0 0' "$tree/devices/nvme0/nvme0n1/stat"
	top_says '^nvme0n1 +- +- +- +- +1$' 1 || return
	put 4096 "$region/statistics/taken_bytes"
	top_says "$owned +- +- +- +- +-\$" 2 || return
	put 0000:05:00.0 "$region/bdf"
	top_says "$owned +- +- +- +- +-\$" 3
}

top_rates() {
	local pid status=0
	"$BUILD/donard-cli" top >"$LOGS/top.txt" &
	pid=$!
	top_changes || status=1
	kill "$pid"
	wait "$pid"
	(($? == 130 && !status))
}

# A holder's command name may hold any byte, and must not control the terminal.
top_escapes() {
	local said
	printf '12 a\033[31mb\302\233c\177 4096 1\n' >"$LOGS/top/class/p2pmem/p2pmem0/holders"
	said=$("$BUILD/donard-cli" top --count 1) || return
	printf '%s\n' "$said"
	[[ $said == *'12   a\x1b[31mb\xc2\x9bc\x7f  4 KiB'* && $said != *$'\033'* ]]
}

# one_bar - the card that has the region, for what looks at its memory as well.
one_bar() {
	local card=$LOGS/top/bus/pci/devices/0000:03:00.0
	mkdir -p "$card"
	{
		printf '0x0 0x0 0x0\n%.0s' 0 1
		echo 0x380000000000 0x38000fffffff 0x14220c
	} >"$card/resource"
}

# A region that ends only when its holders let go is none to look for, and leaves its section to one that is there.
leaving_is_not_present() {
	local regions=$LOGS/top/class/p2pmem conf=$LOGS/leaving
	local -a apply=(region apply --dry-run --config "$LOGS/leaving")
	one_bar
	mkdir -p "$conf"
	printf '[a]\npath = pci-0000:03:00.0\nkind = pci-bar\nbar = 2\nmode = 0600\n' >"$conf/regions.conf"
	cli_exits 0 'a +present +p2pmem0' "${apply[@]}" || return
	echo draining >"$regions/p2pmem0/state"
	cli_exits 1 "a: p2pmem0 is draining: 'donard-cli info p2pmem0' names its holders" "${apply[@]}" || return
	echo quarantined >"$regions/p2pmem0/state"
	cli_exits 0 'a +absent' "${apply[@]}" || return
	cli_exits 0 '^donard-cli region add --kind pci-bar --device 0000:03:00.0 --bar 2$' region candidates || return
	cli_exits 0 'p2pmem/by-name/a$' region identity p2pmem0 --config "$conf" || return
	printf '[b]\npath = pci-0000:03:00.0\nkind = pci-bar\nbar = 2\noffset = 2M\nlength = 2M\n' >>"$conf/regions.conf"
	echo draining >"$regions/p2pmem0/state"
	cli_exits 1 "b: p2pmem0 is draining" "${apply[@]}" || return
	sed -i '/^\[b\]/,$d' "$conf/regions.conf"
	echo quarantined >"$regions/p2pmem0/state"
	cp -r "$regions/p2pmem0" "$regions/p2pmem1"
	echo ready >"$regions/p2pmem1/state"
	cli_exits 0 'a +present +p2pmem1' "${apply[@]}" || return
	cli_exits 0 '^DONARD_MODE=0600$' region identity p2pmem1 --config "$conf"
}

# A BAR of 20 regions, whose names are all there.
candidates_name_all() {
	local tree=$LOGS/top i
	one_bar
	for i in {1..19}; do
		cp -r "$tree/class/p2pmem/p2pmem0" "$tree/class/p2pmem/p2pmem$i"
	done
	"$BUILD/donard-cli" region candidates --json >"$LOGS/candidates" 2>/dev/null || return
	cat "$LOGS/candidates"
	python3 - "$LOGS/candidates" <<-'END'
		import json, sys
		(candidate,) = json.load(open(sys.argv[1]))["candidates"]
		assert set(candidate["region"].split()) == {f"p2pmem{i}" for i in range(20)}, candidate
	END
}

# bench asks for consent before it opens anything, since the region's content may be wanted. With consent, it fails for another reason.
bench_asks_of_persistent() {
	local command why='p2pmem0: its memory is persistent.* another region, or give --allow-persistent'
	echo 1 >"$LOGS/top/class/p2pmem/p2pmem0/persistent"
	for command in copy queue; do
		cli_exits 1 "$why" bench "$command" /dev/nowhere p2pmem0 --meter none &&
			json_of 1 'it["error"]["code"] == "persistent"' bench "$command" /dev/nowhere p2pmem0 --meter none --json &&
			cli_exits 1 '/dev/nowhere: No such file' bench "$command" /dev/nowhere p2pmem0 --meter none --allow-persistent || return
	done
	echo 0 >"$LOGS/top/class/p2pmem/p2pmem0/persistent"
	cli_exits 1 '/dev/nowhere: No such file' bench copy /dev/nowhere p2pmem0 --meter none || return
	echo 1 >"$LOGS/top/class/p2pmem/p2pmem0/persistent"
	cli_exits 1 "$why" bench rdma 127.0.0.1 --local p2pmem0+4K --meter nowhere &&
		cli_exits 2 'nowhere' bench rdma 127.0.0.1 --local p2pmem0 --direction write --meter nowhere &&
		cli_exits 2 'nowhere' bench rdma 127.0.0.1 --local p2pmem0 --allow-persistent --meter nowhere &&
		cli_exits 1 "$why" bench table1 dram=127.0.0.1 --local p2pmem0+4K --meter nowhere &&
		cli_exits 2 'nowhere' bench table1 dram=127.0.0.1 --local p2pmem0 --allow-persistent --meter nowhere
}

top_at_terminal() {
	python3 tests/host/terminal.py "$BUILD/donard-cli" "$HANG_SECONDS"
}

run_top() {
	try "cli: top without the module" without_module top_without_module
	try "cli: top, no such interval" cli_exits 2 'not a number from 1 to 3600' top --interval 0
	try "cli: top, JSON" in_top_tree top_json
	try "cli: top, no holders" in_top_tree top_without_holders
	try "cli: top, holders of one region are hidden" in_top_tree top_hides_one
	try "cli: top, memory that no file owns" in_top_tree top_knows_no_owner
	try "cli: top, rates" in_top_tree top_rates
	try "cli: top, escapes in a name" in_top_tree top_escapes
	try "cli: region candidates, a BAR of many regions" in_top_tree candidates_name_all
	try "cli: region apply, a region on its way out" in_top_tree leaving_is_not_present
	try "cli: bench, persistent memory" in_top_tree bench_asks_of_persistent
	try "cli: top at a terminal" in_top_tree top_at_terminal
}
