# SPDX-License-Identifier: Apache-2.0
# Samples of rdma.sh, slurped, to the lines of a table in the form of Donard's Table 1. Everything is a ratio to plain
# memory as the target, in the same run; perftest to donard on the same target, in the same round.
def median: sort | .[(length / 2 | floor)];
def of($samples; $key): $samples | map(.[$key]) | median;
def rounded: . * 100 | round / 100 | tostring;
def ratio($a; $b): if $b == 0 then "-" else ($a / $b | rounded) end;
def word: {dram: "DRAM", p2pmem2: "NVRAM (PMR)", p2pmem0: "GPU-like BAR"}[.];
# Neighbours in time share what else the machine did.
def paired($mine; $theirs):
  [$mine[] | . as $one | $theirs[] | select(.round == $one.round) | $one.bytes_per_second / .bytes_per_second]
  | median | rounded;

. as $all
| def some($fabric; $operation; $target; $method):
    $all | map(select(.fabric == $fabric and .operation == $operation and .target == $target and .method == $method));
  ["fabric", "operation", "target", "bandwidth", "latency p50", "latency p99", "server CPU", "server faults",
   "verified", "donard / perftest"],
  ( ["rxe", "siw"][] as $fabric
  | ["write", "read"][] as $operation
  | ["dram", "p2pmem2", "p2pmem0"][] as $target
  | some($fabric; $operation; $target; "donard") as $mine
  | select($mine | length > 0)
  | some($fabric; $operation; "dram"; "donard") as $base
  | [$fabric, $operation, ($target | word),
     ratio(of($mine; "bytes_per_second"); of($base; "bytes_per_second")),
     ratio(of($mine; "p50_ns"); of($base; "p50_ns")),
     ratio(of($mine; "p99_ns"); of($base; "p99_ns")),
     ratio(of($mine; "cpu_seconds_per_gib"); of($base; "cpu_seconds_per_gib")),
     (of($mine; "faults") | tostring), ($mine | all(.verified) | if . then "yes" else "NO" end),
     paired($mine; some($fabric; $operation; $target; "perftest"))] )
| @tsv
