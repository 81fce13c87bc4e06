# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Regions that stay: what could be one, how they are saved and brought back, in another slot too, and what udev makes
# of them.

# shellcheck source=removal.sh
. ./removal.sh

readonly CONF=/etc/donard

# rt NAME FUNCTION [ARG...] - t, with no configuration before it and the lab's three regions behind it.
rt() {
	t "$1" with_regions "${@:2}"
}

with_regions() {
	at_end back_to_normal
	rm -rf "$CONF"
	"$@"
}

back_to_normal() {
	rm -rf "$CONF"
	[[ -d /sys/module/p2pmem ]] || insmod /opt/donard/modules/p2pmem.ko
	plug_all
	remove_all
	/opt/lab/regions >/dev/null
}

remove_all() {
	local region
	for region in /sys/class/p2pmem/p2pmem[0-9]*; do
		[[ ! -e $region ]] || donard-cli region remove "${region##*/}"
	done
}

# Plugs all devices in; those that are plugged in stay where they are.
plug_all() {
	stale_env
	[[ -n $LAB_GPU_BDF ]] || labctl plug gpu
	[[ -n $LAB_ALPHA_BDF ]] || labctl plug alpha
	[[ -n $LAB_BETA_BDF ]] || labctl plug beta
	wait_all
}

wait_all() {
	within 20 gpu_is_there
	labctl wait-drives
	stale_env
}

gpu_is_there() {
	stale_env
	[[ -n $LAB_GPU_BDF ]]
}

# Prints the regions' properties without their numbers.
regions_now() {
	donard-cli list --json |
		jq -r '.regions[] | "\(.kind) \(.bdf) \(.bar) \(.offset) \(.size) \(.page_type) \(.memtype)"' | sort
}

# statuses [ARGUMENT...] - "NAME STATUS" of region apply, whose own exit status stands in the last line.
statuses() {
	local status=0 out
	out=$(donard-cli region apply --json "$@" 2>"$WORK/apply.err") || status=$?
	jq -r '.regions[] | "\(.name) \(.status)"' <<<"$out"
	echo "exit $status"
}

# candidate KIND BDF KEY
candidate() {
	donard-cli region candidates --json | jq -r ".candidates[] | select(.kind == \"$1\" and .bdf == \"$2\") | .$3"
}

candidates_are_all_memory() {
	equal "size of the BAR" $((512 * MIB)) "$(candidate pci-bar "$LAB_GPU_BDF" size)"
	equal "size of the CMB" $((64 * MIB)) "$(candidate nvme-cmb "$LAB_ALPHA_BDF" size)"
	equal "size of the PMR" $((64 * MIB)) "$(candidate nvme-pmr "$LAB_BETA_BDF" size)"
	equal "driver of alpha" nvme "$(candidate nvme-cmb "$LAB_ALPHA_BDF" driver)"
	equal "serial of beta" beta "$(candidate nvme-pmr "$LAB_BETA_BDF" serial)"
	equal "regions made of the BAR" p2pmem0 "$(candidate pci-bar "$LAB_GPU_BDF" region)"
	exits 0 "nvme-pmr +$LAB_BETA_BDF .* 64 MiB +nvme +beta" donard-cli region candidates
}

# The printed commands can be run as they are.
commands_work() {
	local kind bdf
	remove_all
	rmmod p2pmem
	exits 0 "the driver nvme uses $LAB_BETA_BDF. The module can tell root whether this is" donard-cli region candidates
	insmod /opt/donard/modules/p2pmem.ko
	# Where its driver publishes none, the CMB is off, and says not where it lies.
	equal "candidates of alpha: $(donard-cli region candidates --json)" nvme-cmb \
		"$(donard-cli region candidates --json | jq -r ".candidates[] | select(.bdf == \"$LAB_ALPHA_BDF\") | .kind")"
	for kind in pci-bar:$LAB_GPU_BDF nvme-cmb:$LAB_ALPHA_BDF nvme-pmr:$LAB_BETA_BDF; do
		bdf=${kind#*:}
		equal "region of $kind" '' "$(candidate "${kind%%:*}" "$bdf" region)"
		eval "$(candidate "${kind%%:*}" "$bdf" command)" >/dev/null
		matches "region of $kind" '^p2pmem' "$(candidate "${kind%%:*}" "$bdf" region)"
	done
}

# Plays a reboot that keeps the disk.
regions_come_back() {
	local before part
	donard-cli region remove p2pmem0
	part=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --offset 64M --length 128M \
		--memtype uc --page-type generic)
	before=$(regions_now)
	donard-cli region save
	exits 0 'unchanged.*unchanged.*unchanged' donard-cli region save
	remove_all
	rmmod p2pmem
	exits 3 'modprobe p2pmem' donard-cli region apply
	insmod /opt/donard/modules/p2pmem.ko
	exits 0 'absent' donard-cli region apply --dry-run
	equal_none "regions after a dry run" regions_now
	equal "what apply did" $'bar2 added\ncmb-alpha added\npmr-beta added\nexit 0' "$(statuses | sed 's/^bar2-[^ ]*/bar2/')"
	equal "regions after apply" "$before" "$(regions_now)"
	equal "what apply did then" $'bar2 present\ncmb-alpha present\npmr-beta present\nexit 0' \
		"$(statuses | sed 's/^bar2-[^ ]*/bar2/')"
	equal "regions after another apply" "$before" "$(regions_now)"
	matches "the region that was added" '^p2pmem' "$part"
}

