# SPDX-License-Identifier: Apache-2.0
# Set-up cost of a step: its median over rounds, in instructions where a meter counted them, else in time.
include "results";

def step_order: . as $step | (["mmap", "touch", "pin", "register", "allocate", "free"] | index($step)) // 99;
def setup_samples: [runs("setup")[] | .samples[]];
def counted: any(instructions != null);
def setup_unit: if counted then "instructions" else "us" end;
def cost_of($counted):
  if $counted then (map(instructions) | median) else (map(.seconds) | median | times(1e6)) end;

# One {method, bytes, live, cost} for each step, size and number of live allocations.
def setup_costs:
  counted as $counted
  | group_by([(.method | step_order), .method, .bytes, .live])
  | map((.[0] | {method, bytes, live}) + {cost: cost_of($counted)})
  | map(select(.cost != null));

# Series of a step along $key, with the other key at its smallest.
def setup_series($key; $fixed):
  group_by([(.method | step_order), .method])
  | map((map(.[$fixed]) | min) as $least | map(select(.[$fixed] == $least)) | sort_by(.[$key]))
  | map(select(map(.[$key]) | unique | length > 1));
