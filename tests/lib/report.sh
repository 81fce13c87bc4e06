# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests of bench/report and bench/guard, by invented results whose costs are known (tests/data/results.jq).
# Sourced by tests/check, never run.

REPORT=

# results NAME KERNEL [FILTER] - invented results, changed by FILTER.
results() {
	jq -n --arg name "$1" --arg kernel "$2" -f tests/data/results.jq | jq "${3:-.}"
}

report_inputs() {
	local name
	mkdir -p "$1"
	results copy-counts 6.12.9 >"$1/copy-counts-6.12.9.json"
	results copy-counts 7.3.4 >"$1/copy-counts-7.3.4.json"
	results table1 7.3.4 >"$1/table1-rxe.json"
	results rdma-counts 7.3.4 >"$1/rdma-counts-rxe.json"
	for name in copy-rates copy-sweep null; do
		results "$name" 7.3.4 >"$1/$name.json"
	done
	results setup 7.3.4 '.skipped = [{method: "pin", bytes: 65536, live: 0, why: "no ring"}]' >"$1/setup.json"
}

# As a meter of a real machine would have it: sums only, and nothing emulated.
hardware_inputs() {
	local totals='.dram_read_bytes = .dram_cpu_payload_bytes + .dram_cpu_overhead_bytes
		| .dram_written_bytes = .dram_dma_payload_bytes
		| {dram_read_bytes, dram_written_bytes}'
	mkdir -p "$1"
	results copy-counts 7.3.4 ".emulated = false | .meter = \"likwid\" | .samples[].measured |= ($totals)" \
		>"$1/copy-counts-7.3.4.json"
}

make_reports() {
	report_inputs "$REPORT/in"
	bench/report "$REPORT/in" --out "$REPORT/page.md" &&
		hardware_inputs "$REPORT/hardware" &&
		bench/report "$REPORT/hardware" --out "$REPORT/hardware.md"
}

# shows REGEX [PAGE] - the page has such a line.
shows() {
	grep -E -- "$1" "$REPORT/${2-page.md}" || { echo "expected a line like: $1"; return 1; }
}

# With 10,000 bytes and a million instructions to start, only a difference of sizes yields these.
shows_costs() {
	shows '^\| donard p2p \| 0 \| 0 \| 0\.040 \| 0\.040 \| 60,000 \| 1,024 \| 1\.00 \|' &&
		shows '^\| donard, bounced \| 1\.00 \| 1\.00 \| 0\.500 \| 2\.50 \| 300,000 \|'
}

# As bench table1 writes them: bandwidth, latency and comparison are samples of their own.
shows_table1_samples() {
	# shellcheck disable=SC2016  # jq
	local split='.samples |= map(select(.method == "donard")
		| (del(.fabric, .verified, .latency_ns) | .name = .target | .target = "p2pmem9"
		   | .direction = .operation | .operation = "bandwidth" | .purpose = "measure") as $sample
		| $sample,
		  ($sample | .latency_ns = {p50: 3000, p99: 5000} | .operation = "latency" | .bytes_per_second = 1),
		  ($sample | .purpose = "verify" | .bytes = 64 | .verified_bytes = 64 | .bytes_per_second = 2))'
	mkdir "$REPORT/table1"
	results table1 7.3.4 "$split" >"$REPORT/table1/table1-siw.json"
	bench/report "$REPORT/table1" --out "$REPORT/table1.md" &&
		shows '^\| siw \| write \| NVRAM \(PMR\) \| 0\.91 \| 1\.00 \| 1\.00 \| .* \| yes \|$' table1.md
}

shows_different_payload() {
	mkdir "$REPORT/uneven"
	results rdma-counts 7.3.4 '.samples[0].measured.dram_cpu_payload_bytes += 1' >"$REPORT/uneven/rdma-counts-rxe.json"
	bench/report "$REPORT/uneven" --out "$REPORT/uneven.md" &&
		shows '^\| rxe \| switch \| write \| DRAM .* \| 3, \*\*2 different\*\* \|$' uneven.md
}