# No guest of the lab runs udev, so this checks the call of udevadm before the command ends.
udev_is_awaited() {
	local control=/run/udev/control
	mkdir -p "$WORK/bin" /run/udev
	at_end "rm -f $control"
	printf '#!/bin/sh\nsleep 0.3\necho "$*" >>%s\n' "$WORK/asked" >"$WORK/bin/udevadm"
	chmod +x "$WORK/bin/udevadm"
	remove_all
	PATH=$WORK/bin:$PATH donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF" >/dev/null
	[[ ! -e $WORK/asked ]] || fail "udevadm was started although udev does not run: $(<"$WORK/asked")"
	: >"$control"
	PATH=$WORK/bin:$PATH donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
	equal "what udevadm was told by region add" 'settle --timeout=5' "$(<"$WORK/asked")"
	three_sections
	PATH=$WORK/bin:$PATH donard-cli region apply >/dev/null
	equal "by region add and region apply" $'settle --timeout=5\nsettle --timeout=5' "$(<"$WORK/asked")"
	# A rule of udev that runs it would wait for its own event.
	remove_all
	PATH=$WORK/bin:$PATH ACTION=add DEVPATH=/devices/pci0000:00 SUBSYSTEM=pci SEQNUM=1 donard-cli region apply >/dev/null
	equal "in a rule" $'settle --timeout=5\nsettle --timeout=5' "$(<"$WORK/asked")"
}

write_conf() {
	mkdir -p "$CONF/regions.d"
	cat >"$CONF/regions.conf"
}

three_sections() {
	write_conf <<-END
		[gpu]
		path = $(candidate pci-bar "$LAB_GPU_BDF" path)
		kind = pci-bar
		bar = 2
		page-type = generic
		[cmb]
		serial = alpha
		kind = nvme-cmb
		[pmr]
		serial = beta
		kind = nvme-pmr
		page-type = generic
		pinned-importers = yes
	END
}

missing_stops_no_other() {
	three_sections
	remove_all
	labctl unplug gpu
	equal "what apply did" $'gpu missing\ncmb added\npmr added\nexit 1' "$(statuses)"
	matches "its message" 'gpu: no device that is seen here has this memory BAR with path pci-.*Plug it in, or correct .*regions.conf:1' "$(<"$WORK/apply.err")"
	equal "pinned importers of the PMR" 1 "$(attr "$(candidate nvme-pmr "$LAB_BETA_BDF" region)" pinned_importers)"
	equal "what apply of two did" $'cmb present\npmr present\nexit 0' "$(statuses cmb pmr)"
	exits 1 'nothere: /etc/donard configures no region of that name' donard-cli region apply nothere
	labctl plug gpu
	wait_all
	equal "what apply did for a drive" $'cmb present\nexit 0' "$(statuses --device "$LAB_ALPHA_BDF")"
	equal "what apply did for the device" $'gpu added\nexit 0' "$(statuses --device "$LAB_GPU_BDF")"
}

# Each drive where the other was. The regions go by serial numbers.
slots_change() {
	local alpha=$LAB_ALPHA_BDF beta=$LAB_BETA_BDF
	three_sections
	labctl unplug alpha
	labctl unplug beta
	labctl plug-into alpha p2
	labctl plug-into beta p1
	wait_all
	at_end "labctl unplug alpha; labctl unplug beta; labctl plug alpha; labctl plug beta; wait_all"
	equal "where alpha is" "$beta" "$LAB_ALPHA_BDF"
	equal "where beta is" "$alpha" "$LAB_BETA_BDF"
	equal "what apply did" $'gpu present\ncmb added\npmr added\nexit 0' "$(statuses)"
	matches "region of alpha" '^p2pmem' "$(candidate nvme-cmb "$LAB_ALPHA_BDF" region)"
	matches "region of beta" '^p2pmem' "$(candidate nvme-pmr "$LAB_BETA_BDF" region)"
}

