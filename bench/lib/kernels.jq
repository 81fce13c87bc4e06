# SPDX-License-Identifier: Apache-2.0
# donard's copy and the bounced one, by kernel and page type.
include "results";
include "text";

def lines:
  sort_by([(.kernel | version_order), .region, .page_type, (.direction | . == "from-region"),
           (.method | method_order)])[]
  | [.kernel, .region, .page_type, (.direction | direction_name), (.method | method_name), (.queue_depth | tostring),
     (.dma_payload, .cpu_payload, .overhead | share), (.instructions_per_mib | grouped), .verified];

(copies("copy-counts") | map(select((.levers | not) and (.method | startswith("donard"))))
 | group_by([.kernel, .region, .page_type, .direction]) | map(usual_shape) | add // []) as $samples
| if $samples == [] then absent("copy-counts-*.json"; "bench/run copy")
  else "Blocks of 1 MiB, one thread.", "",
    ($samples | points
     | table(5; ["kernel", "region", "pages", "direction", "method", "depth", "DMA payload", "CPU payload", "overhead",
                 "instructions / MiB", "verified"]; lines)) end