# bench table1 on hardware: sums of memory controllers, in the same run as the rates.
shows_sampled_rdma() {
	mkdir "$REPORT/sampled"
	results rdma-counts 7.3.4 '.emulated = false | .meter = "likwid" | .samples[].measured = {dram_total_bytes: 2500000}' \
		>"$REPORT/sampled/table1-mlx5.json"
	bench/report "$REPORT/sampled" --out "$REPORT/sampled.md" &&
		shows '^\| mlx5 \| read \| GPU-like BAR \| .* \| 2\.50 \| - \|' sampled.md
}

shows_newest_kernel() {
	[[ $(grep -c '^Linux 7\.3\.4, p2pmem0, generic pages, blocks of 1 MiB' "$REPORT/page.md") == 1 ]]
}

# A verified column with one lie in it, and payload that one round lost to DRAM.
bad_copies_show() {
	# shellcheck disable=SC2016  # jq
	local filter='(.samples | map(.method == "donard") | index(true)) as $i
		| .samples[$i].verified = false | .samples[$i].measured.dram_cpu_payload_bytes = 64'
	mkdir "$REPORT/bad"
	results copy-counts 7.3.4 "$filter" >"$REPORT/bad/copy-counts-7.3.4.json"
	bench/report "$REPORT/bad" --out "$REPORT/bad.md" &&
		shows '\*\*up to 64 bytes of payload went through host DRAM\*\*' bad.md &&
		shows '^\| donard p2p .* \*\*NO\*\* \|$' bad.md
}

# shellcheck disable=SC2016  # Markdown
missing_results_are_named() {
	shows '^No `copy-sweep.json` among the results: `bench/run' hardware.md &&
		shows '^No `setup.json`' hardware.md && shows '^No `table1-\*.json`' hardware.md &&
		shows '^No `null.json`' hardware.md && ! shows 'latency.svg' hardware.md
}

