#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What donard relies on of the CUDA driver API: of the lab's libcuda, and by "make check-gpu" of a real one.

Prints one line for each group of calls; ends with 1 at the first that is wrong. LAB: what only the lab's
libcuda promises, so that tests repeat; the real one may do it otherwise.
"""
import ctypes
import mmap
import os
import struct
import sys
import threading

LAB = "LAB_GPU_BDF" in os.environ
cuda = ctypes.CDLL("libcuda.so.1")
U64 = ctypes.c_uint64
INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, INVALID_CONTEXT, NOT_FOUND, NOT_READY, DESTROYED = 1, 2, 3, 201, 500, 600, 709
PER_THREAD, NON_BLOCKING = ctypes.c_void_p(2), 1
CONTEXT, SYNC_MEMOPS, MEMORY_TYPE, BUFFER_ID, IS_MANAGED, RANGE_START, RANGE_SIZE, RDMA_CAPABLE = 1, 6, 2, 7, 8, 11, 12, 15


def call(name, *args, expect=0):
    got = getattr(cuda, name)(*args)
    if got != expect:
        sys.exit(f"{name}{args}: expected result {expect}, seen {got}")


def equal(what, expected, seen):
    if expected != seen:
        sys.exit(f"{what}: expected {expected!r}, seen {seen!r}")


def alloc(size):
    ptr = U64()
    call("cuMemAlloc_v2", ctypes.byref(ptr), ctypes.c_size_t(size))
    return ptr.value


def free(ptr, expect=0):
    call("cuMemFree_v2", U64(ptr), expect=expect)


def to_gpu(ptr, data):
    call("cuMemcpyHtoD_v2", U64(ptr), data, ctypes.c_size_t(len(data)))


def from_gpu(ptr, size):
    data = ctypes.create_string_buffer(size)
    call("cuMemcpyDtoH_v2", data, U64(ptr), ctypes.c_size_t(size))
    return data.raw


def attribute(ptr, which, kind=ctypes.c_uint):
    value = kind()
    call("cuPointerGetAttribute", ctypes.byref(value), which, U64(ptr))
    return value.value


def contexts():
    context, seen, dev = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(7)
    ptr = U64()
    call("cuDeviceGetCount", ctypes.byref(dev), expect=NOT_INITIALIZED)
    call("cuInit", 0)
    call("cuDeviceGetCount", ctypes.byref(dev))
    call("cuDeviceGet", ctypes.byref(dev), dev.value, expect=101)
    call("cuDeviceGet", ctypes.byref(dev), 0)
    text = ctypes.create_string_buffer(32)
    call("cuDeviceGetPCIBusId", text, 32, 0)
    if LAB:
        equal("address of the GPU, in capitals", os.environ["LAB_GPU_BDF"].upper().encode(), text.value)
    call("cuMemAlloc_v2", ctypes.byref(ptr), ctypes.c_size_t(4096), expect=INVALID_CONTEXT)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuCtxGetCurrent", ctypes.byref(seen))
    equal("current context", context.value, seen.value)
    call("cuCtxPopCurrent_v2", ctypes.byref(seen))
    call("cuCtxPopCurrent_v2", ctypes.byref(seen), expect=INVALID_CONTEXT)
    call("cuCtxSetCurrent", context)


def allocations():
    size = ctypes.c_size_t()
    base = U64()
    a, b = alloc(100000), alloc(65536)
    if LAB:
        equal("two allocations touch", a + 131072, b)
    call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), U64(a + 99999))
    equal("range of an allocation", (a, 100000), (base.value, size.value))
    free(a + 65536, INVALID_VALUE)
    free(a)
    free(a, INVALID_VALUE)
    call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), U64(a), expect=NOT_FOUND)
    again = alloc(65536)
    if LAB:
        equal("a freed address comes again", a, again)
    call("cuMemAlloc_v2", ctypes.byref(base), ctypes.c_size_t(1 << 45), expect=OUT_OF_MEMORY)
    free(again)
    free(b)


def copies():
    data = os.urandom(300001)
    a, b = alloc(len(data)), alloc(len(data))
    to_gpu(a, data)
    equal("copy there and back", True, from_gpu(a, len(data)) == data)
    call("cuMemcpyDtoD_v2", U64(b), U64(a), ctypes.c_size_t(len(data)))
    call("cuMemsetD8_v2", U64(b + 65530), 0x5a, ctypes.c_size_t(12))
    expected = data[:65530] + b"\x5a" * 12 + data[65542:]
    equal("copy on the GPU, and set", True, from_gpu(b, len(data)) == expected)
    call("cuMemcpyDtoH_v2", ctypes.create_string_buffer(2), U64(b + len(data) - 1), ctypes.c_size_t(2),
         expect=INVALID_VALUE)
    free(a)
    free(b)


def attributes():
    a = alloc(70000)
    on = ctypes.c_uint(1)
    equal("type of memory", 2, attribute(a, MEMORY_TYPE))
    equal("SYNC_MEMOPS at first", 0, attribute(a, SYNC_MEMOPS))
    call("cuPointerSetAttribute", ctypes.byref(on), SYNC_MEMOPS, U64(a))
    equal("SYNC_MEMOPS, for all of the allocation", 1, attribute(a + 66000, SYNC_MEMOPS))
    equal("range", (a, 70000), (attribute(a + 5, RANGE_START, U64), attribute(a + 5, RANGE_SIZE, U64)))
    free(a)
    again = alloc(70000)
    equal("SYNC_MEMOPS goes with the allocation", 0, attribute(again, SYNC_MEMOPS))
    free(again)
    call("cuPointerGetAttribute", ctypes.byref(on), MEMORY_TYPE, U64(a), expect=INVALID_VALUE)
    call("cuPointerGetAttribute", ctypes.byref(on), MEMORY_TYPE, U64(a + 70000), expect=INVALID_VALUE)
    host = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(8192), 0)
    equal("type of host memory", 1, attribute(host.value + 100, MEMORY_TYPE))
    call("cuMemFreeHost", host)


def kinds():
    context = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    plain, managed, pooled = alloc(4 << 20), U64(), U64()
    call("cuMemAllocManaged", ctypes.byref(managed), ctypes.c_size_t(4096), 1)
    call("cuMemAllocAsync", ctypes.byref(pooled), ctypes.c_size_t(4096), None)
    seen = [(attribute(at, IS_MANAGED), attribute(at, CONTEXT, ctypes.c_void_p), attribute(at, RDMA_CAPABLE))
            for at in (plain, managed.value, pooled.value)]
    equal("managed, context and RDMA of three allocations",
          [(0, context.value, 1), (1, context.value, 0), (0, None, 0)], seen)
    flag = ctypes.c_uint64(2**64 - 1)
    call("cuPointerGetAttribute", ctypes.byref(flag), IS_MANAGED, U64(plain))
    equal("a flag is four bytes", 0xffffffff << 32, flag.value)
    ids = [attribute(at, BUFFER_ID, U64) for at in (plain, managed.value, pooled.value)]
    free(plain)
    again = alloc(4 << 20)
    equal("a freed address comes again", plain, again)
    equal("but not its ID", True, attribute(again, BUFFER_ID, U64) > max(ids))
    for at in (again, managed.value, pooled.value):
        free(at)


def dead_contexts():
    """The memory of a context ends with it, and its lock on pages. Nobody may push it any more: driver 580 dies of that."""
    own, other = ctypes.c_void_p(), ctypes.c_void_p()
    pages = mmap.mmap(-1, 65536)
    at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    call("cuCtxGetCurrent", ctypes.byref(own))
    call("cuCtxCreate_v2", ctypes.byref(other), 0, 0)
    a = alloc(4096)
    call("cuMemHostRegister_v2", ctypes.c_void_p(at), ctypes.c_size_t(65536), 0)
    call("cuCtxSetCurrent", own)
    equal("number of locked pages", True, attribute(at, BUFFER_ID, U64) > 0)
    equal("context of an allocation, from another one", other.value, attribute(a, CONTEXT, ctypes.c_void_p))
    call("cuCtxDestroy_v2", other)
    call("cuPointerGetAttribute", ctypes.byref(U64()), MEMORY_TYPE, U64(a), expect=INVALID_VALUE)
    call("cuPointerGetAttribute", ctypes.byref(U64()), BUFFER_ID, U64(at), expect=INVALID_VALUE)


def resets():
    """A reset ends the primary context until somebody retains it once more: the same handle, and the count goes on."""
    own, new, flags, active = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_int()
    call("cuCtxGetCurrent", ctypes.byref(own))
    a = alloc(65536)
    call("cuCtxSetCurrent", None)
    call("cuDevicePrimaryCtxReset_v2", 0)
    call("cuPointerGetAttribute", ctypes.byref(U64()), MEMORY_TYPE, U64(a), expect=INVALID_VALUE)
    call("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
    equal("the primary context is active after a reset", 0, active.value)
    call("cuCtxPushCurrent_v2", own)
    call("cuCtxSynchronize", expect=DESTROYED)
    call("cuCtxPopCurrent_v2", ctypes.byref(new))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(new), 0)
    equal("the primary context, retained once more", own.value, new.value)
    call("cuDevicePrimaryCtxRelease_v2", 0)
    call("cuCtxSetCurrent", own)
    free(alloc(65536))


def threads_without_context():
    """Ranges are refused; and as the documentation allows, by the lab's SYNC_MEMOPS, and under LAB_CUDA_STRICT=1 each question."""
    a = alloc(4096)
    value, base, size, seen = U64(1), U64(), ctypes.c_size_t(), []

    def ask():
        seen.append(cuda.cuPointerSetAttribute(ctypes.byref(value), SYNC_MEMOPS, U64(a)))
        seen.append(cuda.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), U64(a)))
        seen.append(cuda.cuPointerGetAttribute(ctypes.byref(value), MEMORY_TYPE, U64(a)))
        os.environ["LAB_CUDA_STRICT"] = "1"
        seen.append(cuda.cuPointerGetAttribute(ctypes.byref(value), MEMORY_TYPE, U64(a)))
        del os.environ["LAB_CUDA_STRICT"]

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    equal("answers", [INVALID_CONTEXT if LAB else 0, INVALID_CONTEXT, 0, INVALID_CONTEXT if LAB else 0], seen)
    free(a)


