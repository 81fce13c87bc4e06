# SPDX-License-Identifier: Apache-2.0
# What the harness itself costs.
include "results";
include "text";

def lines:
  group_by(.method)[]
  | [.[0].method, ((map(.measured.instructions_user), map(.measured.instructions_kernel),
      map(dram_payload), map(dram_overhead), map([.minor_faults, .major_faults] | total_of)) | median | grouped)];

[runs("null")[] | .samples[]] as $samples
| if $samples == [] then absent("null.json"; "bench/run null")
  else "The harness itself, median of a sample: between two markers with nothing in between, and around a process that "
    + "does nothing. Differences of two sizes leave it out of every figure above.", "",
    ($samples | table(1; ["between the markers", "instructions, user", "instructions, kernel", "DRAM payload bytes",
                          "DRAM overhead bytes", "page faults"]; lines)) end
