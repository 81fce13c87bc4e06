# SPDX-License-Identifier: Apache-2.0
# How fast a host is decides how many completions come with one interrupt, and how often a copier waits for them.
# Each costs the kernel some, whatever is copied: here, what; and what a count would be without. Least squares with two
# variables; more samples, of a busy host and of an idle one, tell them apart better.

def of_interrupts: .measured.interrupts;
def of_switches: .measured.context_switches;

def mean: add / length;
# Sum of products of deviations.
def covariance(f; g): (map(f) | mean) as $f | (map(g) | mean) as $g | map((f - $f) * (g - $g)) | add;

# {interrupt, switch}: what one adds to f, of samples. Nothing where they were not counted, or were always the same.
def host_costs(f):
  {interrupt: 0, switch: 0} as $none
  | map(select(f != null and of_interrupts != null and of_switches != null))
  | if length < 4 then $none
    else covariance(of_interrupts; of_interrupts) as $ii | covariance(of_switches; of_switches) as $ss
      | covariance(of_interrupts; of_switches) as $is
      | covariance(of_interrupts; f) as $fi | covariance(of_switches; f) as $fs
      | ($ii * $ss - $is * $is) as $determinant
      | if $determinant <= $ii * $ss / 1000000 then $none
        else {interrupt: (($fi * $ss - $fs * $is) / $determinant), switch: (($fs * $ii - $fi * $is) / $determinant)} end
    end;

# The most that any of the samples met: the line says nothing beyond, and what is more may be the copy's doing.
def host_most: {interrupts: (map(of_interrupts // 0) | max), switches: (map(of_switches // 0) | max)};

# f of a sample, without what the host added.
def apart_from_host($costs; $most; f):
  f as $count
  | if $count == null then null
    else $count - $costs.interrupt * ([of_interrupts // 0, $most.interrupts] | min)
      - $costs.switch * ([of_switches // 0, $most.switches] | min) end;
