# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What donard-cli promises whatever devices there are: its JSON is JSON, its help is the truth.
# Sourced by tests/check, never run.

# json_of STATUS CHECK ARGUMENT... - of donard-cli; CHECK is Python about the parsed object "it".
json_of() {
	local want=$1 check=$2 status=0
	shift 2
	"$BUILD/donard-cli" "$@" >"$LOGS/json" 2>/dev/null || status=$?
	printf "status %d (expected %d), expected: %s\nJSON: %s\n" "$status" "$want" "$check" "$(cat "$LOGS/json")"
	((status == want)) && python3 -c '
import json, sys
it = json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))
sys.exit(not eval(sys.argv[2]))' "$LOGS/json" "$check"
}

# A file name may hold any byte; a message, also as JSON, shows those that are no character.
json_of_any_name() {
	json_of 1 'r"bad\xff.bin" in it["error"]["message"]' copy --json $'/nowhere/bad\xff.bin' /nowhere/b &&
		json_of 2 'r"frob\xc3(" in it["error"]["message"]' $'frob\xc3\x28' --json &&
		json_of 2 'r"é\xe2\x82" in it["error"]["message"]' list $'\xc3\xa9\xe2\x82' --json
}

# Unknown members are left out, and errors of the command line itself have none of the library's.
errors_are_data() {
	json_of 1 'it["error"]["object"] == "/nowhere/a" and it["error"].keys() == {"code", "message", "object"}' \
		copy --json /nowhere/a /nowhere/b &&
		json_of 1 'it["error"]["object"] == r"/nowhere/\xff"' copy --json $'/nowhere/\xff' /nowhere/b &&
		json_of 2 '[it["error"].get(key) for key in ("object", "option", "value", "limit")] == [None, "--block-size", 700, 512]' \
			copy --json /nowhere/a /nowhere/b --block-size 700 &&
		json_of 2 '[it["error"][key] for key in ("option", "value", "limit")] == ["--low", 50, 39]' \
			cache serve --json --nvram p2pmem0 --backing /dev/nowhere --low 50 --high 40 &&
		json_of 2 'it["error"].keys() == {"code", "message"}' copy --json a &&
		json_of 2 'it["error"].keys() == {"code", "message"}' rdma serve dram --json --access x --once --clients 2 &&
		json_of 2 'it["error"].keys() == {"code", "message"} and it["error"]["code"] == "usage"' --json frob
}

# tool/utf8.c makes every string of a model.
strings_enter_json_once() {
	! grep -rn 'json_object_new_string' cli tool bench --include='*.[ch]' | grep -v '^tool/utf8\.c:'
}

# tool/output.c makes every fraction: 0.1 is 0.1, not 0.10000000000000001.
fractions_enter_json_once() {
	! grep -rn 'json_object_new_double' cli tool bench --include='*.[ch]' | grep -v '^tool/output\.c:'
}

# Text and decisions come from the result itself; only a table prints what JSON has.
nobody_reads_json() {
	! grep -rnE 'json_object_(object_get|get_(string|int|int64|uint64|double|boolean))\(' cli tool --include='*.[ch]' |
		grep -v '^tool/output\.c:'
}

# The digits of a number that binary fractions do not have.
fractions_are_short() {
	"$BUILD/donard-cli" measure --json --meter none true 2>/dev/null | grep '_seconds' | tee "$LOGS/fractions"
	(($(wc -l <"$LOGS/fractions") == 3)) && ! grep -E '[1-9][0-9]{9}' "$LOGS/fractions"
}

# Gives more words than any table of ours has places for; the last one sets the form of the error.
bench_takes_many_words() {
	# shellcheck disable=SC2046  # words
	json_of 2 '"\x27x1\x27 is one argument too many" in it["error"]["message"]' bench null $(seq -f x%.0f 100000) --json
}

# Limits that the page does not state, or states otherwise.
limits_are_compared() {
	local page=$LOGS/donard-cli-copy.1
	sed 's/Requests in flight, 1 to 4096/Requests in flight, 1 to 4097/' docs/donard-cli-copy.1 >"$page"
	tests/host/manual.py "$BUILD/donard-cli" "$page" >"$LOGS/limits" && return 1
	grep -q "queue-depth: the table has the limits \['1 to 4096'\], the page states \['1 to 4097'\]" "$LOGS/limits"
}

# no_json_of ARGUMENT... - wrong use, told on stderr alone.
no_json_of() {
	local status=0 out
	out=$("$BUILD/donard-cli" "$@" 2>/dev/null) || status=$?
	printf 'status %d (expected 2), stdout (expected nothing): %s\n' "$status" "$out"
	((status == 2)) && [[ -z $out ]]
}

# Every command and option of both programs, as they are in their tables.
dump_tables() {
	"$BUILD/donard-cli" --dump-commands && "$BUILD/donard-bench" --dump-commands
}

