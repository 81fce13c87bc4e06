#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""binding.py TEST [ARGUMENT...] - one test of the Python binding with the regions of a guest (python.sh)."""
import concurrent.futures
import json
import os
import select
import signal
import subprocess
import sys

import numpy

import donard

MIB = 1 << 20
BLOCK = 128 << 10


def equal(what, expected, seen):
    if expected != seen:
        sys.exit(f"{what}: expected {expected!r}, seen {seen!r}")


def says(*words):
    return json.loads(subprocess.run(["donard-cli", *words, "--json"], check=True, stdout=subprocess.PIPE).stdout)


def lists():
    """What the command lists, which has names of its own for some members."""
    expected = says("list")["regions"]
    seen = donard.regions()
    equal("regions", [one["name"] for one in expected], [one.name for one in seen])
    for want, region in zip(expected, seen):
        common = {member: value for member, value in region.as_dict().items()
                  if member in want and not isinstance(want[member], list)}
        equal(f"what the two say of {region.name}", {member: want[member] for member in common}, common)
        equal(f"that they have enough in common: {sorted(common)}", True, len(common) > 8)
    equal("clients", {"alpha", "beta"}, {one.serial for one in donard.clients()} & {"alpha", "beta"})


def buffer(drive, path):
    """numpy, memoryview and the device look at one memory."""
    with donard.Context() as context, context.open(drive, write=True) as file, context.queue() as queue:
        memory = context.alloc("p2pmem0", 2 * MIB)
        array = numpy.asarray(memory)
        equal("fresh memory", 0, int(array.max()))
        queue.read(file, memory)
        equal("bytes", 2 * MIB, queue.wait()[0].check())
        expected = numpy.fromfile(path, "u1", 2 * MIB)
        equal("what numpy sees", True, bool((array == expected).all()))
        equal("memoryview", True, memoryview(memory) == memoryview(expected))
        array ^= 255
        queue.write(file, memory, file_offset=4 * MIB)
        queue.wait()[0].check()
        dram = context.dram(2 * MIB)
        queue.read(file, dram, file_offset=4 * MIB)
        equal("through DRAM", "dram", queue.wait()[0].route)
        equal("what was written", True, bool((numpy.asarray(dram) == (expected ^ 255)).all()))
        try:
            memory.close()
            sys.exit("a memory with a view was closed")
        except BufferError:
            del array


def adopt(owner):
    """In a thread, as docs/python.md has it."""
    with donard.Context() as context:
        memory = context.adopt_memory(owner.fileno(), owner.info.file_offset_bytes, len(owner))
        equal("bytes in a thread", b"there", memory.read(0, 5))
        memory.write(b"bytes")


def imported():
    """A thread has the same memory, and so has a dma-buf; one that was exported for reading is never written."""
    with donard.Context() as context:
        owner = context.claim("p2pmem0", MIB, MIB)
        owner.write(b"there")
        with concurrent.futures.ThreadPoolExecutor() as threads:
            threads.submit(adopt, owner).result()
        for write in True, False:
            fd = owner.export(write=write)
            memory = context.from_dmabuf(fd, 0, 4096)
            os.close(fd)
            info = memory.info
            equal("kind, exporter, pages", ("region", "p2pmem0", "device"), (info.kind, info.exporter, info.pages))
            equal("place", MIB, info.region_offset_bytes)
            equal("bytes", b"bytes", memory.read(0, 5))
            equal("read only", (not write, not write), (info.read_only, memory.view().readonly))
            equal("numpy may write", write, numpy.asarray(memory).flags.writeable)
            memory.close()
        try:
            context.from_dmabuf(0)
            sys.exit("what is no dma-buf was imported")
        except donard.Error as error:
            equal("code", "bad-name", error.code)


def in_flight(drive, path, refused_by=""):
    with donard.Context() as context, context.open(drive) as file, context.queue(depth=16) as queue:
        memory = context.alloc("p2pmem0", 4 * MIB)
        registered = queue.register(memory)
        seen, at = set(), 0
        while len(seen) < 4 * MIB // BLOCK:
            while at < 4 * MIB and queue.info().in_flight < 16:
                queue.read(file, memory, file_offset=at, memory_offset=at, length_bytes=BLOCK, user={"at": at})
                at += BLOCK
            for done in queue.wait():
                equal("completion", (BLOCK, "switch", "proven", False, registered),
                      (done.check(), done.route, done.evidence, done.bounced, done.registered))
                seen.add(done.user["at"])
        equal("objects that came back", set(range(0, 4 * MIB, BLOCK)), seen)
        with open(path, "rb") as data:
            equal("bytes", True, memory.read() == data.read(4 * MIB))
        equal("bounced", 0, queue.info().bounced_bytes)
        equal("proofs", 1, queue.info().proofs)
        why = queue.info().no_io_uring
        equal("who refuses io_uring: " + why, (bool(refused_by), True), (bool(why), refused_by in why))
        queue.unregister(memory)


