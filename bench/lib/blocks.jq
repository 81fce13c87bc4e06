# SPDX-License-Identifier: Apache-2.0
# Cost against block size, then queue depths and threads: from one sweep.
include "results";
include "text";

def peers: map(select(.method | IN("donard", "fio")));
def by_method($method): map(select(.method == $method)) | .[0];

# ---- block sizes ----

def block_line:
  by_method("donard") as $mine | by_method("fio") as $fio
  | [(.[0] | (.direction | direction_name), (.block_bytes | size)),
     ($mine, $fio | .instructions_per_mib | grouped),
     ($mine.instructions_per_mib | over($fio.instructions_per_mib) | ratio), ($mine, $fio | .overhead | share)];
def blocks:
  map(select(.queue_depth == 16 and .threads == 1))
  | group_by([(.direction | . == "from-region"), .block_bytes]) | map(block_line)[];

# ---- what depth and threads change ----

def shape_lines($rated):
  (map(.bytes_per_second) | max) as $fastest
  | sort_by(.method | method_order)[]
  | [(.direction | direction_name), (.block_bytes | size), (.queue_depth, .threads | tostring),
     (.method | method_name), (.instructions_per_mib | grouped), (.overhead | share),
     (if $rated then .bytes_per_second | over($fastest) | ratio else empty end)];
# Shapes of which $key takes several values while the $fixed ones stay.
def series($key; $fixed; $rated):
  group_by([(.direction | . == "from-region"), .block_bytes, .[$fixed]])
  | map(select(map(.[$key]) | unique | length > 1))[] | group_by(.[$key])[] | shape_lines($rated);
def shapes($key; $fixed; $rated):
  table(5; ["direction", "block", "depth", "threads", "method", "instructions / MiB", "overhead",
            (if $rated then "rate / faster" else empty end)];
        series($key; $fixed; $rated));

# Under the lab's meter the clock counts instructions, and not what they wait for.
def are_rated: all(.meter != "lab");
def rates_note:
  if are_rated then empty
  else "No rates here: under the meter the clock counts instructions, and not what they wait for." end;

(copies("copy-sweep") | map(select(.levers | not)) | main_case | peers) as $samples
| ($samples | are_rated) as $rated
| if $samples == [] then absent("copy-sweep.json"; "bench/run copy")
  else ($samples[0]
    | "Linux \(.kernel), \(.region), \(.page_type) pages. Below: depth 16, one thread.", ""),
    ($samples | points
     | table(2; ["direction", "block", "donard: instructions / MiB", "fio: instructions / MiB", "donard / fio",
                 "donard: overhead", "fio: overhead"]; blocks),
       "", "### Queue depth", "", shapes("queue_depth"; "threads"; $rated),
       "", "### Threads", "", shapes("threads"; "queue_depth"; $rated)),
    "", ($samples | rates_note) end