# offered - what one bash, as a shell is used, offers of each command on stdin: its last word, and each option behind it.
offered() {
	# shellcheck disable=SC2016  # the inner shell's
	PATH="$BUILD:$PATH" bash -c '. "$0"
		while read -ra words; do
			COMP_WORDS=(donard-cli "${words[@]}" --) COMP_CWORD=$((${#words[@]} + 1))
			_donard_cli
			printf "${words[*]}\t%s\n" "${COMPREPLY[@]}"
			COMP_WORDS=(donard-cli "${words[@]:0:${#words[@]}-1}" "") COMP_CWORD=${#words[@]}
			_donard_cli
			[[ " ${COMPREPLY[*]} " != *" ${words[-1]} "* ]] || echo "${words[*]}"
		done' cli/completion.bash
}

# bash offers exactly the options in each command's table.
completion_is_the_table() {
	local tables
	local -a commands
	tables=$(dump_tables)
	mapfile -t commands < <(sed -nE '/COMMAND/!s/^command\t([^\t]*).*/\1/p' <<<"$tables")
	echo "< offered, > in the table"
	diff <(printf '%s\n' "${commands[@]}" | offered | sort) \
		<({ printf '%s\n' "${commands[@]}"; printf '%s\t--help\n' "${commands[@]}"
			awk -F '\t' 'NR == FNR { known[$0] } $1 == "option" && $2 in known { print $2 "\t" $3 }' \
				<(printf '%s\n' "${commands[@]}") <(echo "$tables"); } | sort)
}

# Which is for other programs, and a command that is measured still has it.
posix_changes_no_option() {
	local -a posix=(env POSIXLY_CORRECT=yes "$BUILD/donard-cli")
	# shellcheck disable=SC2016  # for the inner shell
	says 2 "'5Q' is not a size" "${posix[@]}" copy a b --size 5Q &&
		says 2 "'--size' is one argument too many" "${posix[@]}" copy a b -- --size &&
		says 0 '^took' "${posix[@]}" measure --meter none sh -c '[ "$POSIXLY_CORRECT" = yes ]'
}

# After an option that takes a value no other options are offered, and after --json a command is.
completion_knows_where_it_is() {
	[[ -z $(completes copy --size '') ]] && completes rdma serve --size 1M d >/dev/null &&
		completes --json rdma '' | grep -x serve >/dev/null && completes rdma write ::1 --local d | grep -x dram >/dev/null &&
		completes region apply --config /et | grep -x /etc >/dev/null && completes cache serve --status /et | grep -x /etc >/dev/null &&
		! completes region apply --config /etc/pass | grep -x /etc/passwd >/dev/null &&
		completes doctor --scratch /etc/pass | grep -x /etc/passwd >/dev/null
}

# A folder with a command's name does not turn the word into a path; a word that may be a path is completed as one. The test reads the
# command that a bash at a terminal, without its user's files, runs.
completion_adds_a_slash_to_paths() {
	local folder=$LOGS/typed
	mkdir -p "$folder/cache"
	python3 - "$(realpath "$BUILD")" "$PWD/cli/completion.bash" "$folder" <<-'END'
		import os, pty, sys
		programs, completion, folder = sys.argv[1:]
		pid, terminal = pty.fork()
		if pid == 0:
		    os.chdir(folder)
		    os.environ |= {"PATH": f"{programs}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb", "INPUTRC": "/dev/null"}
		    os.execlp("bash", "bash", "--norc", "--noprofile", "-i")
		def shell(keys, end):
		    said = b""
		    os.write(terminal, keys)
		    while end not in said:
		        said += os.read(terminal, 1000)
		    return said
		# A function takes precedence over the program, whose tables have been read before.
		shell(f". '{completion}'; _donard_read_tables; donard-cli() {{ printf '<%s>' \"$@\"; }}; echo rea''dy\n".encode(), b"ready")
		for keys, run in (b"donard-cli cac\tx\n", b"<cache><x>"), (b"donard-cli copy cac\tx\n", b"<copy><cache/x>"):
		    said = shell(keys, b"x>")
		    print(f"expected {run}, in {said}")
		    if run not in said:
		        sys.exit(1)
	END
}

# gpus_completed LAST-WORDS - what bash offers behind "copy", on a machine with one GPU, for words as bash breaks them.
gpus_completed() {
	# shellcheck disable=SC2016  # the inner shell's
	PATH="$(realpath "$BUILD"):$PATH" bash -c '. "$0"; _donard_gpus() { printf "%s\n" gpu:0 gpu:0000:03:00.0; }; cd /
		COMP_WORDBREAKS=$'"' \t:'"' COMP_WORDS=(donard-cli "$@"); COMP_CWORD=$#
		_donard_cli; printf "%s\n" "${COMPREPLY[@]}"' cli/completion.bash "$@" | paste -sd' '
}

# GPUs are offered by number and by address, even after the first colon was typed.
completion_offers_gpus() {
	diff <(printf '%s\n' 'gpu:0 gpu:0000:03:00.0' '0 0000:03:00.0' 03:00.0 0000:03:00.0 '0 0000:03:00.0') \
		<(gpus_completed copy g; gpus_completed copy gpu :; gpus_completed copy gpu : 0000 : 0
			gpus_completed rdma write ::1 --local gpu : 00; gpus_completed rdma serve gpu : 0)
}

# helps REGEX ARGUMENT... - on stdout, with status 0.
helps() {
	local regex=$1
	shift
	"$BUILD/donard-cli" "$@" 2>/dev/null >"$LOGS/help" && grep -qE -- "$regex" "$LOGS/help" && return
	cat "$LOGS/help"
	return 1
}

# A drive that took the number of a closed descriptor would be read, or get messages as data.
cli_exits_closed() {
	local status=0
	"$BUILD/donard-cli" measure true <&- || return
	"$BUILD/donard-cli" version >&- || status=$?
	printf 'without an output: status %d (expected 1)\n' "$status"
	((status == 1))
}

# in_read PID FILE - a program that reads from the server that told FILE of it, and catches SIGTERM: soon, or it fails. What it
# waits in (/proc/PID/syscall) the kernel may hide from others.
in_read() {
	local i
	for ((i = 0; i < 20 * HANG_SECONDS; i++)); do
		[[ ! -s $2 ]] || ! grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$1/status" || ! grep -q '^State:.S' "/proc/$1/status" ||
			return 0
		kill -0 "$1" || return
		sleep 0.05
	done
	echo "it is not in read():"
	cat "/proc/$1/status"
	return 1
}

# What never answers at the path of a server's socket
cache_top_of_a_silent_server() {
	local path=$LOGS/silent server top status=0
	rm -f "$path"
	python3 -c 'import socket, sys, time
it = socket.socket(socket.AF_UNIX)
it.bind(sys.argv[1])
it.listen()
other = it.accept()
print("asked", flush=True)
time.sleep(1000)' "$path" >"$LOGS/asked" &
	server=$!
	until [[ -S $path ]]; do
		kill -0 "$server" || return
		sleep 0.05
	done
	"$BUILD/donard-cli" cache top "$path" >"$LOGS/top" 2>&1 &
	top=$!
	in_read "$top" "$LOGS/asked" || { cat "$LOGS/top"; kill "$server" "$top"; return 1; }
	kill -TERM "$top"
	wait "$top" || status=$?
	kill "$server"
	wait "$server" || true
	printf 'status %d (expected 130): %s\n' "$status" "$(<"$LOGS/top")"
	((status == 130))
}

# A proof that was asked for and cannot be made is no verdict, and nothing is made.
scratch_cannot_be_used() {
	cli_exits 1 '/dev/null: it is a character device\. Name an NVMe block device, or a file on ext4 or xfs on one\.' doctor --probe --scratch /dev/null &&
		cli_exits 1 '--scratch /nonexistent/x: .*No such file' doctor --probe --scratch /nonexistent/x &&
		cli_exits 1 '--scratch .*: Not a directory' doctor --probe --scratch "$BUILD/donard-cli/x" &&
		cli_exits 1 '--scratch .*No such file' doctor --probe --scratch '' &&
		cli_exits 1 '--scratch /dev/shm: .*tmpfs' doctor --probe --scratch /dev/shm &&
		json_of 1 'it["error"]["code"] == "not-nvme" and "verdict" not in it' doctor --json --probe --scratch /dev/null
}

# The last line of a list that the kernel cut is no function.
unrouted_is_counted() (
	root=$LOGS/many
	rm -rf "$root"
	tests/host/doctor.py expand many-functions "$root" || return
	export DONARD_SYSFS_ROOT=$root/sys
	json_of 0 '[it["regions"][0][key] for key in ("unrouted", "unrouted_left_out")] == [["0000:01:00.0"], 37]' list --json &&
		says 0 'Warning: 37 more functions.* have no route to p2pmem0' "$BUILD/donard-cli" list &&
		[[ $("$BUILD/donard-cli" info p2pmem0) == *"unrouted     0000:01:00.0"*"and 37 more"* ]] &&
		says 0 '0000:01:00.0 has no route to p2pmem0.*\(donard-cli topo says why\)' "$BUILD/donard-cli" list || return
	rm -r "$root/sys/class/infiniband"	# which topo goes by
	says 0 '0000:01:00.0 has no route to p2pmem0.*\(it has no driver that donard uses\)' "$BUILD/donard-cli" list
)

# A captured machine is somebody else's text.
doctor_forges_nothing() {
	local forged=$LOGS/forged function=$LOGS/forged/sys/bus/pci/devices/0000:00:01.0
	mkdir -p "$forged/proc/sys/kernel" "$function" "$forged/sys/class/infiniband/mlx5_0" \
		"$forged/sys/class/infiniband/"$'x\nVerdict: ready - all is well.'
	ln -sf $'../y\nVerdict: ready' "$function/driver"
	ln -sfn ../../../bus/pci/devices/0000:00:01.0 "$forged/sys/class/infiniband/mlx5_0/device"
	echo 0x15b3 >"$function/vendor"
	printf '5.0\nVerdict: ready\n' >"$forged/proc/sys/kernel/osrelease"
	printf 'model name\t: a\x1b[2J\rVerdict: ready\n' >"$forged/proc/cpuinfo"
	"$BUILD/donard-cli" doctor --root "$forged" >"$LOGS/doctor" || true
	cat -v "$LOGS/doctor"
	(($(grep -c '^Verdict' "$LOGS/doctor") == 1)) && grep -q 'the kernel is 5\.0$' "$LOGS/doctor" &&
		grep -qF 'rdma-soft: x\x0aVerdict: ready' "$LOGS/doctor" &&
		grep -qF 'the driver of mlx5_0 is y\x0aVerdict: ready' "$LOGS/doctor" &&
		json_of 3 'it["machine"]["processor"] == r"a\x1b[2J\x0dVerdict: ready"' doctor --json --root "$forged"
}

# What says how long it is comes first, and what cannot be seen is not called missing.
apply_of_two() {
	local hint='load the module|run this as root'
	[[ ! -e /sys/class/p2pmem ]] || hint+='|Plug it in' # root sees all there
	mkdir -p "$LOGS/two"
	printf '[rest]\nserial = x\nkind = nvme-pmr\n[log]\nserial = x\nkind = nvme-cmb\nlength = 16M\n' >"$LOGS/two/regions.conf"
	json_of 1 '[row["name"] for row in it["regions"]] == ["log", "rest"]' region apply --dry-run --json --config "$LOGS/two" &&
		cli_exits 1 "rest: no device that is seen here.*($hint)" region apply --dry-run --config "$LOGS/two"
}

# Words of a configuration, which may be anybody's bytes, do not move the terminal's cursor.
apply_prints_no_controls() {
	mkdir -p "$LOGS/controls"
	printf '[a]\nkind = pci-bar\nserial = \033[2J\n' >"$LOGS/controls/regions.conf"
	json_of 1 '"\\x1b[2J" in it["regions"][0]["message"]' region apply --dry-run --json --config "$LOGS/controls" &&
		cli_exits 1 'a: no device .*serial.*\\x1b\[2J' region apply --dry-run --config "$LOGS/controls"
}

# Where DST is standard output or error, by whatever name, what the command says would stand among the data, or over it.
report_beside_bytes() {
	local words status out=$LOGS/own
	for words in "copy /dev/null /dev/stderr --progress" "copy /dev/null $out" "cache get 192.0.2.1 /dev/stderr"; do
		status=0
		# shellcheck disable=SC2086  # words
		"$BUILD/donard-cli" $words 2>"$out" >"$LOGS/said" || status=$?
		printf '%s: status %d (expected 2): %s\n' "$words" "$status" "$(cat "$out")"
		((status == 2)) && grep -q "is standard error, where this command's messages go, too" "$out" || return 1
	done
	for words in "copy /dev/null /dev/stdout" "copy /dev/null $out" "cache get 192.0.2.1 /dev/stdout" \
		"cache get 192.0.2.1 /proc/self/fd/1 --json"; do
		status=0
		# shellcheck disable=SC2086  # words
		"$BUILD/donard-cli" $words >"$out" 2>"$LOGS/error" || status=$?
		printf '%s: status %d (expected 2): %s\n' "$words" "$status" "$(cat "$LOGS/error")"
		((status == 2)) && grep -q "is standard output, where this command's own report goes, too" "$LOGS/error" || return 1
	done
	cli_exits 2 "Write '-'" cache get 192.0.2.1 /dev/stdout
}

# No bytes of it are not all of it.
nothing_of_closed_input() {
	local status=0
	"$BUILD/donard-cli" cache put 192.0.2.1 - <&- 2>"$LOGS/closed" || status=$?
	cat "$LOGS/closed"
	((status == 1)) && grep -q 'cannot be opened: Bad file' "$LOGS/closed"
}

# measure_at_terminal COMMAND... - which says "runs", and which the terminal's Ctrl-C ends: what ran so far is measured. donard-cli
# gets it, and the command unless it has a process group of its own.
measure_at_terminal() {
	python3 - "$BUILD/donard-cli" "$@" <<-'END'
		import os, pty, sys
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["donard-cli", "measure", "--meter", "none", *sys.argv[2:]])
		said = b""
		try:
		    while data := os.read(terminal, 1000):
		        if b"runs" in data:
		            os.write(terminal, b"\x03")
		        said += data
		except OSError:  # the terminal's other side is closed
		    pass
		status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		print(f"status {status} (expected 130), expected: status 130, took, meter none\n{said.decode()}")
		sys.exit(status != 130 or not all(word in said for word in (b"status    130", b"took", b"meter     none")))
	END
}

# The kernel tells only the leader of the session that its terminal is gone: donard-cli, in "ssh -t HOST donard-cli measure ...".
measure_of_a_lost_terminal() {
	python3 - "$BUILD/donard-cli" <<-'END'
		import os, pty, sys
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["donard-cli", "measure", "--meter", "none", "sh", "-c", "echo runs; exec sleep 60"])
		said = b""
		while b"runs" not in said:
		    said += os.read(terminal, 1000)
		os.close(terminal)
		status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		print(f"status {status} (expected 129)")
		sys.exit(status != 129)
	END
}

# SIGTERM to donard-cli alone ends the command.
measure_passes_signals_on() {
	# shellcheck disable=SC2016  # for the inner shell
	json_of 143 'it["exit_status"] == 143 and it["payload_bytes"] is None' \
		measure --json --meter none sh -c 'kill -TERM $PPID; exec sleep 60'
}

# counting_meter WHEN - anew, a likwid in $METERS whose counts were captured, for up to two sockets. It runs twice: when donard-cli
# tries it, and for the measurement. It sends SIGINT to donard-cli at its trial, or when the measurement begins or ends; or it
# fails when that ends.
counting_meter() {
	METERS=$LOGS/meters-$1
	rm -rf "$METERS"
	mkdir -p "$METERS"
	cat >"$METERS/likwid-perfctr" <<-END
		#!/bin/sh
		case " \$* " in
		*' '[0-9]*,[0-9]*' '*) counts="$PWD/tests/unit/captured/likwid-two-sockets.csv" ;;
		*) counts="$PWD/tests/unit/captured/likwid-zen2.csv" ;;
		esac
		signal_when() {
		    if [ "\$1" = "$1" ] && [ -e "$METERS/tried" ]; then kill -INT \$PPID; fi
		}
		if [ "$1" = trial ] && [ ! -e "$METERS/tried" ]; then kill -INT \$PPID; fi
		signal_when begin
		head -n 5 "\$counts"
		cat
		signal_when end
		if [ "$1" = fails ] && [ -e "$METERS/tried" ]; then echo 'the counters are gone' >&2; exit 1; fi
		tail -n +6 "\$counts"
		touch "$METERS/tried"
	END
	chmod +x "$METERS/likwid-perfctr"
}