wrong_configuration_changes_nothing() {
	three_sections
	remove_all
	printf 'memtype = hot\n' >>"$CONF/regions.conf"
	exits 2 "$CONF/regions.conf:14: memtype: 'hot' is unknown. Choose one of uc, wc, wb" donard-cli region apply
	exits 2 "$CONF/regions.conf:14: memtype" donard-cli region save
	equal_none regions regions_now
	equal_none "files of save" ls "$CONF/regions.d"
}

# Only root may do this: other users neither see everything nor may change anything.
users_may_not() {
	three_sections
	remove_all
	exits 1 'gpu: .*root' as user donard-cli region apply gpu
	equal_none regions regions_now
	exits 0 'only root sees' as user donard-cli region candidates
	exits 1 'pmr: no device that is seen here.*run this as root' as user donard-cli region apply --dry-run pmr
}

# A user who asks what would come back is not advised to plug in a device that is there.
unseen_without_module() {
	three_sections
	remove_all
	rmmod p2pmem
	exits 1 'pmr: no device that is seen here has a Persistent Memory Region.*load the module' donard-cli region apply --dry-run pmr
	insmod /opt/donard/modules/p2pmem.ko
	exits 0 'pmr +absent' donard-cli region apply --dry-run pmr
}

# Each region has a number, and there are 256. The module takes them all along, which is quicker than to remove each.
numbers_run_out() {
	local i add=(donard-cli region add --page-type generic)
	remove_all
	for ((i = 0; i < 256; i++)); do
		"${add[@]}" --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --offset "$((2 * i))M" --length 2M >"$WORK/added" 2>&1 ||
			fail "region $i: $(<"$WORK/added")"
	done
	exits 1 'there are 256 regions already.* remove one' "${add[@]}" --kind nvme-pmr --device "$LAB_BETA_BDF"
	rmmod p2pmem
}

# In a container the region is removed, and its function stays bound to the driver.
removed_without_sysfs() {
	exits 1 'cannot be unbound from p2pmem.*Its region was removed' unshare -m sh -c \
		'mount --make-rprivate / && mount -o remount,ro,bind /sys && exec donard-cli region remove p2pmem0'
	[[ ! -e /sys/class/p2pmem/p2pmem0 ]] || fail "the region is there"
}

# As in a container.
not_written_to_sysfs() {
	local command
	donard-cli region remove p2pmem0
	for command in 'add --kind pci-bar --bar 2 --device '"$LAB_GPU_BDF" 'set p2pmem2 --page-type generic'; do
		exits 1 'Read-only file system. /sys is mounted read-only here.*docker run --privileged' unshare -m sh -c \
			"mount --make-rprivate / && mount -o remount,ro,bind /sys && exec donard-cli region $command"
	done
}

save_leaves_hands_alone() {
	local region
	three_sections
	echo 1 >"/sys/class/p2pmem/$(candidate nvme-pmr "$LAB_BETA_BDF" region)/pinned_importers"
	exits 0 'unchanged.*unchanged.*unchanged' donard-cli region save
	sed -i 's/page-type = generic/page-type = p2pdma/' "$CONF/regions.conf"
	exits 1 "it differs from .gpu. at $CONF/regions.conf:1, which a person wrote, or made a link. Edit that file" donard-cli region save p2pmem0
	rm "$CONF/regions.conf"
	donard-cli region save p2pmem0
	region=$(ls "$CONF/regions.d")
	chmod 0600 /dev/p2pmem0
	echo mine >"$CONF/regions.d/$region.new"
	exits 0 'saved' donard-cli region save p2pmem0
	equal "a file of another name" mine "$(<"$CONF/regions.d/$region.new")"
	rm "$CONF/regions.d/$region.new"
	equal files "$region" "$(ls "$CONF/regions.d")"
	matches "mode in it" 'mode = 0600' "$(<"$CONF/regions.d/$region")"
	echo '# mine' | cat - "$CONF/regions.d/$region" >"$WORK/own"
	cp "$WORK/own" "$CONF/regions.d/$region"
	chmod 0660 /dev/p2pmem0
	exits 1 'which a person wrote' donard-cli region save p2pmem0
	cmp "$WORK/own" "$CONF/regions.d/$region" || fail "save changed a file that a person wrote"
}

