# SPDX-License-Identifier: Apache-2.0
# What both ends of RDMA move through DRAM for each byte, by target; from runs with both in one machine.
include "results";
include "text";
include "rdma_figures";

def heads: ["fabric", "topology", "operation", "target", "payload / byte", "less than into DRAM", "overhead / byte",
            "BAR / byte", "instructions / MiB", "runs, payload"];
def agreement:
  if .counted == 0 then "-"
  elif (.payloads | length) == 1 then "\(.counted), identical"
  else "\(.counted), **\(.payloads | length) different**" end;
def base($all): . as $one | $all | map(select(.file == $one.file and .operation == $one.operation
  and .target == "dram")) | .[0];
def less($base): if .payload == null or $base.payload == null then null else $base.payload - .payload end;
def lines:
  . as $all | .[] | base($all) as $base
  | [.fabric, .topology, .operation, (.target | target_name), (.payload | share), (less($base) | share),
     (.overhead | share), (.bar | share), (.instructions | grouped), agreement];

(rdma_counts | rdma_figures) as $figures
| if $figures == [] then absent("rdma-counts-*.json"; "bench/run rdma")
  else
    "Client and server are two processes of one machine (a soft NIC talking to itself), since the meter counts in one. "
    + "Both ends are in these counts. **Payload** is the client's buffer, which is DRAM, and the target where that is DRAM: "
    + "a NIC would move it by DMA, soft RDMA does by the CPU. \"Less than into DRAM\" is what a target keeps out of DRAM: its "
    + "own byte for each byte moved, where it lies in a BAR. **Overhead** is the kernel's own work, above all socket "
    + "buffers: soft RDMA copies each byte into one, checks it there and copies it out. A real NIC makes no such copy, so "
    + "that of this table only differences between targets hold for it. Bandwidth runs of 160 requests, from the first one "
    + "until the server has confirmed the last; connecting and registering are not in it.",
    "",
    ($figures | table(4; heads; lines))
  end