# measure_counted WHEN STATUS CHECK COMMAND...
measure_counted() {
	local PATH=$PATH
	counting_meter "$1"
	PATH=$METERS:$PATH
	json_of "$2" "$3" measure --json --meter likwid "${@:4}"
}

# What was counted until then is told, whole.
measure_counts_what_ran() {
	# shellcheck disable=SC2016  # for the inner shell
	measure_counted never 130 'it["exit_status"] == 130 and it["meter"] == "likwid" and it["dram_total_bytes"] > 0' \
		sh -c 'kill -INT $PPID; exec sleep 60'
}

# Neither counts nor the command's own status.
measure_without_its_meter() {
	measure_counted fails 1 'set(it) == {"error"} and "the counters are gone" in it["error"]["message"]' \
		sh -c "touch '$LOGS/ran-metered'; exit 3" &&
		[[ -e $LOGS/ran-metered ]]
}

measure_stopped_early() {
	local when
	for when in trial begin; do
		echo "signal: $when"
		measure_counted "$when" 130 'it["error"]["code"] == "canceled"' touch "$LOGS/ran-too-late" || return
		[[ ! -e $LOGS/ran-too-late ]] || return
	done
}

# While it opens the meter.
copy_stopped_early() {
	local PATH=$PATH
	counting_meter trial
	PATH=$METERS:$PATH
	json_of 130 'it["error"]["code"] == "canceled" and it["bytes"] == 0' copy --json --meter likwid /nowhere/a /nowhere/b
}

