#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of donard made of what CUDA allocated.

usage: cudamem.py TEST [DRIVE]; ends with 1 at what is wrong.
"""
import ctypes
import os
import subprocess
import sys
import threading

PAGE = 65536
U64 = ctypes.c_uint64
donard = ctypes.CDLL("libdonard.so.0")
libc = ctypes.CDLL(None, use_errno=True)
donard.donard_error.restype = donard.donard_error_code.restype = ctypes.c_char_p
donard.donard_memory_free.restype = None
ctx = ctypes.c_void_p()
assert not donard.donard_open(ctypes.byref(ctx), None)


class Info(ctypes.Structure):
    """struct donard_memory_info, as far as it is needed"""
    _fields_ = [("size", ctypes.c_size_t), ("kind", ctypes.c_int), ("fd", ctypes.c_int),
                ("region", ctypes.c_char_p), ("bdf", ctypes.c_char_p), ("address", ctypes.c_void_p)]


class Completion(ctypes.Structure):
    """struct donard_completion"""
    _fields_ = [("user", ctypes.c_void_p), ("result", ctypes.c_int64), ("error_code", ctypes.c_char_p),
                ("error", ctypes.c_char_p), ("failure", ctypes.c_void_p), ("route", ctypes.c_int), ("evidence", ctypes.c_int),
                ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


def equal(what, expected, seen):
    if expected != seen:
        sys.exit(f"{what}: expected {expected!r}, seen {seen!r}")


def from_cuda(address, length):
    memory = ctypes.c_void_p()
    rc = donard.donard_memory_from_cuda(ctx, U64(address), U64(length), ctypes.byref(memory))
    if rc:
        sys.exit(f"donard_memory_from_cuda: {rc}: {donard.donard_error(ctx).decode()}")
    return memory


def alloc_cuda(length, gpu=0):
    """(return code, address, memory)"""
    address, memory = U64(1), ctypes.c_void_p()
    rc = donard.donard_memory_alloc_cuda(ctx, gpu, U64(length), ctypes.byref(address), ctypes.byref(memory))
    return rc, address.value, memory


def allocated_memory(length):
    rc, address, memory = alloc_cuda(length)
    if rc:
        sys.exit(f"donard_memory_alloc_cuda: {rc}: {donard.donard_error(ctx).decode()}")
    return address, memory


def says(got, rc, code, words):
    """The failure: its errno, the stable word, and a part of the text."""
    seen, text = donard.donard_error_code(ctx).decode(), donard.donard_error(ctx).decode()
    if got != rc or seen != code or words not in text:
        sys.exit(f"expected {rc}, {code} and '{words}', seen {got}, {seen}: {text}")
    print(text)


def refused(address, length, rc, code, words):
    memory = ctypes.c_void_p()
    says(donard.donard_memory_from_cuda(ctx, U64(address), U64(length), ctypes.byref(memory)), rc, code, words)


def alloc_refused(length, rc, code, words, gpu=0):
    got, address, memory = alloc_cuda(length, gpu)
    says(got, rc, code, words)
    equal("address and memory, which a failure leaves alone", (1, None), (address, memory.value))


def write(memory, offset, data):
    equal("donard_memory_write", 0, donard.donard_memory_write(memory, U64(offset), data, ctypes.c_size_t(len(data))))


def read(memory, size):
    """(return code, bytes)"""
    data = ctypes.create_string_buffer(size)
    return donard.donard_memory_read(memory, U64(0), data, ctypes.c_size_t(size)), data.raw


def start_cuda():
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    assert not cuda.cuCtxSetCurrent(context)
    return cuda


def alloc(cuda, size):
    address = U64()
    equal("cuMemAlloc", 0, cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
    return address.value


def seen_by_gpu(cuda, address, size):
    data = ctypes.create_string_buffer(size)
    equal("cuMemcpyDtoH", 0, cuda.cuMemcpyDtoH_v2(data, U64(address), ctypes.c_size_t(size)))
    return data.raw


def current(cuda):
    context = ctypes.c_void_p()
    equal("cuCtxGetCurrent", 0, cuda.cuCtxGetCurrent(ctypes.byref(context)))
    return context.value


def is_synchronous(cuda, address):
    value = ctypes.c_uint(7)
    equal("get SYNC_MEMOPS", 0, cuda.cuPointerGetAttribute(ctypes.byref(value), 6, U64(address)))
    return value.value


def primary_is_active(cuda):
    flags, active = ctypes.c_uint(), ctypes.c_int()
    equal("cuDevicePrimaryCtxGetState", 0, cuda.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active)))
    return active.value


def sound(drive):
    """One allocation, by donard, a drive, and the GPU's own copies; at no alignment."""
    cuda = start_cuda()
    base = alloc(cuda, 1 << 20)
    start, size = base + PAGE + 4096, 10 * PAGE + 100
    memory = from_cuda(start, size)
    equal("SYNC_MEMOPS", 1, is_synchronous(cuda, base))
    data = os.urandom(size)
    write(memory, 0, data)
    equal("the GPU sees what donard wrote", True, seen_by_gpu(cuda, start, size) == data)
    info = Info(size=ctypes.sizeof(Info))
    equal("info", 0, donard.donard_memory_info(memory, ctypes.byref(info)))
    equal("device of the memory", os.environ["LAB_GPU_BDF"].encode(), info.bdf)
    fd = os.open(drive, os.O_RDONLY | os.O_DIRECT)
    got = libc.pread(fd, ctypes.c_void_p(info.address), ctypes.c_size_t(8 * PAGE), ctypes.c_long(1 << 20))
    equal("bytes that the drive wrote into it", 8 * PAGE, got)
    plain = os.open(drive, os.O_RDONLY)
    equal("the GPU sees what the drive wrote", True,
          seen_by_gpu(cuda, start, 8 * PAGE) == os.pread(plain, 8 * PAGE, 1 << 20))
    refused(start, size, -16, "busy", "make one memory of them")
    donard.donard_memory_free(memory)
    again = from_cuda(start, size)
    donard.donard_memory_free(again)
    equal("cuMemFree", 0, cuda.cuMemFree_v2(U64(base)))


