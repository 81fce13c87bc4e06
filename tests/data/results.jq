# SPDX-License-Identifier: Apache-2.0
# Invented results for the tests of bench/report and bench/guard; $name says which file. Costs are round numbers, so
# that a test can tell what must come out: 10,000 bytes and 1,000,000 instructions to start, then so much a byte or MiB.
def run($benchmark; $emulated; $meter; $options; samples):
  {$benchmark, donard: "0.1.0", kernel: $kernel, $emulated, topology: "switch", $meter, $options, samples: [samples]};

# What a method costs: payload by DMA and CPU, overhead (bytes a byte), instructions a MiB at 1 MiB.
def COSTS: {
  "donard": [0, 0, 0.04, 60000], "donard-bounce": [1, 1, 0.5, 300000], "memcpy": [1, 1, 0.75, 400000],
  "dd": [1, 2, 1, 500000], "fio": [0, 0, 0.7, 90000], "fio-fixed": [0, 0, 0.05, 70000],
  "fio-passthrough": [0, 0, 0.03, 55000]};

def measured($cost; $bytes; $insns_per_mib; $round): {
  dram_dma_payload_bytes: ($cost[0] * $bytes), dram_dma_overhead_bytes: 4096,
  dram_cpu_payload_bytes: ($cost[1] * $bytes), dram_cpu_overhead_bytes: (10000 + $cost[2] * $bytes + 10 * $round),
  dram_cpu_user_bytes: 5000, dram_cpu_kernel_bytes: 90000,
  bar_dma_bytes: (if $cost[0] == 0 then $bytes else 0 end), bar_cpu_bytes: 0,
  instructions_user: (500000 + 0.25 * $insns_per_mib * $bytes / 1048576),
  instructions_kernel: (500000 + 0.75 * $insns_per_mib * $bytes / 1048576 + $round),
  dram_read_bytes: null, dram_written_bytes: null};

def copy($method; $direction; $block; $depth; $threads):
  COSTS[$method] as $cost
  | ($cost[3] * (0.5 + 0.5 * 1048576 / $block) * (0.9 + 0.1 * $threads)) as $insns
  | (4194304, 16777216) as $bytes | range(3) as $round
  | {$method, $direction, region: "p2pmem0", block_bytes: $block, queue_depth: $depth,
     threads: $threads, $round, $bytes, seconds: ($bytes * $insns / 1e15 * (1 + $round / 100)),
     wall_seconds: 1, user_seconds: 0.01, system_seconds: ($bytes * $insns / 2e15),
     minor_faults: (100 + $bytes / 1048576), major_faults: 0,
     verified: (if $round == 0 and $bytes == 16777216 then true else null end),
     measured: measured($cost; $bytes; $insns; $round)};

def both: "to-region", "from-region";
def one_shape: copy(COSTS | keys_unsorted[]; both; 1048576; 16; 1);
def sweep:
  (("donard", "fio") as $method | both as $direction
   | copy($method; $direction; 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216; 16; 1),
     copy($method; $direction; 65536; 1, 4, 64; 1), copy($method; $direction; 65536; 16; 2, 4));

def setup_sample($method; $bytes; $live; $insns):
  {$method, $bytes, $live, round: 0, seconds: ($insns / 1e6),
   measured: {instructions_user: 2000, instructions_kernel: ($insns - 2000)}};
def setup:
  (["mmap", 3, 6000], ["touch", 900, 9000], ["pin", 450, 7000], ["register", 500, 20000]) as $step
  | (1, 4, 16, 64, 256) as $mib | setup_sample($step[0]; $mib * 1048576; 0; $step[2] + $step[1] * $mib);
def allocations:
  (["allocate", 9000], ["free", 7000]) as $step
  | (0, 10, 100, 1000, 10000, 100000) as $live | setup_sample($step[0]; 4096; $live; $step[1] + ($live | sqrt));

def table1:
  ("write", "read") as $operation | ("donard", "perftest") as $method | range(3) as $round
  | (["dram", 1], ["nvram", 1.1], ["gpu", 1.05]) as $target
  | {fabric: "rxe", $operation, target: $target[0], $method, $round, block_bytes: 65536, queue_depth: 16,
     bytes_per_second: (2e7 / $target[1]),
     latency_ns: (if $method == "perftest" then null else
       {p50: 200000, p90: 260000, p99: 420000, "p99.9": 900000, max: 2100000} | map_values(. * $target[1] + $round) end),
     server_cpu_seconds_per_gib: (if $method == "perftest" then null else 9.5 end),
     server_faults: (if $method == "perftest" then null else 40 end), verified: true};
# As bench table1 --here counts: the client's byte, and the target's unless that is a BAR.
def rdma_counts:
  ("write", "read") as $direction | range(3) as $round | ("dram", "gpu") as $name
  | {method: "donard", operation: "bandwidth", purpose: "measure", $direction, $name, target: $name, $round,
     block_bytes: 65536, queue_depth: 16, bytes: 1000000, bytes_per_second: 1e8,
     measured: {dram_dma_payload_bytes: 0, dram_dma_overhead_bytes: 0, bar_dma_bytes: 0,
       dram_cpu_payload_bytes: (if $name == "dram" then 2000000 else 1000000 end), dram_cpu_overhead_bytes: 5000000,
       bar_cpu_bytes: (if $name == "dram" then 0 else 1000000 end), instructions_user: 0, instructions_kernel: 4000000}};
def null_run:
  ("nothing", "process") as $method | range(3)
  | {$method, wall_seconds: 0.001, user_seconds: 0, system_seconds: 0, minor_faults: 20, major_faults: 0,
     measured: measured([0, 0, 0, 0]; 0; 0; 0)};

if $name == "copy-counts" then run("copy"; true; "lab"; {page_type: "generic", size: 16777216, rounds: 3}; one_shape)
elif $name == "copy-rates" then run("copy"; true; "none"; {page_type: "generic", size: 16777216, rounds: 3}; one_shape)
elif $name == "copy-sweep" then run("copy"; true; "lab"; {page_type: "generic", size: 16777216, rounds: 3}; sweep)
elif $name == "setup" then run("setup"; true; "lab"; {rounds: 1}; setup, allocations)
elif $name == "table1" then run("table1"; true; "none"; {rounds: 3}; table1)
elif $name == "rdma-counts" then run("table1"; true; "lab"; {rounds: 3}; rdma_counts)
elif $name == "null" then run("null"; true; "lab"; {rounds: 3}; null_run)
else error("no results called \($name)") end