# The usual object, whatever it ended before; what was not measured has the meter's name and no counts.
copy_fails_early() {
	json_of 2 'it["error"]["code"] == "bad-option" and it["bytes"] == 0' copy --json --meter frob /nowhere/a /nowhere/b &&
		json_of 1 '(it["bytes"], it["payload_bytes"], it["meter"], it["dram_total_bytes"]) == (0, 0, "none", None) and it["missing"]' \
			copy --json --meter none /nowhere/a /nowhere/b
}

measure_stopped_late() {
	measure_counted end 0 'it["exit_status"] == 0 and it["dram_total_bytes"] > 0' true
}

# By a user whose processes are limited: root's never are. Nobody else may reach a TMPDIR of root's.
measure_cannot_fork() {
	local folder status=0 out
	local -a as=()
	folder=$(mktemp -d /tmp/donard-limited.XXXXXX)
	chmod 755 "$folder"
	install -m 755 -t "$folder" "$BUILD/donard-cli" "$BUILD"/libdonard{,-meter}.so.0
	((EUID != 0)) || as=(setpriv --reuid 65533 --regid 65533 --clear-groups)
	# shellcheck disable=SC2016  # for the inner shell
	out=$(cd / && "${as[@]}" bash -c 'ulimit -u 0; exec "$0" measure --meter none true' "$folder/donard-cli" 2>&1) ||
		status=$?
	rm -r "$folder"
	printf 'status %d (expected 1): %s\n' "$status" "$out"
	((status == 1)) && [[ $out == *'a process cannot be started (fork: Resource temporarily unavailable)'* ]]
}

