# SPDX-License-Identifier: Apache-2.0
# A figure as gnuplot reads it: {title, subtitle, emulated, panels}. Logarithms are taken here, so that gnuplot
# sees linear axes whose tics were chosen, and labels can be kept apart.
include "results";
include "text";

def quoted: "'" + gsub("'"; "''") + "'";

# Okabe and Ito's palette: told apart by all kinds of eyes, and in grey.
def COLOURS: {
  "donard": "#0072B2", "fio": "#D55E00", "donard-bounce": "#CC79A7", "fio-fixed": "#E69F00",
  "dram": "#555555", "nvram": "#D55E00", "gpu": "#0072B2",
  "mmap": "#555555", "touch": "#E69F00", "pin": "#0072B2", "register": "#D55E00", "allocate": "#009E73",
  "free": "#CC79A7", "dma_payload": "#D55E00", "cpu_payload": "#E69F00", "overhead": "#56B4E9",
  "dram_in_all": "#999999"};
def colour: COLOURS[.] // "#009E73";

# ---- axes: {low, high, log, tics: [{at, label}]} ----

def scaled($log): if $log then log10 else . end;

def log_tics:
  (min | log10 | floor) as $from | (max | log10 | ceil) as $to
  | (if $to - $from <= 2 then [1, 2, 5] else [1] end) as $steps
  | [range($from; $to + 1) as $decade | $steps[] * pow(10; $decade)];
def log_axis:
  min as $min | max as $max | log_tics as $tics
  | ($tics | map(select(. <= $min)) | max) as $low
  | (($tics | map(select(. >= $max and . > $low)) | min) // $low * 10) as $high
  | {low: ($low | log10), high: ($high | log10), log: true,
     tics: ($tics | map(select(. >= $low and . <= $high) | {at: log10, label: short}))};
def nice_step:
  pow(10; log10 | floor) as $unit | . / $unit
  | (if . <= 1 then 1 elif . <= 2 then 2 elif . <= 5 then 5 else 10 end) * $unit;
def linear_axis:
  ([max, 1e-6] | max / 4 | nice_step) as $step | (max / $step | ceil) as $count
  | {low: 0, high: ([$count, 1] | max * $step), log: false,
     tics: [range([$count, 1] | max + 1) | . * $step | {at: ., label: (. * 1e9 | round / 1e9 | short)}]};
# A logarithm of nothing there is not.
def value_axis: if min > 0 then log_axis else linear_axis end;
# The sizes themselves, no more than five of them named.
def size_axis:
  unique | (length / 5 | ceil) as $every
  | {low: (min | log10), high: (max | log10), log: true,
     tics: [to_entries[] | select(.key % $every == 0) | .value | {at: log10, label: size}]};

# ---- labels at the ends of lines ----

# Sorted labels; neighbours that are too near step apart, half each.
def step_apart($gap):
  reduce range(length - 1) as $i (.;
    ($gap - (.[$i + 1].y - .[$i].y)) as $lack
    | if $lack > 0 then .[$i].y -= $lack / 2 | .[$i + 1].y += $lack / 2 else . end);
# The gap is a line of text, as a share of the panel's height.
def spread($axis; $share):
  (($axis.high - $axis.low) * $share) as $gap | sort_by(.y) | reduce range(50) as $i (.; step_apart($gap));

# ---- to gnuplot ----

def setting($name): "\($name) = \(if type == "string" then quoted else tostring end)";
def tics($axis): "set \($axis)tics (" + (map("\(.label | quoted) \(.at)") | join(", ")) + ")";
def axis($name): "set \($name)range [\(.low):\(.high)]", (.tics | tics($name));
def end_label($x): "set label \(.name | quoted) at \($x),\(.y) left offset 1,0 front tc rgb \(.colour | quoted)";

# Where panel $index of $count lies on the screen, in columns of at most two rows.
def place($index; $count):
  (if $count > 3 then 2 else 1 end) as $rows | ($count / $rows | ceil) as $columns
  | ($index % $columns) as $column | ($index / $columns | floor) as $row
  | (0.97 / $columns) as $width | (0.75 / $rows) as $height | (if $rows > 1 then 0.115 else 0.125 end) as $below
  | {left: ($column * $width + 0.095), right: ((($column + 1) * $width) - (.label_room // 0.11)),
     top: (0.81 - $row * $height), bottom: (0.81 - ($row + 1) * $height + $below)};

def head:
  (.title | setting("figure_title")), (.subtitle | setting("figure_subtitle")),
  (if .emulated then MARK else "" end | setting("figure_mark")), "load 'head.gp'";

# A panel of lines: series of {name, colour, points: [[x, y]]}.
def line_styles:
  .series | to_entries[]
  | "set style line \(.key + 1) lc rgb \(.value.colour | quoted) lw 3 pt \([7, 5, 9, 13, 11, 15][.key % 6]) ps 1.1";
def line_data:
  . as $panel | "$data << EOD",
  (.series | map(.points | map("\(.[0] | scaled($panel.x.log)) \(.[1] | scaled($panel.y.log))") | join("\n"))
   | join("\n\n\n")), "EOD";
def line_labels:
  . as $panel | .series
  | map({name, colour, y: (.points[-1][1] | scaled($panel.y.log))})
  | spread($panel.y; $panel.label_share)[] | end_label($panel.x.high);
def lines_panel($count):
  . as $panel | .value | place($panel.key; $count) as $place
  | .label_share = 0.044 / ($place.top - $place.bottom)
  | ($place | to_entries[] | .key as $key | .value | setting("panel_\($key)")),
    (.title | setting("panel_title")), "set xlabel \(.x_title | quoted)", "set ylabel \(.y_title | quoted)",
    (.x | axis("x")), (.y | axis("y")), (.series | length | setting("panel_series")),
    line_styles, line_data, line_labels, (.extra // [] | .[]), "load 'lines.gp'";

def lines_figure:
  head, ((.panels | length) as $count | .panels | to_entries[] | lines_panel($count)), "unset multiplot";