# A container's user has no name outside, so root would get the region in that user's place.
users_without_names() {
	local region
	chown 54321:54321 /dev/p2pmem0
	at_end "chown root:p2pmem /dev/p2pmem0"
	exits 1 'p2pmem0: its node belongs to user 54321, which has no name.*failed' donard-cli region save p2pmem0
	chown root:54321 /dev/p2pmem0
	exits 1 'p2pmem0: its node belongs to group 54321, which has no name.*failed' donard-cli region save p2pmem0
	equal "owner of the node" '0:54321' "$(stat -c '%u:%g' /dev/p2pmem0)"
	[[ ! -e $CONF ]] || fail "something was saved: $(find "$CONF")"
	chgrp p2pmem /dev/p2pmem0
	exits 0 saved donard-cli region save p2pmem0
	region=$(find "$CONF/regions.d" -name '*.conf')
	cp "$region" "$WORK/saved"
	chown 54321 /dev/p2pmem0
	exits 1 'user 54321, which has no name.*failed' donard-cli region save p2pmem0
	cmp "$WORK/saved" "$region" || fail "save wrote another user: $(<"$region")"
}

# Somebody has the lock of beta's function for as long as he likes: HOLDER.
hold_lock_of_beta() {
	insmod /opt/donard/modules/busy.ko bdf="$LAB_BETA_BDF" 2>/dev/null &
	HOLDER=$!
	at_end "kill $HOLDER 2>/dev/null; wait $HOLDER"
	within 10 grep -qs Y /sys/module/busy/parameters/holds
}

# The rest of beta's memory is unknown then, but its region's device is known.
busy_drive_holds_up_nobody() {
	local path busy="$LAB_BETA_BDF is being bound, reset or taken away.*: try again"
	path=$(candidate pci-bar "$LAB_GPU_BDF" by_path)
	hold_lock_of_beta
	exits 0 "BY_PATH=.*$path.*MODE=0660" limited donard-cli region identity p2pmem0
	exits 0 'BY_ID=.*beta-pmr.*MODE=0660' limited donard-cli region identity p2pmem2
	exits 0 "pci-bar +$LAB_GPU_BDF" limited donard-cli region candidates
	exits 1 "p2pmem2: $busy" limited donard-cli region save p2pmem2
	# Another part than its region's.
	printf '[rest]\nkind = nvme-pmr\nserial = beta\noffset = 2M\nlength = 2M\n[cmb]\nkind = nvme-cmb\nserial = beta\n' | write_conf
	exits 1 "rest: $busy.*cmb: $busy" limited donard-cli region apply
}

# Its unit does so: no event comes when the drive is bound.
apply_awaits_its_device() {
	local unit
	donard-cli region save p2pmem2 >/dev/null
	donard-cli region remove p2pmem2
	hold_lock_of_beta
	limited donard-cli region apply --device "$LAB_BETA_BDF" >"$WORK/applied" 2>&1 &
	unit=$!
	# They look at beta, too, and so come to their end after the first look of the unit.
	exits 1 "$LAB_BETA_BDF is being bound, reset or taken away" limited donard-cli region apply
	equal "region that was added while the drive is busy" '' "$(candidate nvme-pmr "$LAB_BETA_BDF" region)"
	kill "$HOLDER"
	wait "$unit"
	matches "what the unit did" 'added +p2pmem[0-9]+ +'"$LAB_BETA_BDF" "$(<"$WORK/applied")"
}

# Two regions of one BAR would get the same name.
two_save_at_once() {
	local a b i
	remove_all
	a=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --length 64M --page-type generic)
	b=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --offset 64M --length 64M --page-type generic)
	for ((i = 0; i < 20; i++)); do
		rm -rf "$CONF"
		donard-cli region save "$a" >/dev/null &
		donard-cli region save "$b" >/dev/null
		wait $!
		equal "files of two regions" 2 "$(find "$CONF/regions.d" -name '*.conf' | wc -l)"
	done
}

# linked NAME REGION - a link as udev makes them, though it does not run here.
linked() {
	mkdir -p "$(dirname "/dev/p2pmem/$1")"
	ln -sfn "../../$2" "/dev/p2pmem/$1"
	at_end "rm -rf /dev/p2pmem"
}