def chunks():
    """LAB_CUDA_CHUNKS=1, or a real one: two small allocations share a page; the lab's gives what is freed out again."""
    os.environ["LAB_CUDA_CHUNKS"] = "1"
    a, b = alloc(100), alloc(5000)
    equal("place of the second", 512, b - a)
    free(a)
    if LAB:
        equal("rest of a page", True, a % 65536 != 0)
        equal("the next allocation", a, alloc(300))
    equal("a large one has its own pages", 0, alloc(2 << 20) % 65536)
    del os.environ["LAB_CUDA_CHUNKS"]


def dma_bufs():
    fd = ctypes.c_int(-1)
    a = alloc(2 << 20)
    call("cuMemGetHandleForAddressRange", ctypes.byref(fd), U64(a + 100), ctypes.c_size_t(4096), 1, U64(0),
         expect=INVALID_VALUE)
    call("cuMemGetHandleForAddressRange", ctypes.byref(fd), U64(a + 65536), ctypes.c_size_t(131072), 1, U64(0))
    equal("bytes of the dma-buf", 131072, os.lseek(fd.value, 0, os.SEEK_END))
    free(a)
    os.close(fd.value)


def streams():
    stream, event = ctypes.c_void_p(), ctypes.c_void_p()
    a = alloc(65536)
    data = ctypes.create_string_buffer(os.urandom(65536), 65536)
    gate, order = threading.Event(), []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    first = kind(lambda _: (gate.wait(), order.append("first")))
    second = kind(lambda _: order.append("second"))
    call("cuStreamCreate", ctypes.byref(stream), 0)
    call("cuEventCreate", ctypes.byref(event), 0)
    call("cuLaunchHostFunc", stream, first, None)
    call("cuMemcpyHtoDAsync_v2", U64(a), data, ctypes.c_size_t(65536), stream)
    call("cuLaunchHostFunc", stream, second, None)
    call("cuEventRecord", event, stream)
    call("cuStreamQuery", stream, expect=NOT_READY)
    call("cuEventQuery", event, expect=NOT_READY)
    gate.set()
    call("cuStreamSynchronize", stream)
    call("cuEventQuery", event)
    equal("order of host functions", ["first", "second"], order)
    equal("copy in a stream", True, from_gpu(a, 65536) == data.raw)
    call("cuMemcpyAsync", U64(a + 4096), U64(a), ctypes.c_size_t(4096), stream)
    call("cuStreamSynchronize", stream)
    equal("copy on the GPU, in a stream", True, from_gpu(a + 4096, 4096) == data.raw[:4096])
    call("cuMemsetD32_v2", U64(a), 7, ctypes.c_size_t(1))
    call("cuStreamWriteValue32_v2", stream, U64(a), 9, 0)
    call("cuStreamWaitValue32_v2", stream, U64(a), 9, 1)
    call("cuStreamSynchronize", stream)
    equal("value that a stream wrote", 9, struct.unpack("I", from_gpu(a, 4))[0])
    call("cuEventDestroy_v2", event)
    call("cuStreamDestroy_v2", stream)
    free(a)


