# SPDX-License-Identifier: Apache-2.0
# RDMA samples to one figure a fabric, operation, target and method.
include "results";

def PERCENTILES: ["p50", "p90", "p99", "p99.9", "max"];
def targets: ["dram", "nvram", "gpu"];
def target_order: . as $name | (targets | index($name)) // 99;

# bench table1 tells requests for bandwidth, for latency and to compare data apart; here they are one operation, each
# with only the figures it is for.
def rdma_sample($run):
  (.operation == "latency") as $is_latency | (.purpose == "verify") as $is_check
  | . + {kernel: $run.kernel, file: $run.file, fabric: (.fabric // ($run.file | ltrimstr("table1-"))),
         operation: (.direction // .operation), target: (.name // .target)}
  | if $is_latency or $is_check then .bytes_per_second = null else . end
  | if $is_check then .verified = (.verified_bytes == .bytes) else . end;
def rdma_samples: [runs("table1")[] | . as $run | .samples[] | rdma_sample($run)];
def latency: . as $samples | reduce PERCENTILES[] as $p ({}; .[$p] = ($samples | map(.latency_ns[$p]) | median));

def rdma_figures:
  group_by([.fabric, .operation == "read", (.target | target_order), .target, .method])
  | map((.[0] | {fabric, operation, target, method, kernel, file}) + {
      bytes_per_second: (map(.bytes_per_second) | median),
      server_cpu: (map(.server_cpu_seconds_per_gib) | median),
      server_faults: (map(.server_faults) | median),
      latency: latency,
      verified: verdict});

# The DRAM target of the same run, and the other method on the same target.
def rdma_base($all): . as $one | $all | map(select(.fabric == $one.fabric and .operation == $one.operation
  and .method == $one.method and .target == "dram")) | .[0];
def rdma_perftest($all): . as $one | $all | map(select(.fabric == $one.fabric and .operation == $one.operation
  and .target == $one.target and .method == "perftest")) | .[0];
