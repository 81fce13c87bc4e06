# SPDX-License-Identifier: Apache-2.0
# Percentiles of RDMA latency by target, a panel a fabric and operation. Of an emulator only ratios are drawn.
include "results";
include "text";
include "figure";
include "rdma_figures";

def unit($base; $emulated): if $emulated then $base.latency.p50 else 1000 end;
def series($all; $emulated):
  map(rdma_base($all) as $base | {name: (.target | target_name), colour: (.target | colour),
    points: [.latency as $latency | PERCENTILES | to_entries[]
             | [.key, ($latency[.value] | over(unit($base; $emulated)))] | select(.[1] != null)]}
    | select(.points != []));
def x_axis: {low: 0, high: (PERCENTILES | length - 1), log: false,
             tics: [PERCENTILES | to_entries[] | {at: .key, label: .value}]};

def panels($emulated):
  . as $all
  | (if $emulated then "times DRAM's p50" else "latency, us" end) as $y_title
  | ([series($all; $emulated)[].points[][1]]) as $values
  | [group_by([.fabric, .operation == "read"])[]
     | {title: "\(.[0].fabric), \(.[0].operation)", series: series($all; $emulated), x: x_axis,
        y: ($values | value_axis),         x_title: "", y_title: $y_title, label_room: 0.135}];

def finding:
  . as $all | map(select(.target != "dram") | .latency.p50 / (rdma_base($all).latency.p50 // empty))
  | if . == [] then "RDMA latency by percentile"
    else "RDMA latency into device memory, median: \(span(ratio)) times that into DRAM" end;

(rdma_samples | rdma_figures | map(select(.method == "donard" and .latency.p50 != null))) as $figures
| (runs("table1") | is_emulated) as $emulated
| if $figures == [] then empty
  else {title: ($figures | finding), $emulated, panels: ($figures | panels($emulated)),
        subtitle: "donard-cli rdma, Linux \($figures[0].kernel), percentiles: medians over rounds"} | lines_figure end