links_name_regions() {
	linked by-name/scratch p2pmem0
	linked by-path/bar2+64M p2pmem0
	equal "region of a link" p2pmem0 "$(donard-cli info --json /dev/p2pmem/by-name/scratch | jq -r .name)"
	exits 0 saved donard-cli region save /dev/p2pmem/by-name/scratch p2pmem0 /dev/p2pmem0
	equal "files of one region" 1 "$(find "$CONF/regions.d" -type f | wc -l)"
	equal "name of what was set" p2pmem0 "$(donard-cli region set /dev/p2pmem/by-name/scratch --page-type generic --json | jq -r .name)"
	for link in by-name/scratch+4M by-path/bar2+64M+4M; do
		head -c 1M /dev/urandom >"$WORK/data"
		dd if="$WORK/data" of="$LAB_ALPHA" bs=1M count=1 oflag=direct status=none
		exits 0 'switch, proven' donard-cli copy "$LAB_ALPHA" "/dev/p2pmem/$link" --size 1M
		donard-cli copy p2pmem0+4M "$LAB_BETA" --size 1M >/dev/null
		dd if="$LAB_BETA" of="$WORK/seen" bs=1M count=1 iflag=direct status=none
		cmp "$WORK/data" "$WORK/seen" || fail "the copy to $link went elsewhere"
	done
	exits 2 "not an offset" donard-cli copy "$LAB_ALPHA" /dev/p2pmem/by-name/scratch+x
	exits 1 'by-name/other: no region has this link' donard-cli info /dev/p2pmem/by-name/other
	exits 1 'by-name/other: no region has this link' donard-cli rdma serve /dev/p2pmem/by-name/other
	exits 1 'by-name/other' donard-cli copy "$LAB_ALPHA" /dev/p2pmem/by-name/other --size 1M
	# A user's own link to a region is not taken for a pipe, for which the command would wait.
	ln -s /dev/p2pmem0 "$WORK/own"
	exits 2 "leads to a region's node. Name the region: p2pmem0" limited donard-cli cache put 127.0.0.1 "$WORK/own" --size 1M
	exits 0 '' donard-cli region remove /dev/p2pmem/by-name/scratch
	exits 1 'p2pmem0: there is no such region' donard-cli info /dev/p2pmem/by-name/scratch
}

# two_of_a_pool - sections that differ only in their names and users
two_of_a_pool() {
	write_conf <<-END
		[a]
		serial = alpha
		kind = nvme-cmb
		length = 16M
		user = user
		[b]
		serial = alpha
		kind = nvme-cmb
		length = 16M
		user = other
	END
}

# The one without a length stands first, and is left what the other does not take.
rest_comes_last() {
	write_conf <<-END
		[rest]
		serial = alpha
		kind = nvme-cmb
		[log]
		serial = alpha
		kind = nvme-cmb
		length = 16M
	END
	remove_all
	equal "what apply did" $'log added\nrest added\nexit 0' "$(statuses)"
}

# identity REGION - its name and its user by the configuration
identity() {
	donard-cli region identity "$1" --json | jq -r '"\(.by_name) \(.user)"'
}

equal_sections_have_a_region_each() {
	local a b r
	two_of_a_pool
	remove_all
	equal "what apply did" $'a added\nb added\nexit 0' "$(statuses)"
	a=$(donard-cli region apply --json a | jq -r '.regions[0].region')
	b=$(donard-cli region apply --json b | jq -r '.regions[0].region')
	equal "identity of the first" 'p2pmem/by-name/a user' "$(identity "$a")"
	equal "identity of the second" 'p2pmem/by-name/b other' "$(identity "$b")"
	# Parts of a pool have no place that would keep such a link from leading to the other one day.
	equal "links by device" $'null null\nnull null' "$(for r in "$a" "$b"; do donard-cli region identity "$r" --json; done |
		jq -r '"\(.by_id) \(.by_path)"')"
	# A region keeps its link even after the other one has gone.
	linked by-name/b "$b"
	donard-cli region remove "$a"
	equal "identity of the second, alone" 'p2pmem/by-name/b other' "$(identity "$b")"
	equal "what apply did then" $'a added\nb present\nexit 0' "$(statuses)"
	rm "$CONF/regions.conf"
	exits 0 'saved.*saved' donard-cli region save
	exits 0 'unchanged.*unchanged' donard-cli region save
	remove_all
	equal "what apply did at last" $'cmb-alpha added\ncmb-alpha-2 added\nexit 0' "$(statuses | sort)"
}

