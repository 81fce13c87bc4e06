# SPDX-License-Identifier: Apache-2.0
# Bars: bytes of payload that RDMA moves through DRAM for each byte, by target, a panel a fabric and operation.
include "results";
include "text";
include "figure";
include "rdma_figures";

# Rectangles x low, x high, y, colour; DRAM on top.
def rectangles: to_entries[] | "0 \(.value.payload) \(-.key) 0x\(.value.target | colour | .[1:])";
def totals: to_entries[]
  | "set label \(.value.payload | share | quoted) at \(.value.payload),\(-.key) left offset 0.6,0 front";
def panel($index; $count):
  (0.76 / $count) as $width
  | ({left: (0.18 + $index * $width), right: (0.18 + ($index + 1) * $width - 0.05), top: 0.76, bottom: 0.17}
     | to_entries[] | .key as $key | .value | setting("panel_\($key)")),
    ("\(.[0].fabric), \(.[0].operation)" | setting("panel_title")),
    "set xlabel 'bytes per byte'", "set yrange [\(-length + 0.4):0.6]", "set xrange [0:2.6]", "set xtics 0,1,2",
    (if $index == 0 then [to_entries[] | {at: -.key, label: (.value.target | target_name)}] | tics("y")
     else "unset ytics" end),
    "$data << EOD", rectangles, "EOD", totals, "load 'bars.gp'";

def less: (map(select(.target == "dram").payload) | min) as $base
  | map(select(.target != "dram") | $base - .payload) | span(share);

(rdma_counts | rdma_figures | map(select(.payload != null))) as $figures
| ($figures | group_by(.fabric) | map(group_by(.file)[0][])) as $shown
| if $figures == [] then empty
  else ({title: "RDMA into device memory: \($shown | less) bytes of payload less through DRAM for each byte",
         emulated: (runs("rdma-counts") | is_emulated),
         subtitle: "client and server in one machine, the client's buffer is DRAM; Linux \($shown[0].kernel)"} | head),
    "set ytics scale 0",
    ([$shown | group_by([.fabric, .operation == "read"])[]] as $panels
     | $panels | to_entries[] | . as $one | $one.value | panel($one.key; $panels | length)),
    "unset multiplot" end