# Page and every plot of emulated results, and none of others: the data decides.
emulation_is_marked() {
	local file words='EMULATED (QEMU TCG): counts are exact, rates are only ratios within one run'
	local -a plots=("$REPORT"/page/*.svg)
	((${#plots[@]} == 6)) || { echo "expected 6 plots, seen ${#plots[@]}"; return 1; }
	for file in "$REPORT/page.md" "${plots[@]}"; do
		grep -qF "$words" "$file" || { echo "expected in $file: $words"; return 1; }
	done
	! grep -lF "$words" "$REPORT/hardware.md" "$REPORT"/hardware/*.svg
}

# From the published raw results into another folder, byte for byte.
page_makes_itself_again() {
	mkdir "$REPORT/again" && bench/report "$REPORT/page/data" --out "$REPORT/again/page.md" &&
		cmp "$REPORT/page.md" "$REPORT/again/page.md" && diff -r "$REPORT/page" "$REPORT/again/page"
}

report_refuses() {
	local want=$1 regex=$2 status=0 out
	shift 2
	out=$("$@" 2>&1) || status=$?
	printf 'status %d (expected %d): %s\n' "$status" "$want" "$out"
	((status == want)) && grep -qE -- "$regex" <<<"$out"
}

no_results() {
	mkdir "$REPORT/none" "$REPORT/other"
	echo '{"a": 1}' >"$REPORT/other/x.json"
	report_refuses 1 'no results' bench/report "$REPORT/none" --out "$REPORT/none.md" &&
		report_refuses 1 'holds no results' bench/report "$REPORT/other" --out "$REPORT/none.md" &&
		[[ ! -e $REPORT/none.md ]]
}

committed_page_is_generated() {
	bench/report docs/benchmarks/data --out "$REPORT/committed/benchmarks.md" &&
		diff docs/benchmarks.md "$REPORT/committed/benchmarks.md"
}

# guard_says STATUS REGEX FILTER [KERNEL [BOTH]] - of results that FILTER changed, against unchanged ones; BOTH is
# applied to either first.
guard_says() {
	results copy-counts 7.3.4 "${5:-.}" >"$REPORT/baseline.json"
	results copy-counts "${4:-7.3.4}" "${5:-.} | $3" >"$REPORT/current.json"
	report_refuses "$1" "$2" bench/guard "$REPORT/baseline.json" "$REPORT/current.json"
}

# changed KEY EXPRESSION - a filter on the first round of donard's copies, or on all rounds with "all".
changed() {
	printf '(.samples[] | select(.method == "donard"%s) | .measured.%s) |= (%s)' \
		"$([[ ${3-} == all ]] || echo ' and .round == 0')" "$1" "$2"
}

# Six rounds, whose interrupts cost 700 instructions each, and switches of context 3,000.
# shellcheck disable=SC2016  # jq's
readonly INTERRUPTED='.samples |= [.[] | select(.round == 0) | . + {round: range(6)} | .round as $round
	| .measured |= (. + {interrupts: (300 - 40 * $round), context_switches: (10 + $round * $round % 7)}
		| .instructions_kernel += 700 * .interrupts + 3000 * .context_switches)]'

# interrupted MORE [SWITCHES] - a filter: as many more in each round, and what they cost.
interrupted() {
	printf '.samples[].measured |= (.interrupts += %d | .context_switches += %d | .instructions_kernel += %d)' \
		"$1" "${2-0}" $((700 * $1 + 3000 * ${2-0}))
}

run_guard_tests() {
	local base='not ok - donard to-region .*'
	try "report: guard: equal counts pass" guard_says 0 '^ok - donard to-region' .
	try "report: guard: one payload byte in one round fails" \
		guard_says 1 "${base}dram_cpu_payload_bytes: expected 0, seen 1; to accept it: bench/run baseline" \
		"$(changed dram_cpu_payload_bytes '. + 1')"
	try "report: guard: fewer bytes to the BAR fail" \
		guard_says 1 "${base}bar_dma_bytes: expected 16777216, seen 16773120" \
		"$(changed bar_dma_bytes '. - 4096' all)"
	try "report: guard: 3 % more instructions fail" \
		guard_says 1 "${base}instructions_kernel: expected at most" \
		"$(changed instructions_kernel '. * 1.03' all)"
	try "report: guard: 1 % more instructions pass" \
		guard_says 0 '^ok - donard to-region' "$(changed instructions_kernel '. * 1.01' all)"
	try "report: guard: one disturbed round passes" \
		guard_says 0 '^ok - donard to-region' "$(changed dram_cpu_overhead_bytes '. * 2')"
	try "report: guard: instructions of more interrupts pass" \
		guard_says 0 '^ok - donard to-region' "$(interrupted 80)" '' "$INTERRUPTED"
	try "report: guard: instructions of fewer interrupts and more switches pass" \
		guard_says 0 '^ok - donard to-region' "$(interrupted -50 3)" '' "$INTERRUPTED"
	try "report: guard: more interrupts than the baseline ever met fail" guard_says 1 \
		"${base}instructions_kernel: expected at most" "$(interrupted 1000)" '' "$INTERRUPTED"
	try "report: guard: more switches than the baseline ever met fail" guard_says 1 \
		"${base}instructions_kernel: expected at most" "$(interrupted 0 80)" '' "$INTERRUPTED"
	try "report: guard: as many instructions without interrupts fail" guard_says 1 \
		"${base}instructions_kernel: expected at most" '.samples[].measured.instructions_kernel += 700000' '' \
		"$INTERRUPTED"
	try "report: guard: 3 % more instructions beside fewer interrupts fail" \
		guard_says 1 "${base}instructions_kernel: expected at most" \
		"$(changed instructions_kernel '. * 1.03' all) | $(interrupted -100)" '' "$INTERRUPTED"
	try "report: guard: one round with work beside it passes" guard_says 0 '^ok - donard to-region' \
		"$(changed instructions_kernel '. * 1.5')" '' "$INTERRUPTED"
	try "report: guard: a gain hints at a new baseline" \
		guard_says 0 '#   instructions_user: .* better than the baseline' \
		"$(changed instructions_user '. * 0.9' all)"
	try "report: guard: a count that went missing fails" \
		guard_says 1 "${base}bar_dma_bytes: expected [0-9]+, seen null" "$(changed bar_dma_bytes null all)"
	try "report: guard: data that differs fails" guard_says 1 "${base}verified" '.samples[].verified = false'
	try "report: guard: a point without baseline fails" guard_says 1 "${base}seen none" \
		'.samples[].queue_depth = 3'
	try "report: guard: nothing measured fails" guard_says 1 'not ok - a copy: expected at least one' \
		'.samples = []'
	try "report: guard: fewer points are named" guard_says 0 '^# 24 points of the baseline were not measured' \
		'.samples |= map(select(.method == "donard"))'
	try "report: guard: times do not matter" guard_says 0 '^ok - donard' '.samples[].seconds *= 100'
	try "report: guard: another kernel's own work is not compared" guard_says 0 'only payload' \
		"$(changed instructions_kernel '. * 2' all)" 6.1.0
	try "report: guard: another kernel's payload is compared" guard_says 1 "${base}dram_dma_payload_bytes" \
		"$(changed dram_dma_payload_bytes '. + 512')" 6.1.0
	try "report: guard: sampled counts are refused" guard_says 2 'no exact counts' '.meter = "likwid"'
}

run_report() {
	progress "report"
	REPORT=$(mktemp -d "$LOGS/report.XXXXXX")
	try "report: made from results" make_reports
	try "report: costs leave start-up out" shows_costs
	try "report: compares methods on the newest kernel" shows_newest_kernel
	try "report: both kernels side by side" \
		shows '^\| 6\.12\.9 \| p2pmem0 \| generic \| drive to region \| donard p2p'
	try "report: ratio to fio by block size" \
		shows '^\| drive to region \| 4 KiB \| 7,710,000 \| 11,565,000 \| 0\.67 \|'
	try "report: RDMA as ratio to DRAM" shows '^\| rxe \| write \| GPU-like BAR \| 0\.95 \| 1\.05 \| 1\.05 \|'
	try "report: RDMA samples of bench table1" shows_table1_samples
	try "report: DRAM by target in the table" shows '^\| rxe \| write \| GPU-like BAR \| .* \| 6\.00 \| 1\.00 \|'
	try "report: payload that a BAR keeps out of DRAM" \
		shows '^\| rxe \| switch \| read \| GPU-like BAR \| 1\.00 \| 1\.00 \| 5\.00 \| 1\.00 \| 4,194,304 \| 3, identical \|$'
	try "report: payload that differs between runs is said" shows_different_payload
	try "report: DRAM of a real machine's meter" shows_sampled_rdma
	try "report: growth of set-up costs" shows '^\| touch \| 256 MiB \| 0 \| 239,400 \| 24\.18 \| 256\.00 \|'
	try "report: what was not measured, and why" shows '^- pin, 64 KiB, 0 live: no ring$'
	try "report: times of an emulator are ratios" shows "CPU time / donard's"
	try "report: times of a real machine have units" shows 'CPU s / GiB \| MB/s \| rate / fastest' hardware.md
	try "report: payload in DRAM and wrong data are said" bad_copies_show
	try "report: says which command makes missing results" missing_results_are_named
	try "report: emulation is marked on page and plots" emulation_is_marked
	try "report: its own raw results make the same page" page_makes_itself_again
	try "report: no results, no page" no_results
	try "report: usage" report_refuses 2 'unknown option' bench/report --no-such
	[[ ! -e docs/benchmarks.md ]] ||
		try "report: docs/benchmarks.md is what its raw results make" committed_page_is_generated
	run_guard_tests
}