# The nvme driver uses a part of its pool itself, so the rest is no multiple of 2 MiB.
rest_of_a_pool() {
	local first rest
	remove_all
	first=$(donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF" --length 16M)
	rest=$(donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF")
	donard-cli region remove "$first"
	(($(attr "$rest" size) % (2 * MIB))) || fail "the rest of the pool is a multiple of 2 MiB, and shows nothing"
	exits 0 saved donard-cli region save "$rest"
	equal "what apply did" $'cmb-alpha present\nexit 0' "$(statuses)"
	donard-cli region remove "$rest"
	equal "what apply did then" $'cmb-alpha added\nexit 0' "$(statuses)"
}

other_than_configured() {
	local bar pmr
	three_sections
	remove_all
	bar=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --length 64M --page-type generic)
	pmr=$(donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type generic)
	equal "what apply did" $'gpu present\ncmb added\npmr present\nexit 0' "$(statuses)"
	matches "of the BAR" "$bar is there, with a length of 64 MiB instead of 512 MiB.*region remove $bar, then" "$(<"$WORK/apply.err")"
	matches "of the PMR" "$pmr is there, with pinned importers refused instead of accepted.*echo 1 [|] sudo tee /sys" "$(<"$WORK/apply.err")"
}

# pci-stub stands for a driver that binds the device at boot. Then the override is set before any driver is loaded, by modprobe as in
# docs/install.md.
own_driver_comes_first() {
	local stub=/sys/bus/pci/drivers/pci-stub function=/sys/bus/pci/devices/$LAB_GPU_BDF
	three_sections
	remove_all
	modprobe pci-stub
	at_end "echo >$function/driver_override; [[ ! -e $stub/$LAB_GPU_BDF ]] || echo $LAB_GPU_BDF >$stub/unbind"
	echo pci-stub >"$function/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers_probe
	equal "what would be done" $'gpu absent\nexit 1' "$(statuses --dry-run gpu)"
	matches "its message" "the driver pci-stub uses $LAB_GPU_BDF" "$(<"$WORK/apply.err")"
	equal "what apply did" $'gpu failed\nexit 1' "$(statuses gpu)"
	matches "its message" "the driver pci-stub is using it.*docs/install.md, Keeping a device free" "$(<"$WORK/apply.err")"
	echo "$LAB_GPU_BDF" >"$stub/unbind"
	rmmod p2pmem
	echo p2pmem >"$function/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers_probe
	[[ ! -e $function/driver ]] || fail "the function has a driver in spite of its override"
	insmod /opt/donard/modules/p2pmem.ko
	equal "driver of the function" p2pmem "$(basename "$(readlink -f "$function/driver")")"
	equal "what apply did then" $'gpu added\nexit 0' "$(statuses gpu)"
}

# leaving_is_not_there EVENT... - the region ends when its holder lets go, and is reported as leaving until then.
leaving_is_not_there() {
	local holder command wait="p2pmem0 is draining: 'donard-cli info p2pmem0' names its holders. Run this again when it is gone"
	three_sections
	command="donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2"
	holder vmsplice p2pmem0 $((2 * MIB)) >"$WORK/holder" 2>&1 &
	holder=$!
	at_end "kill -KILL $holder 2>/dev/null"
	within 10 grep -q ready "$WORK/holder"
	in_background "$@"
	within 20 is_draining
	equal "what would be done" $'gpu failed\ncmb present\npmr present\nexit 1' "$(statuses --dry-run)"
	equal "what apply did" $'gpu failed\ncmb present\npmr present\nexit 1' "$(statuses)"
	matches "its message" "gpu: $wait" "$(<"$WORK/apply.err")"
	! event_ended || fail "the event did not wait for the holder: $(<"$WORK/event")"
	exits 0 "# p2pmem0 is draining: until [^"$'\n'"]*"$'\n'"$command" donard-cli region candidates
	kill -USR2 "$holder"
	event_succeeds
	equal "what apply did then" $'gpu added\ncmb present\npmr present\nexit 0' "$(statuses)"
}

# --- udev ---

start_udev() {
	/usr/lib/systemd/systemd-udevd --daemon
	# On a busy host udev may take longer to end than udevadm waits.
	at_end "udevadm control --exit; pkill -KILL udev; rm -rf /dev/p2pmem /run/udev/control"
}

settled() {
	udevadm settle --timeout="$HANG_SECONDS"
}

# owner REGION
owner() {
	stat -c '%U:%G %a' "/dev/$1"
}

udev_names_and_gives() {
	local gpu path
	three_sections
	printf 'user = user\ngroup = other\nmode = 0640\n' | sed -i '/^bar = 2/r /dev/stdin' "$CONF/regions.conf"
	path=$(candidate pci-bar "$LAB_GPU_BDF" by_path)
	remove_all
	start_udev
	equal "what apply did" $'gpu added\ncmb added\npmr added\nexit 0' "$(statuses)"
	settled
	gpu=$(candidate pci-bar "$LAB_GPU_BDF" region)
	equal "link by name" "/dev/$gpu" "$(readlink -f /dev/p2pmem/by-name/gpu)"
	equal "link by path" "/dev/$gpu" "$(readlink -f "/dev/p2pmem/by-path/$path")"
	equal "link by serial" "/dev/$(candidate nvme-cmb "$LAB_ALPHA_BDF" region)" \
		"$(readlink -f /dev/p2pmem/by-id/nvme-QEMU_NVMe_Ctrl_alpha-cmb)"
	equal "owner of the BAR" 'user:other 640' "$(owner "$gpu")"
	equal "group of its holders" 'other 440' "$(stat -c '%G %a' "/sys/class/p2pmem/$gpu/holders")"
	equal "group of its unrouted" 'other 440' "$(stat -c '%G %a' "/sys/class/p2pmem/$gpu/unrouted")"
	equal "owner of the PMR" 'root:p2pmem 660' "$(owner "$(candidate nvme-pmr "$LAB_BETA_BDF" region)")"
	donard-cli region remove "$gpu"
	settled
	[[ ! -e /dev/p2pmem/by-name/gpu && ! -e /dev/p2pmem/by-path/$path ]] || fail "links of a region that is gone"
	# The same region is added by hand.
	gpu=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type generic)
	settled
	equal "owner of the BAR, added by hand" 'user:other 640' "$(owner "$gpu")"
	# The users of the region have changed, so apply tells udev.
	sed -i 's/^mode = 0640/mode = 0600/' "$CONF/regions.conf"
	equal "what apply did then" $'gpu present\ncmb present\npmr present\nexit 0' "$(statuses)"
	settled
	equal "owner of the BAR, changed" 'user:other 600' "$(owner "$gpu")"
	equal "group of its holders, changed" 'root 440' "$(stat -c '%G %a' "/sys/class/p2pmem/$gpu/holders")"
	sed -i 's/^\[gpu\]/[card]/' "$CONF/regions.conf"
	equal "what apply did at last" $'card present\ncmb present\npmr present\nexit 0' "$(statuses)"
	equal "link by another name" "/dev/$gpu" "$(readlink -f /dev/p2pmem/by-name/card)"
	rm "$CONF/regions.conf"
	exits 0 saved donard-cli region save "$gpu"
	equal "link of a region that was saved" "/dev/$gpu" "$(readlink -f "/dev/p2pmem/by-name/$(saved_name "$gpu")")"
}

