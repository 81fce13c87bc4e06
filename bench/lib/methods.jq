# SPDX-License-Identifier: Apache-2.0
# Methods side by side, a table a direction. Counts are from the metered runs, times from those without a meter.
include "results";
include "text";

def heads($emulated):
  ["method", "DMA payload", "CPU payload", "overhead", "DRAM in all", "instructions / MiB", "page faults / GiB",
   if $emulated then "CPU time / donard's" else "CPU s / GiB" end, (if $emulated then empty else "MB/s" end),
   "rate / fastest", "verified"];

def of_method($name): map(select(.method == $name)) | .[0];
def name: (.method | method_name) + if .queue_depth == 16 then "" else " (depth \(.queue_depth))" end;
# As ratio to the fastest; of real machines in MB/s, too.
def rates($method; $emulated; $fastest):
  of_method($method).bytes_per_second
  | (if $emulated then empty else times(1e-6) | grouped end), (over($fastest) | ratio);
# An emulator's seconds mean nothing; how they compare does.
def cpu_time($method; $emulated):
  of_method("donard").cpu_seconds_per_gib as $donard
  | of_method($method).cpu_seconds_per_gib
  | if $emulated then over($donard) else . end | ratio;

def lines($rates; $emulated):
  ($rates | map(.bytes_per_second) | max) as $fastest
  | sort_by(.method | method_order) | .[] | . as $point
  | [name, (.dma_payload, .cpu_payload, .overhead, .dram | share), (.instructions_per_mib | grouped),
     (.faults_per_gib | grouped), ($rates | cpu_time($point.method; $emulated)),
     ($rates | rates($point.method; $emulated; $fastest)), .verified];

def direction($direction; $rates; $emulated):
  "### \($direction | direction_name | sub("^d"; "D") | sub("^r"; "R"))", "",
  (in_direction($direction) | table(1; heads($emulated); lines($rates | in_direction($direction); $emulated))), "";

# The lab's meter slows what it counts; counters of real machines do not.
(copies("copy-rates") + (copies("copy-counts") | map(select(.meter != "lab"))) | main_case | usual_shape
 | points) as $rates
| is_emulated as $emulated
| (copies("copy-counts") | map(select(.levers | not)) | main_case | usual_shape) as $samples
| if $samples == [] then absent("copy-counts-*.json"; "bench/run copy")
  else ($samples[0]
    | "Linux \(.kernel), \(.region), \(.page_type) pages, blocks of 1 MiB, depth 16, one thread.", ""),
    ($samples | points | . as $points | directions[] as $direction
     | $points | direction($direction; $rates; $emulated)),
    (if $rates == [] then absent("copy-rates.json"; "bench/run copy") else empty end) end
