# SPDX-License-Identifier: Apache-2.0
# What sections, plots and the guard share: from raw samples to costs of a point. Input is always the array of all
# results, each with its name as "file".
def MIB: 1048576;
def GIB: 1073741824;

def median: map(select(. != null)) | sort | if . == [] then null else .[(length - 1) / 2 | floor] end;
# null + 1 is 1 in jq; a sum with an unknown part is unknown.
def total_of: if any(. == null) then null else add end;
def times($factor): if . == null then null else . * $factor end;
# A cost that is lost in the noise of starting; with none at all there may be no ratio.
def not_lost: if . != null and . < 0 then null else . end;
def above_zero: if . == 0 then null else not_lost end;
def over($divisor): if . == null or $divisor == null or $divisor == 0 then null else . / $divisor end;
# 6.12 is younger than 6.1.
def version_order: [scan("[0-9]+") | tonumber];

def runs($prefix): map(select(.file | startswith($prefix)));
def is_emulated: any(.emulated);

# ---- copies ----

def main_methods: ["donard", "donard-bounce", "memcpy", "dd", "fio"];
def known_methods: main_methods + ["donard-passthrough", "fio-fixed", "fio-passthrough"];
def method_order: . as $name | (known_methods | index($name)) // 99;

# A run says of its region what holds for all samples.
def copy_samples: .options.page_type as $page_type | .samples | map(.page_type //= $page_type);
# Samples of all copies in files named so, each with what its run says.
def copies($prefix):
  [runs($prefix)[] | . as $run | copy_samples[]
   | . + {kernel: $run.kernel, file: $run.file, meter: $run.meter, levers: ($run.options.levers // false)}];

# Everything but size and round: what one figure is about.
def point: {file, kernel, direction, region, page_type, method, block_bytes, queue_depth, threads, levers};

# Median of f at the larger size.
def at_full_size(f): (map(.bytes) | max) as $size | map(select(.bytes == $size) | f) | median;
# What one more byte costs. The difference of two sizes leaves start-up out; with one size nothing is known.
# @settled takes the rounds of a size to one value.
def per_byte(f; settled):
  (map(.bytes) | unique) as $sizes
  | if ($sizes | length) < 2 then null
    else (map(select(.bytes == $sizes[-1]) | f) | settled) as $large
      | (map(select(.bytes == $sizes[0]) | f) | settled) as $small
      | if $large == null or $small == null then null else ($large - $small) / ($sizes[-1] - $sizes[0]) end
    end;
def per_byte(f): per_byte(f; median);
# Whatever disturbs adds.
def least: map(select(. != null)) | min;

def dram_payload: .measured | [.dram_dma_payload_bytes, .dram_cpu_payload_bytes] | total_of;
def dram_overhead: .measured | [.dram_dma_overhead_bytes, .dram_cpu_overhead_bytes] | total_of;
def instructions: .measured | [.instructions_user, .instructions_kernel] | total_of;
def dram_all: [dram_payload, dram_overhead] | total_of;
# Meters of real machines see only the sum.
def dram_sampled: .measured | .dram_total_bytes // ([.dram_read_bytes, .dram_written_bytes] | total_of);

# Not every round is compared: that takes longer than to copy.
def verdict:
  map(.verified)
  | if any(. == false) then "**NO**" elif any(. == true) then "yes" else "not checked" end;

# All samples of one point to its figures.
def figures:
  (.[0] | point) + {
    dma_payload: per_byte(.measured.dram_dma_payload_bytes),
    cpu_payload: per_byte(.measured.dram_cpu_payload_bytes),
    overhead: per_byte(dram_overhead),
    dram: (per_byte(dram_all) // per_byte(dram_sampled)),
    instructions_per_mib: (per_byte(instructions) | times(MIB)),
    user_instructions_per_mib: (per_byte(.measured.instructions_user) | times(MIB)),
    faults_per_gib: (per_byte([.minor_faults, .major_faults] | total_of) | not_lost | times(GIB)),
    cpu_seconds_per_gib: (per_byte([.user_seconds, .system_seconds] | total_of; least) | above_zero | times(GIB)),
    bytes_per_second: at_full_size(if .seconds == null then null else .bytes / .seconds end),
    copies: length,
    payload_bytes_max: (map(dram_payload) | max),
    verified: verdict
  };

def points: group_by(point) | map(figures);

# The kernel, region and page type that sections are about which do not compare these.
def main_case:
  (map(.kernel) | max_by(version_order)) as $kernel
  | map(select(.kernel == $kernel))
  | (map(.region) | min) as $region
  | map(select(.region == $region))
  | (map(.page_type) | min) as $page_type
  | map(select(.page_type == $page_type));

# Those of the usual shape; a tool without a queue, or a small region, takes part with the depth it has.
def usual_shape:
  map(select(.block_bytes == MIB and .threads == 1))
  | group_by(.method)
  | map((map(.queue_depth) | if any(. == 16) then 16 else max end) as $depth
        | map(select(.queue_depth == $depth))[]);

def directions: ["to-region", "from-region"] - (["to-region", "from-region"] - map(.direction));
def in_direction($direction): map(select(.direction == $direction));
