# SPDX-License-Identifier: Apache-2.0
# Numbers, names and tables as text.
include "results";

def MARK: "EMULATED (QEMU TCG): counts are exact, rates are only ratios within one run";

# ---- numbers ----

def fixed($digits):
  if . < 0 then "-" + (-. | fixed($digits))
  else pow(10; $digits) as $unit | (. * $unit | round) as $scaled
    | ($scaled / $unit | floor | tostring)
      + if $digits == 0 then ""
        else "." + ($scaled % $unit | tostring | ("0" * ($digits - length)) + .) end
  end;
# 1234567 as 1,234,567.
def grouped:
  if . == null then "-"
  elif . < 0 then "-" + (-. | grouped)
  else round | tostring | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",") end;
# Bytes per byte: a bare 0 is exactly 0.
def share:
  if . == null then "-"
  elif . == 0 then "0"
  elif . < 0.001 and . > -0.001 then "< 0.001"
  elif . < 1 then fixed(3)
  else fixed(2) end;
def ratio: if . == null then "-" else fixed(2) end;
# The least to the most of what is known, each as written by f.
def span(f): map(select(. != null)) | if . == [] then "-" else [min, max] | map(f) | unique | join(" to ") end;
def size:
  if . == null then "-"
  elif . >= GIB then "\(. / GIB) GiB"
  elif . >= MIB then "\(. / MIB) MiB"
  elif . >= 1024 then "\(. / 1024) KiB"
  else "\(.) B" end;
# 12 k, 3.5 M: for axes.
def short:
  if . >= 1e9 then "\(. / 1e7 | round / 100) G"
  elif . >= 1e6 then "\(. / 1e4 | round / 100) M"
  elif . >= 1e3 then "\(. / 10 | round / 100) k"
  else tostring end;

# ---- names ----

def method_name:
  {"donard": "donard p2p", "donard-bounce": "donard, bounced", "donard-passthrough": "donard p2p, passthrough",
   "memcpy": "read and memcpy", "dd": "dd",
   "fio": "fio p2p", "fio-fixed": "fio p2p, fixed buffers", "fio-passthrough": "fio p2p, passthrough"}[.] // .;
def direction_name: {"to-region": "drive to region", "from-region": "region to drive"}[.] // .;
def target_name: {"dram": "DRAM", "nvram": "NVRAM (PMR)", "gpu": "GPU-like BAR"}[.] // .;

# ---- Markdown ----

def row: "| " + join(" | ") + " |";
# The first $left columns are words, the others numbers.
def table($left; $heads; rows):
  ($heads | row),
  ([range($heads | length) | if . < $left then "---" else "---:" end] | row),
  (rows | row);
def absent($files; $command): "No `\($files)` among the results: `\($command)` makes it.";
