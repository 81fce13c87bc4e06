# SPDX-License-Identifier: Apache-2.0
# A figure of cost against block size, donard beside fio, a panel a direction; shared by two plots.
include "results";
include "text";
include "figure";

def swept:
  copies("copy-sweep")
  | map(select((.levers | not) and .queue_depth == 16 and .threads == 1 and (.method | IN("donard", "fio"))))
  | main_case | points;

# $key: the figure that is drawn.
def block_series($key):
  group_by(.method) | map({name: (.[0].method | method_name), colour: (.[0].method | colour),
    points: (sort_by(.block_bytes) | map([.block_bytes, .[$key]]))});
def block_panels($key; $y_title):
  map(select(.[$key] != null)) | . as $points
  | if . == [] then [] else (map(.[$key]) | value_axis) as $y | (map(.block_bytes) | size_axis) as $x
  | [directions[] as $direction
     | {title: ($direction | direction_name), $x, $y, x_title: "block size", y_title: $y_title,
        series: ($points | in_direction($direction) | block_series($key))}] end;

# From the least to the most of what donard takes for each that fio takes.
def of_method($name): map(select(.method == $name)) | .[0];
def compared($key):
  group_by([.direction, .block_bytes])
  | map(of_method("fio")[$key] as $fio | of_method("donard")[$key] | over($fio));