# Where donard-stat is missing nothing is lost: the samples come as they are.
bench_without_stat() {
	local folder=$LOGS/alone out
	mkdir -p "$folder"
	cp "$BUILD/donard-bench" "$BUILD"/libdonard{,-meter}.so.0 "$folder/"
	out=$(PATH=/nowhere "$folder/donard-bench" null --rounds 1 2>"$folder/err") || return 1
	cat "$folder/err"
	grep -q 'donard-stat.*neither beside this program nor in PATH' "$folder/err" &&
		python3 -c 'import json, sys; sys.exit(len(json.loads(sys.argv[1])["samples"]) != 2)' "$out"
}

# Nor is donard-stat at fault where nobody takes the table.
bench_cannot_write_its_table() {
	local status=0
	"$BUILD/donard-bench" null --rounds 1 >/dev/full 2>"$LOGS/full" || status=$?
	printf 'on a full disk: status %d (expected 1), %s\n' "$status" "$(<"$LOGS/full")"
	((status == 1)) && ! grep donard-stat "$LOGS/full" && grep -q 'writing the output failed: No space left' "$LOGS/full" || return
	python3 - "$BUILD/donard-bench" <<-'END'
		import os, signal, subprocess, sys
		reader, writer = os.pipe()
		os.close(reader)
		done = subprocess.run([sys.argv[1], "null", "--rounds", "1"], stdout=writer, stderr=subprocess.PIPE, check=False)
		print("into a closed pipe:", done)
		sys.exit(done.returncode != -signal.SIGPIPE or b"stat" in done.stderr or b"Traceback" in done.stderr)
	END
}

# A signal to the bench alone, while its server takes its time, ends both.
bench_stops_before_its_server_listens() {
	local folder=$LOGS/waiting status=0
	mkdir -p "$folder"
	cp "$BUILD/donard-bench" "$BUILD"/libdonard{,-meter}.so.0 "$folder/"
	printf '#!/bin/sh\necho $$ >"%s/pid"\nexec sleep 600\n' "$folder" >"$folder/donard-cli"
	chmod 755 "$folder/donard-cli"
	rm -f "$folder/pid"
	"$folder/donard-bench" table1 --here 127.0.0.1 dram=dram --meter none --json >"$folder/said" 2>&1 &
	until [[ -s $folder/pid ]]; do
		kill -0 $! || break
		sleep 0.1
	done
	kill -TERM $!
	wait $! || status=$?
	cat "$folder/said"
	((status == 130)) && grep -q '"canceled"' "$folder/said" && [[ ! -d /proc/$(<"$folder/pid") ]]
}

bench_shows_a_table() {
	local out
	out=$("$BUILD/donard-bench" null --rounds 3) || return 1
	printf '%s\n' "$out"
	[[ $out =~ ^between\ the\ markers.*nothing\ .*process\  ]]
}

# literals_of FOLDER... - FILE:LINE:"TEXT" of each that their C files have.
literals_of() {
	grep -rnoE '"([^"\\]|\\.)*"' "$@" --include='*.[ch]'
}

# options_in FOLDER - literals with what only the command line has, also its placeholders. Other programs have options, too.
options_in() {
	literals_of "$1" | sed -E 's/(mdadm|blockdev|podman run|docker run) [^)"]*//g' |
		grep -E 'donard-cli|[^a-z0-9-]--[a-z][a-z-]*([^a-z=-]|$)|\<(SRC|DST|REGION|ADDR)\>'
}

