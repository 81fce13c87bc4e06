# SPDX-License-Identifier: Apache-2.0
# Set-up steps: by size beside a line of proportion, and by how many allocations live.
include "results";
include "text";
include "figure";
include "setup_costs";

def lines_of($key): map({name: .[0].method, colour: (.[0].method | colour), points: map([.[$key], .cost])});
def values: [.[].points[][1]];
# Of the series that grows most: how many times the cost at its end.
def growth($key):
  map({method: .[0].method, many: (.[0][$key] as $first | .[-1][$key] | over($first)),
       times: (.[0].cost as $first | .[-1].cost | over($first))}) | max_by(.times);
def unit_title: if setup_unit == "us" then "time, us" else "instructions" end;

# What a cost in proportion to size would look like, from the lower left corner to where it leaves the panel.
def proportion($x; $y):
  ([$x.high - $x.low, $y.high - $y.low] | min) as $rise
  | ["set arrow from \($x.low),\($y.low) to \($x.low + $rise),\($y.low + $rise) nohead dt 2 lw 2 lc rgb '#aaaaaa'",
     "set label 'in proportion to size' at \($x.low + 0.95 * $rise),\($y.low + 0.95 * $rise) right offset -1,0 "
       + "tc rgb '#888888'"];

def by_size($y_title):
  setup_series("bytes"; "live") | lines_of("bytes") as $series
  | if $series == [] then empty
    else ([$series[].points[][0]] | size_axis) as $x | ($series | values | value_axis) as $y
      | {title: "by size", $x, $y, x_title: "size", y_title: $y_title, $series, extra: proportion($x; $y)} end;

# No allocation alive has no logarithm: it stands a decade left of the first number.
def shown_live($least): if . == 0 then $least / 10 else . end;
def live_axis($least):
  unique | {low: (min | shown_live($least) | log10), high: (max | log10), log: true,
            tics: map({at: (shown_live($least) | log10), label: short})};
def by_live($y_title):
  setup_series("live"; "bytes") | lines_of("live") as $series | [$series[].points[][0]] as $all
  | ($all | map(select(. > 0)) | min) as $least
  | if $series == [] then empty
    else {title: "by allocations that live already", x: ($all | live_axis($least)), y: ($series | values | linear_axis),
          x_title: "live allocations", y_title: $y_title,
          series: ($series | map(.points |= map([(.[0] | shown_live($least)), .[1]])))} end;

def finding:
  setup_series("bytes"; "live") as $sizes | setup_series("live"; "bytes") as $lives
  | [($sizes | growth("bytes") // empty
      | "times \(.times | ratio) for \(.many | grouped) times the size (\(.method))"),
     ($lives | growth("live") // empty
      | "times \(.times | ratio) with \($lives | map(.[-1].live) | max | grouped) live")]
  | "Set-up cost: " + join("; ");

setup_samples as $samples
| ($samples | unit_title) as $y_title | ($samples | setup_costs) as $costs
| [$costs | by_size($y_title), by_live($y_title)] as $panels
| if $panels == [] then empty
  else {title: ($costs | finding), emulated: (runs("setup") | is_emulated), $panels,
        subtitle: "one region of device memory; Linux \(runs("setup")[0].kernel), median over rounds"}
    | lines_figure end