def copies(drive):
    progress = []
    result = donard.copy(drive, "p2pmem0", length_bytes=4 * MIB, verify=True, meter="none",
                         progress=lambda *call: progress.append(call))
    equal("result", (4 * MIB, 0, "certain" if result.bounced_evidence == "certain" else "watched", "switch", "proven", True),
          (result.bytes, result.bounced_bytes, result.bounced_evidence, result.route, result.route_evidence, result.verified))
    equal("phases", {"copying", "verifying"}, {phase for phase, _, _ in progress} - {"flushing"})
    equal("meter", "none", result.measurement.meter)
    said = says("copy", drive, "p2pmem0", "--size", "4M", "--verify")
    for member in ("bytes", "bounced_bytes", "route", "verified"):
        equal(member, said[member], result.as_dict()[member])
    with donard.Context() as context, context.open(drive) as file, context.alloc("p2pmem0", 2 * MIB) as memory:
        result = context.copy(file, memory, src_offset_bytes=MIB, dst_offset_bytes=MIB, length_bytes=MIB, verify=True)
        equal("between handles", (MIB, "switch", "proven", True),
              (result.bytes, result.route, result.route_evidence, result.verified))
    raised = RuntimeError("enough")

    def stop(*_call):
        raise raised

    try:
        donard.copy(drive, "p2pmem0", length_bytes=4 * MIB, progress=stop)
        sys.exit("the copy was not stopped")
    except RuntimeError as error:
        equal("what stopped it", raised, error)


def refused(path):
    """The text and the code of a pair that is refused are those of the copy."""
    with donard.Context() as context, context.open(path, write=True) as file, context.queue() as queue:
        memory = context.alloc("p2pmem0", MIB)
        errors = []
        for call in (lambda: queue.read(file, memory), lambda: context.copy(path, "p2pmem0")):
            try:
                call()
                sys.exit("it was not refused")
            except donard.Error as error:
                errors.append((error.code, error.exit_status))
        equal("refusals", [("bounces", 3)] * 2, errors)
        try:
            context.copy(path, "p2pmem0", meter="none")
            sys.exit("it was not refused")
        except donard.Error as error:
            equal("what was metered", None, error.result.measurement)


def measures(drive):
    with donard.measure("lab") as measuring:
        pass
    counts = measuring.result.counts
    equal("payload of nothing", (0, 0), (counts["dram_dma_payload_bytes"], counts["bar_dma_bytes"]))
    result = donard.copy(drive, "p2pmem0", length_bytes=MIB, meter="lab")
    counts = result.measurement.counts
    equal("exact", True, result.measurement.exact)
    equal("payload of a copy", (0, 0, MIB), (counts["dram_dma_payload_bytes"], counts["dram_cpu_payload_bytes"],
                                             counts["bar_dma_bytes"]))
    with donard.Context() as context, context.open(drive) as file, context.queue() as queue, \
            context.dram(MIB) as dram, context.measure("lab", payload=[dram]) as measuring:
        queue.read(file, dram)
        queue.wait()[0].check()
    equal("payload of a read into DRAM", MIB, measuring.result.counts["dram_dma_payload_bytes"])


