#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cache.py TEST ADDRESS - one test of the Python binding's client of a write cache (cachedisk.sh)."""
import asyncio
import errno
import os
import sys

import donard
import donard.aio

MIB = 1 << 20
BLOCK = 64 << 10
PLACE = 4 * MIB


def equal(what, expected, seen):
    if expected != seen:
        sys.exit(f"{what}: expected {expected!r}, seen {seen!r}")


def failure(call):
    """Errno and code of what it raises."""
    try:
        call()
    except donard.Error as error:
        return error.errno, error.code
    return None


def in_flight(address):
    """Out of DRAM, and into a region; beside requests of another cache of the same queue."""
    data = os.urandom(MIB)
    with donard.Context() as context, context.queue() as queue, queue.connect(address) as cache, \
            queue.connect(address, depth=4) as other:
        source, target = context.dram(MIB), context.alloc("p2pmem0", MIB)
        source.write(data)
        cache.register(source, reads=False)
        for at in range(0, MIB, BLOCK):
            cache.write(source, drive_offset=PLACE + at, memory_offset=at, length_bytes=BLOCK, user=at)
        done = []
        while len(done) < MIB // BLOCK:
            done += queue.wait()
        equal("what completed", list(range(0, MIB, BLOCK)), sorted(one.user for one in done))
        equal("bytes, and whether they last", {(BLOCK, False)}, {(one.check(), one.volatile) for one in done})
        other.read(target, drive_offset=PLACE)
        equal("bytes read", MIB, queue.wait()[0].check())
        equal("what is read", True, target.read() == data)
        for ask in (lambda: cache.flush(user="flush"), lambda: cache.flush(to_drive=True, user="flush"),
                    lambda: cache.trim(drive_offset=PLACE, length_bytes=MIB, user="flush")):
            ask()
            completion, = queue.wait()
            completion.check()
            equal("whose completion it is", "flush", completion.user)
        info = cache.info()
        equal("requests", (MIB // BLOCK + 3, 0, True, True), (info.requests, info.in_flight, info.connected, info.durable))
        equal("the drive and the NVRAM", ("p2pmem2", 0), (info.nvram, info.drive_bytes % info.block_bytes))
        other.forget(target)


async def everything(address):
    data = os.urandom(MIB)
    places = range(0, MIB, BLOCK)
    with donard.Context() as context:
        source, target = context.dram(MIB), context.dram(MIB)
        source.write(data)
        async with donard.aio.Queue(context) as queue, queue.connect(address, depth=4) as cache:
            done = await asyncio.gather(*(cache.write(source, drive_offset=at, memory_offset=at, length_bytes=BLOCK)
                                          for at in places))
            equal("bytes", MIB, sum(one.result for one in done))
            await cache.flush(to_drive=True)
            await asyncio.gather(*(cache.read(target, drive_offset=at, memory_offset=at, length_bytes=BLOCK) for at in places))
            equal("what is read", True, target.read() == data)
            await cache.trim(drive_offset=0, length_bytes=MIB)
            task = asyncio.ensure_future(cache.read(target))
            await asyncio.sleep(0)
            task.cancel()
            equal("a canceled task", True, isinstance((await asyncio.gather(task, return_exceptions=True))[0],
                                                      asyncio.CancelledError))
            equal("in flight after it", 0, cache.cache.info().in_flight)
            try:
                await cache.read(target, drive_offset=1)
                sys.exit("a part of a block: it was no failure")
            except donard.Error as error:
                equal("a part of a block", errno.EINVAL, error.errno)


def awaited(address):
    asyncio.run(everything(address))


def refused(address):
    with donard.Context() as context, context.queue() as queue:
        memory = context.dram(BLOCK)
        cache = queue.connect(address, depth=1)
        equal("a part of a block", (errno.EINVAL, "alignment"), failure(lambda: cache.write(memory, drive_offset=1)))
        equal("past the end", (errno.ENXIO, "past-end"), failure(lambda: cache.read(memory, drive_offset=1 << 50)))
        cache.write(memory, user="first")
        equal("one too many", (errno.EAGAIN, "queue-full"), failure(lambda: cache.flush()))
        equal("the first", ["first"], [one.user for one in queue.wait()])
        # Its completion is lost, and the queue forgets it.
        cache.write(memory)
        cache.close()
        equal("what is left", [], queue.wait(timeout=0))
        try:
            cache.flush()
            sys.exit("a closed cache: it was no failure")
        except ValueError as error:
            equal("a closed cache", "the cache is closed", str(error))
        left = queue.connect(address)
        queue.close()
        left.close()


def lost(address):
    with donard.Context() as context, context.queue() as queue, queue.connect(address) as cache:
        memory = context.dram(BLOCK)
        cache.write(memory)
        queue.wait()[0].check()
        print("connected", flush=True)
        sys.stdin.readline()
        try:
            cache.write(memory)
            queue.wait()[0].check()
            sys.exit("a write to a server that is gone: it was no failure")
        except donard.Error as error:
            equal("a write to a server that is gone", errno.ECONNRESET, error.errno)
            equal("another", errno.ECONNRESET, failure(lambda: cache.flush())[0])
        equal("connected", False, cache.info().connected)


if __name__ == "__main__":
    {"in_flight": in_flight, "awaited": awaited, "refused": refused, "lost": lost}[sys.argv[1]](*sys.argv[2:])