def contexts():
    """From a thread with the context, with another one, and with none: it is the same before and after."""
    cuda = start_cuda()
    base, own, other = alloc(cuda, PAGE), current(cuda), ctypes.c_void_p()
    seen = []

    def without():
        before = current(cuda)
        donard.donard_memory_free(from_cuda(base, PAGE))
        address, memory = allocated_memory(PAGE)
        donard.donard_memory_free(memory)
        seen.append((before, current(cuda)))

    donard.donard_memory_free(from_cuda(base, PAGE))
    equal("context of the thread", own, current(cuda))
    thread = threading.Thread(target=without)
    thread.start()
    thread.join()
    equal("contexts of a thread that has none", [(None, None)], seen)
    equal("cuCtxCreate", 0, cuda.cuCtxCreate_v2(ctypes.byref(other), 0, 0))
    donard.donard_memory_free(from_cuda(base, PAGE))
    inner = alloc(cuda, PAGE)
    equal("another context of the thread", other.value, current(cuda))
    equal("cuCtxSetCurrent", 0, cuda.cuCtxSetCurrent(ctypes.c_void_p(own)))
    memory = from_cuda(inner, PAGE)
    equal("context of the thread, of another's memory", own, current(cuda))
    donard.donard_memory_free(memory)
    equal("the primary context is kept", 1, primary_is_active(cuda))
    equal("cuDevicePrimaryCtxRelease", 0, cuda.cuDevicePrimaryCtxRelease_v2(0))
    equal("the primary context, which nobody but the program kept", 0, primary_is_active(cuda))


def allocated():
    """donard allocates; its context ends with the last memory."""
    cuda = start_cuda()
    address, memory = allocated_memory(1 << 20)
    write(memory, 5, b"donard")
    equal("the GPU sees it", b"donard", seen_by_gpu(cuda, address + 5, 6))
    cuda.cuCtxSetCurrent(None)
    cuda.cuDevicePrimaryCtxRelease_v2(0)
    equal("the primary context, while donard has memory in it", 1, primary_is_active(cuda))
    donard.donard_memory_free(memory)
    equal("the primary context, when it has none", 0, primary_is_active(cuda))
    alloc_refused(1 << 20, -19, "no-such-device", "there is no such GPU", gpu=7)
    alloc_refused(1 << 50, -28, "no-space", "nvidia-smi lists them")
    equal("the primary context after a refusal", 0, primary_is_active(cuda))


def each_step_fails():
    """Of allocating; nothing stays retained or allocated, which the driver sees at the end."""
    cuda = start_cuda()
    cuda.cuCtxSetCurrent(None)
    cuda.cuDevicePrimaryCtxRelease_v2(0)
    get = os.environ["LAB_GET"]
    for failure, rc, code, words in (("alloc 12", 0, "ok", None), (f"{get} 22", -22, "bad-option", "no such memory"),
                                     (f"{get} 5", -5, "device", "see the kernel log")):
        with open("/sys/bus/pci/drivers/nvidia/module/parameters/fail", "w", encoding="ascii") as lever:
            lever.write(failure)
        if words:
            alloc_refused(PAGE, rc, code, words)
        else:
            # It fails once, and is tried again.
            donard.donard_memory_free(allocated_memory(PAGE)[1])
        equal(f"the primary context after '{failure}'", 0, primary_is_active(cuda))