def reformat(drive, number, block_bytes):
    """It ends with a failure where there is no partition table to read."""
    subprocess.run(["nvme", "format", drive, f"--lbaf={number}", "--force"], check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(f"/sys/block/{os.path.basename(drive)}/queue/logical_block_size", "rb") as size:
        equal("blocks", block_bytes, int(size.read()))


def dd(*words, **options):
    return subprocess.run(["dd", "bs=1M", "status=none", *words], check=True, stdout=subprocess.PIPE, **options).stdout


def reformatted(drive, path):
    """A drive gets another format between two copies of one context; a part of its last block stays as it was."""
    with open(path, "rb") as data, donard.Context() as context:
        expected = data.read(2 * MIB)
        for number, block_bytes in (0, 512), (4, 4096), (0, 512):
            reformat(drive, number, block_bytes)
            dd(f"of={drive}", "oflag=direct", "iflag=fullblock", input=expected[MIB:] + expected[:MIB])
            result = context.copy("p2pmem0", drive, length_bytes=MIB + 100, verify=True)
            equal("result", (MIB + 100, 0, "switch"), (result.bytes, result.bounced_bytes, result.route))
            seen = dd(f"if={drive}", "count=2", "iflag=direct")
            equal("what was copied", True, seen[:MIB + 100] == expected[:MIB + 100])
            equal("what lies behind it", True, seen[MIB + 100:] == expected[100:MIB])


def reformatted_below(drive, path):
    """The format changes below an open file: by a queue come the bytes that are there, or none."""
    with open(path, "rb") as data, donard.Context() as context:
        expected = data.read(MIB)
        reformat(drive, 0, 512)
        file, queues = context.open(drive), (context.queue(), context.queue(passthrough=True))
        memory = context.alloc("p2pmem0", 4096)
        for queue in queues:
            queue.read(file, memory, file_offset=8192)
            queue.wait()[0].check()
        reformat(drive, 4, 4096)
        dd(f"of={drive}", "oflag=direct", "iflag=fullblock", input=expected)
        for queue, offset, length, error in ((queues[0], 8192, 4096, None), (queues[0], 512, 512, "failed"),
                                             (queues[1], 8192, 4096, "its size or its format was changed")):
            try:
                queue.read(file, memory, file_offset=offset, length_bytes=length)
                queue.wait()[0].check()
                equal("read", (error, expected[offset:offset + length]), (None, memory.read(0, length)))
            except donard.Error as seen:
                equal(f"refused: {seen}", True, error is not None and error in str(seen))
        try:
            context.copy(file, memory, length_bytes=4096)
            sys.exit("a copy of what was formatted was not refused")
        except donard.Error as seen:
            equal(f"refused: {seen}", True, "its blocks have 4096 bytes now, and had 512 when it was opened" in str(seen))


def detached(drive, controller, number):
    """A drive that has no blocks any more is no source without bytes."""
    with donard.Context() as context:
        file, memory = context.open(drive), context.alloc("p2pmem0", MIB)
        subprocess.run(["nvme", "detach-ns", controller, "--namespace-id=1", f"--controllers={number}"], check=True,
                       stdout=subprocess.DEVNULL)
        try:
            context.copy(file, memory)
            sys.exit("a copy of what is gone was not refused")
        except donard.Error as seen:
            equal(f"code of '{seen}'", ("drive-gone", True), (seen.code, "and open it again" in str(seen)))


def becomes_swap(path):
    """The kernel takes an open file for its own: the next write moves nothing, and says why."""
    with donard.Context() as context, context.open(path, write=True) as file, context.queue() as queue:
        memory = context.alloc("p2pmem0", 4096)
        queue.write(file, memory)
        queue.wait()[0].check()
        subprocess.run(["sh", "-ec", 'mkswap "$0"; sync "$0"; swapon "$0"', path], check=True, stdout=subprocess.DEVNULL)
        try:
            queue.write(file, memory)
            queue.wait()[0].check()
            sys.exit("swap space was written")
        except donard.Error as error:
            equal(f"code of '{error}'", ("busy", True), (error.code, "it is swap space that is in use" in str(error)))
        finally:
            subprocess.run(["swapoff", path], check=True)


def until_the_end(touch):
    """A region that goes away under a view is an event; whoever goes on looking is ended by SIGBUS."""
    context = donard.Context()
    memory = context.alloc("p2pmem0", MIB)
    array = numpy.asarray(memory)
    array[:] = 1
    poll = select.poll()
    poll.register(memory, select.POLLPRI)
    print("ready", flush=True)
    equal("the event", True, bool(poll.poll()[0][1] & select.POLLPRI))
    while memory.state != "gone":
        signal.sigtimedwait([], 0.1)
    try:
        memory.read(0, 16)
        sys.exit("a region that has gone was read")
    except donard.Error as error:
        equal("code", "region-gone", error.code)
    print("gone", flush=True)
    if touch == "touch":
        print(int(array[0]))
    del array
    context.close()
    print("closed", flush=True)


def removed_in_copy(drive, writes):
    """A removal ends a copy between handles, and waits for it alone: both handles are still open when the region is gone."""
    removal = []

    def remove(*_call):
        if not removal:
            removal.append(subprocess.Popen(["donard-cli", "region", "remove", "p2pmem0"]))
        while is_ready("p2pmem0"):
            signal.sigtimedwait([], 0.05)

    with donard.Context() as context, context.open(drive, write=True) as file:
        memory = context.alloc("p2pmem0", 64 * MIB)
        ends = (memory, file) if writes == "writes" else (file, memory)
        try:
            context.copy(*ends, length_bytes=64 * MIB, queue_depth=1, progress=remove)
            sys.exit("the copy did not notice")
        except donard.Error as error:
            equal("code", "region-gone", error.code)
        equal("status of the removal", 0, removal[0].wait(60))
        equal("state", "gone", memory.state)
        try:
            context.copy(*ends, length_bytes=MIB)
            sys.exit("a region that has gone was copied")
        except donard.Error as error:
            equal("code afterwards", "region-gone", error.code)


def is_ready(region):
    try:
        with open(f"/sys/class/p2pmem/{region}/state", encoding="ascii") as state:
            return state.read() == "ready\n"
    except OSError:
        return False


if __name__ == "__main__":
    {call.__name__: call for call in (lists, buffer, imported, in_flight, copies, refused, measures, reformatted,
                                           reformatted_below, detached, becomes_swap, removed_in_copy, until_the_end)}[sys.argv[1]](*sys.argv[2:])
