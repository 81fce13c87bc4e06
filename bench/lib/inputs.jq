# SPDX-License-Identifier: Apache-2.0
# Every input: where it ran, with what, and the raw samples. $data: their folder, relative to the page.
include "results";
include "text";

def word: if . == null then "-" else tostring end;
def options: .options // {} | to_entries | map("\(.key)=\(.value | if type == "array" then map(tostring) | join(",")
  else tostring end)") | join(" ") | if . == "" then "-" else "`\(.)`" end;
def lines:
  sort_by(.file)[]
  | ["[\(.file)](\($data)/\(.file).json)", (.donard, .kernel, .topology, .meter | word),
     (if .emulated then "yes" else "no" end), (.samples | length | tostring), options];

table(6; ["raw samples", "donard", "kernel", "topology", "meter", "emulated", "samples", "options"]; lines)