def chunks():
    """CUDA cuts small allocations from a chunk: LAB_CUDA_CHUNKS=1."""
    cuda = start_cuda()
    first, second = alloc(cuda, 4096), alloc(cuda, 4096)
    equal("pages of two small allocations", first // PAGE, second // PAGE)
    memory = from_cuda(first, 4096)
    refused(second, 4096, -16, "busy", "make one memory of them")
    equal("SYNC_MEMOPS of what was refused", 0, is_synchronous(cuda, second))
    donard.donard_memory_free(memory)
    donard.donard_memory_free(from_cuda(second, 4096))
    of_donard = [allocated_memory(4096) for _ in range(3)]
    for address, memory in of_donard:
        equal("alignment of an address", 0, address % PAGE)
        write(memory, 0, os.urandom(8) + b"x" * 4088)
        equal("the GPU's bytes", read(memory, 4096)[1], seen_by_gpu(cuda, address, 4096))
    for _, memory in of_donard:
        donard.donard_memory_free(memory)
    equal("cuMemFree", 0, cuda.cuMemFree_v2(U64(second)))
    equal("the next allocation has the bytes of one that was freed", second, alloc(cuda, 4096))


def from_dmabuf(fd, memory):
    """Its return code."""
    return donard.donard_memory_from_dmabuf(ctx, fd, U64(0), U64(0), ctypes.byref(memory))


def freed_first(kind):
    """The allocation is freed before the memory: its bytes stay, or accesses fail, also those by a dma-buf of it."""
    cuda = start_cuda()
    base = alloc(cuda, 4 * PAGE)
    memory = from_cuda(base, 4 * PAGE)
    data = os.urandom(4 * PAGE)
    write(memory, 0, data)
    exported = ctypes.c_int()
    equal("donard_memory_export", 0, donard.donard_memory_export(memory, U64(0), U64(0), os.O_RDWR, ctypes.byref(exported)))
    others = ctypes.c_void_p()
    equal("donard_memory_from_dmabuf", 0, from_dmabuf(exported, others))
    equal("cuMemFree", 0, cuda.cuMemFree_v2(U64(base)))
    rc, seen = read(memory, 4 * PAGE)
    if kind == "persistent":
        equal("bytes of what was freed", (0, True), (rc, seen == data))
        stranger = alloc(cuda, 4 * PAGE)
        equal("cuMemsetD8", 0, cuda.cuMemsetD8_v2(U64(stranger), 0x5a, ctypes.c_size_t(4 * PAGE)))
        rc, seen = read(memory, 4 * PAGE)
        equal("bytes of what was freed, when its address is another's", (0, True), (rc, seen == data))
    else:
        says(rc, -19, "region-gone", "Free it after the donard memory")
        says(read(others, PAGE)[0], -19, "region-gone", "its memory was freed")
        says(from_dmabuf(exported, ctypes.c_void_p()), -19, "region-gone", "its memory was freed")
    donard.donard_memory_free(others)
    os.close(exported.value)
    donard.donard_memory_free(memory)


def context_reset():
    """cudaDeviceReset() takes donard's memory; what the program allocates then is its own. The context is dead until it is retained again."""
    cuda = start_cuda()
    address, memory = allocated_memory(PAGE)
    equal("cuDevicePrimaryCtxReset", 0, cuda.cuDevicePrimaryCtxReset_v2(0))
    equal("cuDevicePrimaryCtxRetain", 0, cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0))
    stranger = alloc(cuda, PAGE)
    equal("address of the next allocation", address, stranger)
    equal("cuMemsetD8", 0, cuda.cuMemsetD8_v2(U64(stranger), 0x5a, ctypes.c_size_t(PAGE)))
    donard.donard_memory_free(memory)
    equal("bytes of the stranger", b"\x5a" * PAGE, seen_by_gpu(cuda, stranger, PAGE))


