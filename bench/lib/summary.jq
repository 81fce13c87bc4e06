# SPDX-License-Identifier: Apache-2.0
# The page's first paragraph: what went through DRAM, peer to peer and bounced.
include "results";
include "text";

def kernels: map(.kernel) | unique | sort_by(version_order) | join(", ");
def payload_per_byte: map(if .dma_payload == null then null else .dma_payload + .cpu_payload end) | span(share);

# What the meters know: payload and overhead apart, or all that the memory controllers saw.
def p2p_words:
  (map(.payload_bytes_max) | max) as $worst
  | if $worst == null then "memory controllers saw \(map(.dram) | span(share)) bytes for each byte copied. "
    else (if $worst == 0 then "not one byte of payload went through host DRAM, by DMA or by CPU"
          else "**up to \($worst | grouped) bytes of payload went through host DRAM**" end)
      + "; the kernel's own bookkeeping touched \(map(.overhead) | span(share)) bytes of DRAM for each "
      + "byte copied. " end;
def bounce_words:
  if all(.payload_bytes_max == null)
  then "The same copies bounced: \(map(.dram) | span(share)) bytes for each byte copied."
  else "The same copies bounced touched \(payload_per_byte) bytes of payload in DRAM for each byte copied, and "
    + "\(map(.overhead) | span(share)) bytes of bookkeeping." end;
def copies_words:
  "In \(map(.copies) | add) copies by `donard-cli`, peer to peer (Linux \(kernels); page types "
  + "\(map(.page_type) | unique | join(", "))), ";

(copies("copy-counts") | map(select(.levers | not)) | points) as $points
| ($points | map(select(.method == "donard"))) as $p2p
| ($points | map(select(.method == "donard-bounce"))) as $bounce
| if $p2p == [] then absent("copy-counts-*.json"; "bench/run copy")
  else ($p2p | copies_words + p2p_words) + (if $bounce == [] then "" else $bounce | bounce_words end) end
