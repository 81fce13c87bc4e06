# SPDX-License-Identifier: Apache-2.0
# Compares exact counts of copies with a baseline's, a line a point. Input: [baseline, current]; $accept: how to
# take over what is seen. Payload and bytes to BARs must be equal; what else is counted may grow by 2 %.
include "results";
include "fit";

def TOLERANCE: 0.02;
def guarded: {direction, region, page_type, method, block_bytes, queue_depth, threads, bytes};
def title: "\(.method) \(.direction) \(.region) \(.page_type) block \(.block_bytes) depth \(.queue_depth) "
  + "threads \(.threads) bytes \(.bytes)";

def EQUAL: ["dram_dma_payload_bytes", "dram_cpu_payload_bytes", "bar_dma_bytes"];
# Bounded. Kernels differ in the second by themselves, and interrupts add to them.
def OF_DONARD: ["instructions_user"];
def OF_THE_KERNEL: ["dram_dma_overhead_bytes", "dram_cpu_overhead_bytes", "instructions_kernel"];

def counts($key): map(.measured[$key]);
# Where the baseline has none of it, no round may have any; else a round that was disturbed does not count.
def settled($expected): if $expected == 0 then (if any(. == null) then null else max end) else median end;

# Both give {level: "fail" or "hint", text} or nothing; a count that the baseline lacks binds nobody.
def compare_equal($key; $base; $seen):
  ($base | counts($key) | median) as $expected | ($seen | counts($key) | settled($expected)) as $now
  | select($expected != null and $now != $expected)
  | {level: "fail", text: "\($key): expected \($expected), seen \($now)"};
def compare_bounded($key; $expected; $now):
  select($expected != null)
  | if $now == null or $now > $expected * (1 + TOLERANCE)
    then {level: "fail", text: "\($key): expected at most \($expected * (1 + TOLERANCE) | floor), seen \($now)"}
    elif $now < $expected * (1 - TOLERANCE)
    then {level: "hint", text: "\($key): \($now), better than the baseline's \($expected)"}
    else empty end;
def compare_least($key; $base; $seen):
  compare_bounded($key; $base | counts($key) | least; $seen | counts($key) | least);
# The baseline's median, had it met as many interrupts and context switches as the rounds now; but no more than it ever
# met, or a copy that waits for each block would be excused.
def compare_apart_from_host($key; $base; $seen):
  ($base | host_costs(.measured[$key])) as $costs | ($base | host_most) as $most
  | def apart: map(apart_from_host($costs; $most; .measured[$key])) | median;
  ($base | apart) as $expected | ($seen | apart) as $now | ($seen | counts($key) | median) as $count
  | if $expected == null or $now == null then compare_bounded($key; $expected; $now)
    else compare_bounded($key; $count - $now + $expected | round; $count) end;
def compare_data($seen):
  select(any($seen[]; .verified == false)) | {level: "fail", text: "verified: expected true, seen false"};

def differences($base; $seen; $same_kernel):
  [(EQUAL[] as $key | compare_equal($key; $base; $seen)),
   (OF_DONARD[] as $key | compare_least($key; $base; $seen)),
   (select($same_kernel) | OF_THE_KERNEL[] as $key | compare_apart_from_host($key; $base; $seen)),
   compare_data($seen)];

def verdict_line($title):
  (map(select(.level == "fail") | .text)) as $failed | (map(select(.level == "hint") | .text)) as $better
  | if $failed != [] then "not ok - \($title): \($failed | join("; ")); to accept it: \($accept)"
    else "ok - \($title)", ($better[] | "#   \(.); to hold on to it: \($accept)") end;

def by_point: group_by(guarded) | map({point: (.[0] | guarded), samples: .});
def check_point($baselines; $same_kernel):
  . as $now | ($baselines | map(select(.point == $now.point))) as $found | ($now.point | title) as $title
  | if $found == [] then "not ok - \($title): expected a point of the baseline, seen none; to accept it: \($accept)"
    else differences($found[0].samples; $now.samples; $same_kernel) | verdict_line($title) end;

def unmeasured($baselines; $points):
  ($baselines | map(.point)) - ($points | map(.point)) | length | select(. > 0)
  | "# \(.) points of the baseline were not measured now";

. as [$baseline, $current]
| ($baseline.kernel == $current.kernel) as $same_kernel
| ($baseline | copy_samples | by_point) as $baselines | ($current | copy_samples | by_point) as $points
| (if $same_kernel then empty
   else "# kernel \($current.kernel), baseline \($baseline.kernel): only payload, bytes to BARs and "
     + "user instructions are compared" end),
  (if $points == [] then "not ok - a copy: expected at least one, seen none; to accept it: \($accept)" else empty end),
  ($points[] | check_point($baselines; $same_kernel)),
  unmeasured($baselines; $points)