# copies_in FOLDER... - literals that take the caller for a copy, which may be a queue or a cache. The files that are left out
# say so in texts that copies alone reach.
copies_in() {
	literals_of "$@" | grep -vE '^[^:]*(drive/kept|drive/room|join/cache)\.c:' |
		grep -E '\<([Cc]opy (again|without|other)|[Aa] copy (would|writes|does)|([Tt]he|another) (copy|destination)|donard copies)\>'
}

library_speaks_api() {
	! options_in lib
}

command_line_in_library_is_caught() {
	local tree=$LOGS/speaks
	mkdir -p "$tree"
	cat >"$tree/a.c" <<-'END'
		fail("%s: no. 'donard-cli list' shows them.", a);
		fail("%s: no. Start it (mdadm --run).", a);
		fail("%s: a smaller " "--block-size.", a);
		fail("Start it (mdadm --run) or pass --via.");
		fail("Name another region (--via)");
		argv = { "perf", "--log-fd=1" };
		fail("longer than SRC.");
	END
	diff - <(cd "$tree" && options_in . | cut -d: -f2) <<<$'1\n3\n4\n5\n7'
}

shared_rooms_speak_to_each_caller() {
	! copies_in lib/{base,cache,drive,gpu,join,memory,queue,rdma,region,ring}
}

text_for_copies_alone_is_caught() {
	local tree=$LOGS/copies
	mkdir -p "$tree/drive"
	echo 'fail("Wait, and copy again.");' >"$tree/drive/kept.c"
	cat >"$tree/drive/a.c" <<-'END'
		fail("%s: a copy would destroy it.", a);
		fail("Use a copy of the file.");
		fail("no copy of its superblock is whole");
		fail("%s. Copy without "
		     "PASSTHROUGH, or choose another destination.", a);
	END
	diff - <(cd "$tree" && copies_in . | cut -d: -f2) <<<$'1\n4\n5'
}

# What the library names as its headers do, one place of the programs has in the words of the command line.
names_of_library_have_options() {
	local option call command
	! grep -rn 'donard_error(' words tool cli bench --include='*.c' | grep -v 'cli_in_options(donard_error(' || return
	for option in $(grep -oE '"--[a-z-]+"' tool/terms.c | tr -d '"'); do
		grep -q "	$option	" < <("$BUILD/donard-cli" --dump-commands) || { echo "$option: no command has it"; return 1; }
	done
	# Who has handles of memory, meters and registrations of its own is a program; a debug build speaks to who writes one.
	for call in $(literals_of lib | grep -v '^lib/base/handle\.c:' | grep -oE '\<donard_[a-z_]+\(\)?' |
		grep -vE '^donard_(memory|meter|rdma_register)' | sort -u); do
		grep -qF "\"$call\"" words/words.c || { echo "$call: an error names it, and words/words.c does not"; return 1; }
	done
	while read -ra command; do
		"$BUILD/donard-cli" help "${command[@]:1}" >"$LOGS/help" 2>&1 || { cat "$LOGS/help"; return 1; }
	done < <(grep -ohE "donard-cli( [a-z]+)+" words/words.c tool/terms.c)
}

# Errors of a cache's client also reach users of nbdkit's plugin and of Python, who do not see the library's names. Both programs
# have a word for each option that such an error names, also for those of the server. Neither passes flags or reserved members.
names_of_cache_clients_have_words() {
	local name
	for name in $(literals_of lib | grep -E '^lib/(cache/client|rdma/reach)[a-z_]*\.c:' |
		grep -oE '\<options\.[a-z_]+|\<(FORMAT|VOLATILE_OK|NO_CLEANER|READ_BACK|GIVE_UP_DAMAGED)\>' | sort -u |
		grep -vxE 'options\.(flags|reserved)'); do
		grep -qF "{ \"$name\"," nbd/worker.c || { echo "$name: nbd/worker.c has no word for it"; return 1; }
		grep -qF "\"$name\":" python/donard/_errors.py || grep -qE "def connect\(.*[ (]${name#options.}:" python/donard/_queue.py ||
			{ echo "$name: python/donard/_errors.py has no word for it"; return 1; }
	done
}

# try_without_rdma NAME COMMAND... - a test that needs a machine without an RDMA device: libibverbs asks the kernel itself.
try_without_rdma() {
	wanted "$1" || return 0
	if [[ -n $(compgen -G '/sys/class/infiniband/*') ]]; then
		skipped "$1" "this machine has an RDMA device"
	else
		try "$@"
	fi
}