def child():
    """A child of fork() frees its copy; the parent's memory stays."""
    cuda = start_cuda()
    address, memory = allocated_memory(PAGE)
    write(memory, 0, b"parent")
    pid = os.fork()
    if not pid:
        got = donard.donard_memory_from_cuda(ctx, U64(address), U64(PAGE), ctypes.byref(ctypes.c_void_p()))
        donard.donard_memory_free(memory)
        os._exit(0 if got == -5 and b"fork()" in donard.donard_error(ctx) else 1)
    equal("status of the child", 0, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    equal("bytes of the parent", (0, b"parent"), read(memory, 6))
    equal("and by the GPU", b"parent", seen_by_gpu(cuda, address, 6))
    donard.donard_memory_free(memory)


def slow(drive, bytes_per_second):
    subprocess.run(["labctl", "slow", drive, str(bytes_per_second)], check=True)


def wait(queue, count):
    done = (Completion * count)()
    equal("completions", count, donard.donard_queue_wait(queue, count, ctypes.c_int64(-1), done, count))
    return [(one.result, one.error) for one in done]


def in_flight(path, drive):
    """Freed while a drive writes to it: the requests keep it, and its context ends with the last one."""
    cuda = start_cuda()
    cuda.cuCtxSetCurrent(None)
    cuda.cuDevicePrimaryCtxRelease_v2(0)
    queue, file = ctypes.c_void_p(), ctypes.c_void_p()
    equal("donard_queue_open", 0, donard.donard_queue_open(ctx, None, ctypes.byref(queue)))
    equal("donard_file_open", 0, donard.donard_file_open(ctx, path.encode(), 0, ctypes.byref(file)))
    _, memory = allocated_memory(1 << 20)

    def read_page(number):
        equal("donard_queue_read", 0, donard.donard_queue_read(queue, file, U64(number * PAGE), memory,
                                                               U64(number * PAGE), U64(PAGE), None))

    # The first one proves the route, and is alone.
    read_page(0)
    equal("the first read", [(PAGE, b"")], wait(queue, 1))
    slow(drive, 1)
    for number in range(4):
        read_page(number)
    equal("donard_queue_submit", 0, min(0, donard.donard_queue_submit(queue)))
    donard.donard_memory_free(memory)
    equal("the context while requests are in flight", 1, primary_is_active(cuda))
    slow(drive, 0)
    equal("the reads", [(PAGE, b"")] * 4, wait(queue, 4))
    donard.donard_file_close(file)
    donard.donard_queue_close(queue)
    equal("the context when they have ended", 0, primary_is_active(cuda))


def most_of_it():
    """Nine tenths of what is free, again and again: the module gives it back a moment after the file was closed."""
    cuda = start_cuda()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    equal("cuMemGetInfo", 0, cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    for _ in range(3):
        donard.donard_memory_free(allocated_memory(free.value // 10 * 9)[1])


def bad():
    """Each refusal has its cause and remedy, pins nothing, and leaves SYNC_MEMOPS alone."""
    cuda = start_cuda()
    first, second = alloc(cuda, 2 * PAGE), alloc(cuda, 2 * PAGE)
    host = ctypes.create_string_buffer(PAGE)
    refused(ctypes.addressof(host), PAGE, -22, "bad-option", "donard_memory_from_host()")
    refused(first + PAGE, 2 * PAGE, -6, "past-end", "make one of each")
    refused(first, 0, -22, "bad-option", "not GPU memory")
    refused(1 << 63, PAGE, -22, "bad-option", "not GPU memory")
    cuda.cuMemFree_v2(U64(second))
    refused(second, PAGE, -22, "bad-option", "it was freed")
    short = alloc(cuda, 100)
    refused(short + 100, 1, -22, "bad-option", "it was freed")
    refused(short + 50, 51, -6, "past-end", "which has 100 bytes")
    registered = ctypes.c_void_p()
    assert not cuda.cuMemHostAlloc(ctypes.byref(registered), ctypes.c_size_t(PAGE), 0)
    refused(registered.value, PAGE, -22, "bad-option", "memory of the host that CUDA knows")
    managed, pooled = U64(), U64()
    assert not cuda.cuMemAllocManaged(ctypes.byref(managed), ctypes.c_size_t(PAGE), 1)
    refused(managed.value, PAGE, -22, "bad-option", "moves between GPU and host")
    assert not cuda.cuMemAllocAsync(ctypes.byref(pooled), ctypes.c_size_t(PAGE), None)
    refused(pooled.value, PAGE, -22, "bad-option", "not made for GPUDirect RDMA")
    equal("SYNC_MEMOPS", [0, 0, 0], [is_synchronous(cuda, at) for at in (first, short, pooled.value)])


def no_region():
    cuda = start_cuda()
    address = alloc(cuda, PAGE)
    refused(address, PAGE, -19, "no-such-device",
            f"donard_region_add(gpu-nvidia, {os.environ['LAB_GPU_BDF']})")
    equal("SYNC_MEMOPS", 0, is_synchronous(cuda, address))


def outside():
    refused(alloc(start_cuda(), PAGE), PAGE, -18, "outside-region", "add the region without bar, offset and length")


def no_cuda():
    refused(0x302000000, PAGE, -95, "unsupported", "apt install libcuda1")


def too_small():
    cuda = start_cuda()
    address = alloc(cuda, 4 << 20)
    refused(address, 4 << 20, -28, "no-space", "BAR1")
    equal("SYNC_MEMOPS", 0, is_synchronous(cuda, address))


globals()[sys.argv[1]](*sys.argv[2:])
