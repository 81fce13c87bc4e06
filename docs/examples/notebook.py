# SPDX-License-Identifier: Apache-2.0
"""A drive, device memory and numpy, as in a notebook: each paragraph is a cell.

    python3 notebook.py /dev/nvme0n1 p2pmem0
"""
import sys

import donard
import numpy as np

if len(sys.argv) != 3:
    sys.exit(2)
path, name = sys.argv[1:]
BLOCK = 1 << 20

# What is there?
for region in donard.regions():
    print(f"{region.name}: {region.kind} of {region.bdf}, {region.available_bytes >> 20} of {region.size_bytes >> 20} MiB free")

# A drive, and 16 MiB of device memory. How does the one reach the other?
context = donard.Context()
drive = context.open(path)
memory = context.alloc(name, 16 * BLOCK)
print("route:", memory.route(drive.info.clients[0]).route)

# Sixteen reads in flight, each with an object that comes back with it.
queue = context.queue()
for index in range(16):
    queue.read(drive, memory, file_offset=index * BLOCK, memory_offset=index * BLOCK, length_bytes=BLOCK, user=index)
done = []
while len(done) < 16:
    done += queue.wait()
moved = sum(completion.check() for completion in done)
print(f"{moved} bytes, {queue.info().bounced_bytes} through DRAM; route {done[0].route}, {done[0].evidence}")

# numpy sees the bytes where they are: in the device.
array = np.asarray(memory)
print("sum:", array.sum(dtype=np.uint64))
print("first as numbers:", array[:16].view("<u4"))

# A whole copy, measured. (A meter for real machines: donard.measure("perf"), as root.)
with donard.measure() as measuring:
    result = donard.copy(path, name, dst_offset_bytes=64 << 20, length_bytes=BLOCK, verify=True)
print(f"copied {result.bytes}, bounced {result.bounced_bytes}, {result.bounced_evidence}, verified {result.verified}")
print(f"meter {measuring.result.meter}:", measuring.result.counts or measuring.result.missing)

# An error says what to do.
try:
    context.alloc(name, 1 << 40)
except donard.Error as error:
    print(f"{error.code}: {error}")

# The array goes first: memory that somebody looks at is not given back.
del array
context.close()
