# SPDX-License-Identifier: Apache-2.0
# RDMA samples to one figure a fabric, operation, target and method.
include "results";

def PERCENTILES: ["p50", "p90", "p99", "p99.9", "max"];
def targets: ["dram", "nvram", "gpu"];
# table1-siw, rdma-counts-rxe-rootports
def fabric_of: ltrimstr("table1-") | ltrimstr("rdma-counts-") | split("-")[0];
def target_order: . as $name | (targets | index($name)) // 99;

# Bytes of DRAM for each byte moved, of samples that are about bandwidth alone; as copies have them, see results.jq.
def dram_per_byte:
  if .operation != "bandwidth" or .purpose != "measure" then {}
  else .bytes as $bytes | {dram: ((dram_all // dram_sampled) | over($bytes)), payload: (dram_payload | over($bytes)),
    overhead: (dram_overhead | over($bytes)), bar: (.measured | [.bar_dma_bytes, .bar_cpu_bytes] | total_of | over($bytes)),
    instructions: (instructions | over($bytes) | times(MIB))} end;

# bench table1 tells requests for bandwidth, for latency and to compare data apart; here they are one operation, each
# with only the figures it is for.
def rdma_sample($run):
  (.operation == "latency") as $is_latency | (.purpose == "verify") as $is_check
  | . + dram_per_byte
      + {kernel: $run.kernel, file: $run.file, topology: $run.topology, fabric: (.fabric // ($run.file | fabric_of)),
         operation: (.direction // .operation), target: (.name // .target)}
  | if $is_latency or $is_check then .bytes_per_second = null else . end
  | if $is_check then .verified = (.verified_bytes == .bytes) else . end;
def rdma_samples: [runs("table1")[] | . as $run | .samples[] | rdma_sample($run)];
# Of runs with both ends in one machine, where a meter counts what both move.
def rdma_counts: [runs("rdma-counts")[] | . as $run | .samples[] | rdma_sample($run)];
def latency: . as $samples | reduce PERCENTILES[] as $p ({}; .[$p] = ($samples | map(.latency_ns[$p]) | median));

def rdma_figures:
  group_by([.file, .operation == "read", (.target | target_order), .target, .method])
  | map((.[0] | {fabric, topology, operation, target, method, kernel, file}) + {
      dram: (map(.dram) | median), payload: (map(.payload) | median), payloads: (map(.payload | values) | unique),
      overhead: (map(.overhead) | median), bar: (map(.bar) | median), instructions: (map(.instructions) | median),
      counted: (map(.payload | values) | length),
      bytes_per_second: (map(.bytes_per_second) | median),
      server_cpu: (map(.server_cpu_seconds_per_gib) | median),
      server_faults: (map(.server_faults) | median),
      latency: latency,
      verified: verdict});

# The DRAM target of the same run, and the other method on the same target.
def rdma_base($all): . as $one | $all | map(select(.fabric == $one.fabric and .operation == $one.operation
  and .method == $one.method and .target == "dram")) | .[0];
# The same in one machine: the first such run of that fabric.
def rdma_counted($counts): . as $one | $counts | map(select(.fabric == $one.fabric and .operation == $one.operation
  and .target == $one.target)) | .[0];
def rdma_perftest($all): . as $one | $all | map(select(.fabric == $one.fabric and .operation == $one.operation
  and .target == $one.target and .method == "perftest")) | .[0];
