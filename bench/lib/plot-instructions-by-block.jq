# SPDX-License-Identifier: Apache-2.0
# What fio and donard take of the CPU, by block size and direction.
include "results";
include "text";
include "figure";
include "plot-blocks";

def finding:
  "CPU instructions per MiB copied: donard takes \(compared("instructions_per_mib") | span(ratio)) of fio's";

swept as $points
| ($points | block_panels("instructions_per_mib"; "instructions per MiB")) as $panels
| if $panels == [] then empty
  else {title: ($points | finding), emulated: (runs("copy-sweep") | is_emulated), $panels,
        subtitle: "NVMe drive and device memory, peer to peer; Linux \($points[0].kernel), depth 16, one thread"}
    | lines_figure end