saved_name() {
	donard-cli region save "$1" --json | jq -r '.regions[0].name'
}

# Other users can open no file whose lock would delay anybody.
others_hold_no_lock() {
	three_sections
	setpriv --reuid other --regid other --init-groups -- flock --no-fork "$CONF" sleep 1000 &
	at_end "kill $! 2>/dev/null; wait $!"
	within 10 is_locked
	remove_all
	exits 0 added limited donard-cli region apply
	exits 0 present as other timeout "$HANG_SECONDS" donard-cli region apply --dry-run gpu
}

is_locked() {
	! flock --nonblock "$CONF" true
}

udev_keeps_out_while_wrong() {
	local region
	remove_all
	printf '[a]\nfrob = 1\n' | write_conf
	start_udev
	region=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type generic)
	settled
	equal "owner while the configuration is wrong" 'root:root 600' "$(owner "$region")"
	matches "what it says" "Then run 'udevadm trigger -c change /sys/class/p2pmem/$region'\." \
		"$(donard-cli region identity "$region" 2>&1)"
	rm "$CONF/regions.conf"
	udevadm trigger -c change "/sys/class/p2pmem/$region"
	settled
	equal "owner without a configuration" 'root:p2pmem 660' "$(owner "$region")"
}

# The region was added while the configuration was wrong, which is not the same as a user's own choice.
udev_kept_out_and_save_does_not() {
	local region file add=(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type generic)
	remove_all
	start_udev
	region=$("${add[@]}")
	settled
	exits 0 saved donard-cli region save "$region"
	file=$(find "$CONF/regions.d" -name '*.conf')
	cp "$file" "$WORK/saved"
	donard-cli region remove "$region"
	printf '[a]\nfrob = 1\n' | write_conf
	region=$("${add[@]}")
	settled
	equal "owner while the configuration is wrong" 'root:root 600' "$(owner "$region")"
	rm "$CONF/regions.conf"
	exits 0 unchanged donard-cli region save "$region"
	settled
	cmp "$WORK/saved" "$file" || fail "what was saved: $(<"$file")"
	equal "owner after that" 'root:p2pmem 660' "$(owner "$region")"
	chown root:root "/dev/$region"
	chmod 0600 "/dev/$region"
	exits 0 'root alone may use it, as now.*saved' donard-cli region save "$region"
	matches "what was saved then" 'group = root.*mode = 0600' "$(<"$file")"
	sed -i -E '/^(user|group|mode) =/d' "$file"
	donard-cli region apply >/dev/null
	settled
	equal "owner after what it advises" 'root:p2pmem 660' "$(owner "$region")"
}

