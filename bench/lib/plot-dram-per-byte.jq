# SPDX-License-Identifier: Apache-2.0
# Stacked bars: what each method moves through DRAM for each byte copied, a panel a direction.
include "results";
include "text";
include "figure";

def PARTS: [["dma_payload", "payload, by DMA"], ["cpu_payload", "payload, by CPU"], ["overhead", "overhead"],
            ["dram_in_all", "not told apart"]];
# A meter that sees the sum only gives one part.
def parts: if .dma_payload != null then . else .dram_in_all = .dram end;

# Rectangles x low, x high, y, colour; one under the other, the first method on top.
def rectangles($methods):
  .[] | parts | . as $point | ($methods | index($point.method)) as $place
  | foreach (PARTS[][0] | select(($point[.] // 0) > 0)) as $part ({high: 0};
      {low: .high, high: (.high + $point[$part]), colour: ($part | colour)})
  | "\(.low) \(.high) \(-$place) 0x\(.colour[1:])";
def totals($methods):
  .[] | . as $point
  | "set label \(.dram | share | quoted) at \(.dram // 0),\(-($methods | index($point.method))) left offset 0.6,0 "
    + "front";

def panel($methods; $index; $count; $x):
  (0.76 / $count) as $width
  | ({left: (0.21 + $index * $width), right: (0.21 + ($index + 1) * $width - 0.04), top: 0.76, bottom: 0.17}
     | to_entries[] | .key as $key | .value | setting("panel_\($key)")),
    (.[0].direction | direction_name | setting("panel_title")),
    "set xlabel 'bytes of host DRAM touched per byte copied'", "set yrange [\(-($methods | length) + 0.4):0.6]",
    ($x | "set xrange [0:\(.high)]", (.tics | tics("x"))),
    (if $index == 0 then [$methods | to_entries[] | {at: -.key, label: (.value | method_name)}] | tics("y")
     else "unset ytics" end),
    "$data << EOD", rectangles($methods), "EOD", totals($methods), "load 'bars.gp'";

# What the colours mean, once, above the bars.
def legend($points):
  [PARTS[] | . as $part | select(any($points[]; parts[$part[0]] != null))] | to_entries[]
  | (0.21 + .key * 0.19) as $x
  | "set label '■' at screen \($x),0.84 left font 'sans-serif,22' tc rgb \(.value[0] | colour | quoted)",
    "set label \(.value[1] | quoted) at screen \($x + 0.02),0.84 left tc rgb '#333333'";

def payload($method): map(select(.method == $method) | .dma_payload + .cpu_payload) | max | share;
def finding:
  if any(.method == "donard-bounce") and all(.dma_payload != null)
  then "Payload through host DRAM per byte copied: \(payload("donard")) peer to peer, "
    + "\(payload("donard-bounce")) bounced"
  else "Host DRAM touched per byte copied, by method" end;

(copies("copy-counts") | map(select(.levers | not)) | main_case | usual_shape | points | map(select(.dram != null)))
  as $points
| ($points | map(.method) | unique | sort_by(method_order)) as $methods
| ($points | directions) as $directions
| if $points == [] then empty
  else ({title: ($points | finding), emulated: (runs("copy-counts") | is_emulated),
         subtitle: ($points[0] | "NVMe drive and device memory; Linux \(.kernel), blocks of 1 MiB, depth 16")} | head),
    ($points | legend($points)), "set ytics scale 0",
    ($points | map(.dram * 1.12) | linear_axis) as $x
    | ($directions | to_entries[] | . as $one
       | $points | in_direction($one.value) | panel($methods; $one.key; $directions | length; $x)),
    "unset multiplot" end
