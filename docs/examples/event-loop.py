# SPDX-License-Identifier: Apache-2.0
"""Device memory in asyncio: eight tasks fill places of it from a drive, and use what has come.

    python3 event-loop.py /dev/nvme0n1 p2pmem0
"""
import asyncio
import sys
import zlib

import donard
import donard.aio

BLOCK = 1 << 20
PLACES = 8
TOTAL = 64


async def worker(place, queue, drive, memory, sums):
    """Its place is free for the next block when it has used this one."""
    for block in range(place, TOTAL, PLACES):
        completion = await queue.read(drive, memory, file_offset=block * BLOCK, memory_offset=place * BLOCK, length_bytes=BLOCK)
        assert completion.result == BLOCK and not completion.bounced
        sums[block] = zlib.crc32(memory.read(place * BLOCK, BLOCK))


async def main(path, region):
    sums = [0] * TOTAL
    with donard.Context() as context, context.open(path) as drive, context.alloc(region, PLACES * BLOCK) as memory:
        async with donard.aio.Queue(context) as queue:
            queue.queue.register(memory)
            await asyncio.gather(*(worker(place, queue, drive, memory, sums) for place in range(PLACES)))
            print(f"{queue.queue.info().bytes} bytes, none by way of DRAM")
    print(f"sum of sums: {sum(sums)}")


if len(sys.argv) != 3:
    sys.exit(2)
asyncio.run(main(*sys.argv[1:]))