run_cli_contracts() {
	try "cli: errors of the library name no command and no option" library_speaks_api
	try "cli: one that does is caught" command_line_in_library_is_caught
	try "cli: errors of rooms that all callers share take none for a copy" shared_rooms_speak_to_each_caller
	try "cli: one that does so is caught" text_for_copies_alone_is_caught
	try "cli: what errors name has a name of the command line" names_of_library_have_options
	try "cli: what errors of a cache name has words in nbdkit and Python" names_of_cache_clients_have_words
	try "cli: JSON of a name that is not UTF-8" json_of_any_name
	try "cli: errors as JSON are data" errors_are_data
	try "cli: strings enter JSON at one place" strings_enter_json_once
	try "cli: completion is the command table" completion_is_the_table
	try "cli: man page of donard-cli has its table" tests/host/manual.py "$BUILD/donard-cli" docs/donard-cli*.1
	try "cli: doctor, machines that are described" tests/host/doctor.py golden "$BUILD/donard-cli"
	try "cli: doctor, its codes in docs/troubleshooting.md" tests/host/doctor.py codes "$BUILD/donard-cli" docs/troubleshooting.md
	try "cli: doctor, messages that docs/troubleshooting.md quotes" tests/host/doctor.py symptoms docs/troubleshooting.md
	try "cli: doctor, a captured machine moves no bytes" cli_exits 2 'exclude each other' doctor --root / --probe
	try "cli: doctor, scratch for nothing" cli_exits 2 '--scratch needs --probe' doctor --scratch /tmp
	try "cli: cache top, a server that does not answer" cache_top_of_a_silent_server
	try "cli: doctor, scratch that cannot be used" scratch_cannot_be_used
	try "cli: doctor, a file is no machine" cli_exits 1 'not a folder that can be read' doctor --root "$BUILD/donard-cli"
	try "cli: doctor, no such machine" cli_exits 1 'not a folder that can be read' doctor --root /nonexistent
	mkdir -p "$LOGS/empty/sys/class"
	try "cli: doctor, an empty machine" json_of 3 'it["verdict"] == "impossible" and len(it["findings"]) >= 3' \
		doctor --json --root "$LOGS/empty"
	try "cli: doctor, values forge no line" doctor_forges_nothing
	try "cli: functions that do not fit into unrouted" unrouted_is_counted
	try "cli: doctor, a machine without sysfs" json_of 3 '"no sysfs is mounted there" in it["error"]["message"]' \
		doctor --json --root "$LOGS"
	try "cli: man page of donard-bench has its table" tests/host/manual.py "$BUILD/donard-bench" docs/donard-bench.1
	try "cli: limits in a man page that are not the table's are caught" limits_are_compared
	try "cli: fractions enter JSON at one place" fractions_enter_json_once
	try "cli: nobody reads JSON that it has made" nobody_reads_json
	try "cli: fractions in JSON have no noise" fractions_are_short
	try "cli: completion within a command" completion_knows_where_it_is
	try "cli: completion of a command, in a folder that has one of its name" completion_adds_a_slash_to_paths
	try "cli: completion of a GPU" completion_offers_gpus
	try "cli: help of measure puts options first" helps 'measure \[OPTION\]\.\.\. COMMAND \[ARGUMENT' help measure
	try "cli: help of no command" cli_exits 2 "'frob' is no command.*list, info.*bench" help frob
	try "cli: help of half a command and no other half" cli_exits 2 "'rdma frob' is no command" help rdma frob
	try "cli: --json before the command" json_of 0 'it["version"]' --json version
	try "cli: --json before a command of bench" json_of 2 'it["error"]["code"] == "usage"' --json bench frob
	try "cli: --json before help" helps '^Commands:' --json help
	try "cli: --json before and behind --help" helps '^Usage: donard-cli copy' --json --help --json copy
	try "cli: --json before help of no command" json_of 2 'it["error"]["code"] == "usage"' --json help frob
	try "cli: -V" cli_exits 0 'donard-cli [0-9]' -V
	try "cli: an option before the command" cli_exits 2 '--quiet stands before the command.*--json' --quiet list
	try "cli: options behind the arguments, with POSIXLY_CORRECT" posix_changes_no_option
	try "cli: short options in one word" cli_exits 2 '-x is not an option of .list' list -xy
	try "cli: wrong use without the module, block size" cli_exits 2 'not a multiple of 512' \
		copy /dev/nvme0n1 p2pmem0 --block-size 1000
	try "cli: a size that is too large" cli_exits 2 "'18446744073709551615' is too large; the largest size is 9223372036854775807" \
		copy /dev/nvme0n1 p2pmem0 --size 18446744073709551615
	try "cli: wrong use without the module, region" cli_exits 2 'not a region' info frob
	try "cli: a closed standard input" cli_exits_closed
	try "cli: which argument is missing" cli_exits 2 ': DST is missing' copy /dev/null
	try "cli: which arguments are missing" cli_exits 2 ': SRC and DST are missing' copy
	try "cli: region add, an offset within 2 MiB" cli_exits 2 'the offset, 1048576, is not a multiple of 2 MiB.*such as 2097152' \
		region add --kind pci-bar --device 0000:00:01.0 --bar 0 --offset 1M
	try "cli: region add, no BAR" cli_exits 2 'bar is missing, and 0000:00:1e.7 has no memory BAR' \
		region add --kind pci-bar --device 0000:00:1e.7
	try "cli: region add, no BAR, and the address as lspci prints it" cli_exits 2 'bar is missing, and 0000:00:1e.7 has no memory BAR' \
		region add --kind pci-bar --device 00:1E.7
	try "cli: region add, BAR 0 of a GPU" cli_exits 2 'bar 0 is where a GPU has its registers: leave --bar out' \
		region add --kind gpu-nvidia --device 0000:00:1e.7 --bar 0
	try "cli: region add, no BAR and no address" cli_exits 2 'device frob: not a PCI address; they look like' \
		region add --kind pci-bar --device frob
	try "cli: which options are missing" cli_exits 2 ': --kind and --device are missing' region add
	try "cli: a missing argument that others may follow" cli_exits 2 ': COMMAND is missing' measure
	try "cli: help of a command and a word too many" cli_exits 2 "'extra' is one argument too many" help list extra
	try "cli: a mistyped command" cli_exits 2 "'lst' is no command. Did you mean 'list'\?" lst
	try "cli: a mistyped second word" cli_exits 2 "Did you mean 'region remove'\?" region remvoe
	try "cli: a second word alone" cli_exits 2 "Did you mean 'rdma serve'\?" serve
	try "cli: a word like no command" cli_exits 2 "'frobnicate' is no command. The commands are" frobnicate
	try "cli: a mistyped option" cli_exits 2 '--verfiy is not .* \(did you mean --verify\?\)\.' copy --verfiy a b
	try "cli: the beginning of an option" cli_exits 2 '\(did you mean --queue-depth\?\)' copy --queue=4 a b
	try "cli: the beginning of an option, without a value" cli_exits 2 '\(did you mean --size\?\)' copy a b --siz
	try "cli: --json behind -- is an argument" no_json_of copy -- --json
	try "cli: --json may be the value of an option" no_json_of copy --via --json a
	try "cli: bench with 100000 words" bench_takes_many_words
	try "cli: bench without donard-stat" bench_without_stat
	try "cli: bench whose table cannot be written" bench_cannot_write_its_table
	try "cli: bench, a signal before its server listens" bench_stops_before_its_server_listens
	try "cli: bench shows a table" bench_shows_a_table
	try "cli: measure, no such program" json_of 127 '"frob: No such file" in it["error"]["message"]' measure --json frob
	try "cli: measure, what cannot be run" cli_exits 126 '/etc/passwd: Permission denied.*Name a program' \
		measure --meter none /etc/passwd
	try "cli: measure, no process to be had" measure_cannot_fork
	try "cli: measure, Ctrl-C at a terminal" measure_at_terminal sh -c 'echo runs; exec sleep 60'
	try "cli: measure, Ctrl-C at a terminal, a group of its own" measure_at_terminal timeout 600 sh -c 'echo runs; exec sleep 60'
	try "cli: measure, the end of its terminal" measure_of_a_lost_terminal
	try "cli: measure, a signal meant for it" measure_passes_signals_on
	try "cli: measure, a signal while a meter counts" measure_counts_what_ran
	try "cli: measure, its meter fails at the end" measure_without_its_meter
	try "cli: measure, a signal before the command has started" measure_stopped_early
	try "cli: measure, a signal after the command has ended" measure_stopped_late
	try "cli: copy, a signal while it opens its meter" copy_stopped_early
	try "cli: copy that ends before its meter counts" copy_fails_early
	try "cli: measure, a status of the command's own" cli_exits 3 'status    3' measure --meter none sh -c 'exit 3'
	try "cli: measure, payload known" json_of 0 'it["payload_bytes"] == 4096' measure --json --payload 4K --meter none true
	try "cli: rdma, an empty address" cli_exits 2 "'' has no address" rdma write ''
	try "cli: rdma, a port alone" cli_exits 2 "':7078' has no address" rdma write :7078
	try "cli: cache status of an empty name" cli_exits 2 '[(]empty[)]: not a region' cache status ''
	try "cli: rdma serve at an empty address" cli_exits 2 'the address is empty' rdma serve dram --bind ''
	try "cli: rdma, port behind the address" cli_exits 2 "'192.0.2.1:7078' and --port 7079: give the port once" \
		rdma write 192.0.2.1:7078 --port 7079
	try "cli: rdma, port behind an IPv6 address" cli_exits 3 '\[::1\]:7078' rdma write '[::1]:7078'
	try "cli: rdma, no port behind the colon" cli_exits 2 'no address or no port' rdma read 192.0.2.1:
	try "cli: rdma, half a bracket" cli_exits 2 'no address or no port' rdma lat '[::1'
	try "cli: cache, port behind the address" cli_exits 2 "'192.0.2.1:7078' and --port 7079: give the port once" \
		cache put 192.0.2.1:7078 - --port 7079
	try "cli: cache put, no such file" cli_exits 1 '/no-such-file: cannot be opened' cache put 192.0.2.1 /no-such-file
	try "cli: cache put, a file that looks like a region" cli_exits 2 'For a file of that name write ./p2pmem.img' \
		cache put 192.0.2.1 p2pmem.img
	try "cli: cache serve, no identity of a log" cli_exits 2 'is no identity of a log' \
		cache serve --nvram p2pmem2 --backing /dev/null --format --discard -123456789abcdef
	try "cli: cache put, an offset of a pipe" cli_exits 2 "'-' has no offset" cache put 192.0.2.1 - --src-offset 4K
	try "cli: cache put, an offset of a pipe by another name" cli_exits 2 "/dev/zero' has no offset" \
		cache put 192.0.2.1 /dev/zero --src-offset 4K
	try "cli: cache put, standard input is closed" nothing_of_closed_input
	try "cli: cache put, more than the file has" cli_exits 1 'it holds [0-9]* bytes, and what is asked for begins at 0 and ends at 1048576' \
		cache put 192.0.2.1 ./LICENSE-GPL --size 1M --pad
	try "cli: cache put, an offset behind the file" cli_exits 1 'what is asked for begins at 1073741824' \
		cache put 192.0.2.1 ./LICENSE-GPL --src-offset 1G
	try "cli: a report beside the bytes" report_beside_bytes
	try "cli: cache get, JSON beside the bytes" cli_exits 2 'both go to standard output' cache get 192.0.2.1 - --json
	try "cli: region apply, the order, and what is not seen" apply_of_two
	try "cli: region apply, control characters" apply_prints_no_controls
	try "cli: region apply, a folder that is not there" cli_exits 1 '/etc/donrad: cannot be read \(No such file.*another folder by --config' \
		region apply --dry-run --json --config /etc/donrad
	try "cli: cache put, no size of a region's place" cli_exits 2 "'frob' is not an offset" cache put 192.0.2.1 p2pmem0+frob
	try "cli: cache trim, no size" cli_exits 2 'Give --size' cache trim 192.0.2.1
	try_without_rdma "cli: cache flush without a device" cli_exits 3 'has no RDMA device' cache flush 192.0.2.1
	try "cli: bench rdma, port behind the address" cli_exits 2 'give the port once' bench rdma '[::1]:7078' --port 1
}
