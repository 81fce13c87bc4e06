# SPDX-License-Identifier: Apache-2.0
# RDMA samples to one figure a fabric, operation, target and method.
include "results";

def PERCENTILES: ["p50", "p90", "p99", "p99.9", "max"];
def targets: ["dram", "nvram", "gpu"];
def target_order: . as $name | (targets | index($name)) // 99;

def rdma_samples: [runs("table1")[] | . as $run | .samples[] | . + {kernel: $run.kernel, file: $run.file}];
def latency: . as $samples | reduce PERCENTILES[] as $p ({}; .[$p] = ($samples | map(.latency_ns[$p]) | median));

def rdma_figures:
  group_by([.fabric, .operation == "read", (.target | target_order), .target, .method])
  | map((.[0] | {fabric, operation, target, method, kernel, file, block_bytes, queue_depth}) + {
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
