# SPDX-License-Identifier: Apache-2.0
# What it costs to get memory ready: by size, and by how many allocations live already.
include "results";
include "text";
include "setup_costs";

def cost($first; $emulated; $counted):
  if $emulated and ($counted | not) then .cost | over($first) | ratio else .cost | grouped end;
def heading($emulated; $counted):
  if $counted then "instructions" elif $emulated then "time / first row's" else "time, us" end;

# How many times the cost, and for how many times the size.
def lines($key; $emulated; $counted):
  .[] | .[0] as $first | .[]
  | [.method, (.bytes | size), (.live | grouped), cost($first.cost; $emulated; $counted),
     (.cost | over($first.cost) | ratio),
     (if $key == "bytes" then .bytes | over($first.bytes) | ratio else empty end)];
def costs($key; $fixed; $emulated; $counted):
  setup_series($key; $fixed)
  | table(2; ["step", "size", "live", heading($emulated; $counted), "cost / first row's",
              (if $key == "bytes" then "size / first row's" else empty end)]; lines($key; $emulated; $counted));

# What could not be measured, in the benchmark's own words.
def skipped:
  [runs("setup")[] | .skipped // [] | .[]]
  | if . == [] then empty else "", "Not measured:", "" end,
    (.[] | "- \(.method), \(.bytes | size), \(.live | grouped) live: \(.why)");

(runs("setup") | is_emulated) as $emulated
| setup_samples as $samples
| ($samples | counted) as $counted
| if $samples == [] then absent("setup.json"; "bench/run setup")
  else ($samples | setup_costs
    | "### By size", "", costs("bytes"; "live"; $emulated; $counted),
      "", "### By live allocations", "", costs("live"; "bytes"; $emulated; $counted)),
    skipped end
