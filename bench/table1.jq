# SPDX-License-Identifier: Apache-2.0
# Samples of rdma.sh, slurped, to the lines of a table in the form of Donard's Table 1. Everything is a ratio to plain
# memory as the target, in the same run; perftest to donard on the same target.
def median: sort | .[(length / 2 | floor)];
def of($sample; $key): $sample | map(.[$key]) | median;
def ratio($a; $b): if $a == null or $b == null or $b == 0 then "-" else ($a / $b * 100 | round / 100 | tostring) end;
def word: {dram: "DRAM", p2pmem2: "NVRAM (PMR)", p2pmem0: "GPU-like BAR"}[.];

. as $all
| ["fabric", "operation", "target", "bandwidth", "latency p50", "latency p99", "server CPU", "server faults",
   "verified", "donard / perftest"],
  ( ["rxe", "siw"][] as $fabric
  | ["write", "read"][] as $operation
  | ($all | map(select(.fabric == $fabric and .operation == $operation))) as $these
  | ($these | map(select(.method == "donard" and .target == "dram"))) as $base
  | ["dram", "p2pmem2", "p2pmem0"][] as $target
  | ($these | map(select(.method == "donard" and .target == $target))) as $mine
  | ($these | map(select(.method == "perftest" and .target == $target))) as $peer
  | select($mine | length > 0)
  | [$fabric, $operation, ($target | word)]
    + ["bytes_per_second", "p50_ns", "p99_ns", "cpu_seconds_per_gib"
       | . as $key | ratio(of($mine; $key); of($base; $key))]
    + [(of($mine; "faults") | tostring), ($mine | all(.verified) | if . then "yes" else "NO" end),
       ratio(of($mine; "bytes_per_second"); if $peer == [] then null else of($peer; "bytes_per_second") end)] )
| @tsv
