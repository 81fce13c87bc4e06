# SPDX-License-Identifier: Apache-2.0
# Kernel metadata touched for each byte copied, by block size and direction.
include "results";
include "text";
include "figure";
include "plot-blocks";

def of($method): map(select(.method == $method) | .overhead) | span(share);

def finding: "Kernel bookkeeping in DRAM per byte copied: donard \(of("donard")), fio \(of("fio"))";

swept as $points
| ($points | block_panels("overhead"; "overhead: bytes of DRAM per byte copied")) as $panels
| if $panels == [] then empty
  else {title: ($points | finding), emulated: (runs("copy-sweep") | is_emulated), $panels,
        subtitle: "NVMe drive and device memory, peer to peer; Linux \($points[0].kernel), depth 16, one thread"}
    | lines_figure end