def stale_copies(a, stream):
    """How many of 100 copies in the stream miss what cuMemcpyHtoD() copied right before."""
    host, count = ctypes.c_void_p(), 0
    call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(65536), 0)
    for i in range(100):
        data = bytes([i + 1]) * 65536
        to_gpu(a, data)
        call("cuMemcpyDtoHAsync_v2", host, U64(a), ctypes.c_size_t(65536), stream)
        call("cuStreamSynchronize", stream)
        count += ctypes.string_at(host, 65536) != data
        call("cuCtxSynchronize")
    call("cuMemFreeHost", host)
    return count


def early_returns():
    """cuMemcpyHtoD() of plain memory may return early. The default stream of the thread waits for it, and so does SYNC_MEMOPS."""
    stream, on = ctypes.c_void_p(), ctypes.c_uint(1)
    a = alloc(65536)
    call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
    equal("old bytes in the default stream of the thread", 0, stale_copies(a, PER_THREAD))
    print(f"old bytes in a non-blocking stream: {stale_copies(a, stream)} of 100")
    call("cuPointerSetAttribute", ctypes.byref(on), SYNC_MEMOPS, U64(a))
    equal("old bytes in a non-blocking stream, with SYNC_MEMOPS", 0, stale_copies(a, stream))
    call("cuStreamDestroy_v2", stream)
    free(a)