# Plays udev of systemd 258 and 259 for a user who is no system user: this udev lacks that line of the rule.
udev_passes_over_a_person() {
	local region file rule=/run/udev/rules.d/61-donard.rules
	mkdir -p "${rule%/*}"
	at_end "rm -f $rule"
	grep -v 'OWNER=.*DONARD_USER' /usr/lib/udev/rules.d/61-donard.rules >"$rule"
	remove_all
	start_udev
	region=$(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type generic)
	exits 0 saved donard-cli region save "$region"
	settled
	file=$(find "$CONF/regions.d" -name '*.conf')
	sed -i 's/^user = .*/user = user/' "$file"
	cp "$file" "$WORK/saved"
	equal "what apply did" $'bar2 present\nexit 0' "$(statuses | sed 's/^bar2-[^ ]*/bar2/')"
	matches "its message" "udev left it to root in the place of user user: .* Take a system group at $file:2" "$(<"$WORK/apply.err")"
	equal "owner of the BAR" 'root:p2pmem 660' "$(owner "$region")"
	exits 0 "$region: its node is root's, and .* has the user user, which stays.*unchanged" donard-cli region save "$region"
	cmp "$WORK/saved" "$file" || fail "what was saved: $(<"$file")"
}

# --- systemd, with our units and rules as they are installed ---

# Starts systemd as PID 1 of its own PID namespace, with UNIT and what that needs.
start_systemd() {
	local unit=$1 pid
	# The lab's module lies in no place that modprobe knows.
	mkdir -p /etc/modprobe.d
	echo 'install p2pmem test -d /sys/module/p2pmem || insmod /opt/donard/modules/p2pmem.ko' >/etc/modprobe.d/lab.conf
	at_end "rm /etc/modprobe.d/lab.conf"
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
	unshare --fork --pid --mount --mount-proc --kill-child env -i PATH=/usr/sbin:/usr/bin \
		/usr/lib/systemd/systemd --system --unit="$unit" --log-target=null </dev/null >/dev/null 2>&1 &
	pid=$!
	at_end "kill -KILL $pid; wait $pid; rm -rf /dev/p2pmem /run/systemd /run/udev"
}

named() {
	[[ -c $(readlink -f "/dev/p2pmem/by-name/$1") ]]
}

not_named() {
	! named "$1"
}

# The module is not loaded, the drives are there; then devices come and go.
systemd_brings_regions_back() {
	local region
	three_sections
	printf 'user = user\nmode = 0600\n' | sed -i '/^bar = 2/r /dev/stdin' "$CONF/regions.conf"
	# Stands for a tool of that user.
	chown user "$CONF/regions.conf"
	chmod 0600 "$CONF/regions.conf"
	remove_all
	rmmod p2pmem
	start_systemd donard-regions.service
	for region in gpu cmb pmr; do
		within 200 named "$region"
	done
	equal "owner of the BAR" 'user:p2pmem 600' "$(owner "$(basename "$(readlink -f /dev/p2pmem/by-name/gpu)")")"
	for region in gpu:gpu alpha:cmb; do
		labctl unplug "${region%:*}"
		within 200 not_named "${region#*:}"
		labctl plug "${region%:*}"
		within 200 named "${region#*:}"
	done
}

core rt "candidates are all memory" candidates_are_all_memory
rt "the commands of candidates work" commands_work
rt "udev has done its part when a command ends" udev_is_awaited
core rt "regions come back after the module was away" regions_come_back
rt "a missing device stops no other" missing_stops_no_other
rt "others hold no lock" others_hold_no_lock
rt "drives are found in other slots" slots_change
core rt "a wrong configuration changes nothing" wrong_configuration_changes_nothing
core rt "users may not apply" users_may_not
rt "what shows with the module alone is not called missing" unseen_without_module
rt "save leaves what a person wrote" save_leaves_hands_alone
rt "save refuses a user without a name" users_without_names
rt "a drive that is being bound holds up nobody" busy_drive_holds_up_nobody
rt "apply waits for the device that is named" apply_awaits_its_device
rt "two save at once" two_save_at_once
core rt "links name regions" links_name_regions
! can pool || rt "equal sections have a region each" equal_sections_have_a_region_each
! can pool || rt "a section without a length comes last" rest_comes_last
! can pool || rt "the rest of a pool comes back" rest_of_a_pool
rt "a region that is not as configured" other_than_configured
rt "a driver that has the device first is told" own_driver_comes_first
rt "a region that is being removed is not there" leaving_is_not_there donard-cli region remove p2pmem0
rt "a region that is being unbound is not there" leaving_is_not_there unbind_gpu
rt "numbers of regions run out" numbers_run_out
rt "removed where sysfs is read-only" removed_without_sysfs
rt "neither added nor set where sysfs is read-only" not_written_to_sysfs
rt "udev names regions and gives them to their users" udev_names_and_gives
rt "udev keeps all out while the configuration is wrong" udev_keeps_out_while_wrong
rt "udev kept all out, and save does not" udev_kept_out_and_save_does_not
rt "save keeps a user that udev passed over" udev_passes_over_a_person
# Takes a minute, and does not depend on the kernel.
! can thorough || rt "systemd brings regions back at boot and at hotplug" systemd_brings_regions_back
