# SPDX-License-Identifier: Apache-2.0
# RDMA in the form of Donard's Table 1: a line an operation and target, as ratios to DRAM in the same run.
include "results";
include "text";
include "rdma_figures";

def heads($emulated):
  ["fabric", "operation", "target", (if $emulated then empty else "MB/s", "p50, us" end),
   "bandwidth", "latency p50", "p99", "p99.9", "DRAM / byte", "of it payload", "server CPU", "server faults",
   "bandwidth / perftest's", "verified"];
def absolute($emulated):
  if $emulated then empty
  else (.bytes_per_second | times(1e-6) | grouped), (.latency.p50 | times(1e-3) | ratio) end;

# A meter in the same run, on a real machine, or one that counted the same requests in a run of its own.
def lines($emulated; $counts):
  . as $all | .[] | select(.method == "donard") | rdma_base($all) as $base | rdma_perftest($all) as $perftest
  | (if .dram then . else rdma_counted($counts) end) as $counted
  | [.fabric, .operation, (.target | target_name), absolute($emulated),
     (.bytes_per_second | over($base.bytes_per_second) | ratio),
     (("p50", "p99", "p99.9") as $p | .latency[$p] | over($base.latency[$p]) | ratio),
     ($counted.dram | share), ($counted.payload | share),
     (.server_cpu | over($base.server_cpu) | ratio), (.server_faults | grouped),
     (.bytes_per_second | over($perftest.bytes_per_second) | ratio), .verified];

(runs("table1") | is_emulated) as $emulated
| rdma_samples as $samples | (rdma_counts | rdma_figures) as $counts
| if $samples == [] then absent("table1-*.json"; "bench/run rdma")
  else ($samples | map(select(.bytes_per_second != null)) | .[0] // $samples[0]
    | "Requests of \(.block_bytes | size), depth \(.queue_depth). Bandwidth, latency and CPU are ratios to the DRAM "
      + "target of the same fabric and operation; faults are a count; the last ratio is to perftest on the "
      + "same target. DRAM is bytes for each byte moved, of both ends together: see below.",
      ""),
    ($samples | rdma_figures | table(3; heads($emulated); lines($emulated; $counts))) end