def frees_beside_a_host_function():
    """cuMemFree() may wait for it, and copies for cuMemFree(); questions about a pointer are answered."""
    stream, gate, ended, results = ctypes.c_void_p(), threading.Event(), [], []
    a, b = alloc(2 << 20), alloc(2 << 20)
    context = ctypes.c_void_p(attribute(a, CONTEXT, U64))
    call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: (gate.wait(60), ended.append(True)))
    call("cuLaunchHostFunc", stream, function, None)
    thread = threading.Thread(target=lambda: results.extend((cuda.cuCtxSetCurrent(context), cuda.cuMemFree_v2(U64(b)))))
    thread.start()
    thread.join(0.2)
    print(f"cuMemFree() waits for a host function: {thread.is_alive()}")
    attribute(a, BUFFER_ID, U64)
    equal("the host function has ended before a question was answered", [], ended)
    gate.set()
    thread.join()
    equal("results of the other thread", [0, 0], results)
    call("cuStreamDestroy_v2", stream)
    free(a)


def names():
    text, function = ctypes.c_char_p(), ctypes.c_void_p()
    call("cuGetErrorName", OUT_OF_MEMORY, ctypes.byref(text))
    equal("name of an error", b"CUDA_ERROR_OUT_OF_MEMORY", text.value)
    call("cuGetErrorName", 12345, ctypes.byref(text), expect=INVALID_VALUE)
    if not LAB:
        return
    call("cuGetProcAddress", b"cuMemAlloc", ctypes.byref(function), 12000, U64(0))
    equal("cuMemAlloc is its second version", ctypes.cast(cuda.cuMemAlloc_v2, ctypes.c_void_p).value, function.value)
    call("cuGetProcAddress", b"cuNothing", ctypes.byref(function), 12000, U64(0), expect=NOT_FOUND)


def forks():
    pid = os.fork()
    if not pid:
        size = ctypes.c_size_t()
        os._exit(cuda.cuDeviceTotalMem_v2(ctypes.byref(size), 0))
    equal("a child has no driver", NOT_INITIALIZED, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def ends_with_memory():
    """The exit frees it: the driver warns when it does not."""
    to_gpu(alloc(1 << 20), os.urandom(1 << 20))


for part in (contexts, allocations, copies, attributes, kinds, dead_contexts, resets, threads_without_context, chunks,
             dma_bufs, streams, early_returns, frees_beside_a_host_function, names, forks, ends_with_memory):
    part()
    print(part.__name__, "are sound")
