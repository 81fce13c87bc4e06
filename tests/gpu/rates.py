#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast is compatibility mode beside NVIDIA's?

usage: rates.py OURS THEIRS FOLDER

Reads and writes a file in FOLDER by cuFileRead() and cuFileWrite() of both libraries, in turn and in processes of their
own, by one thread, and tells for each size the rate of the first library as a multiple of the second's, for each round.
It judges nothing: what a machine says depends on its load.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

ROUNDS = 2
MOST_BYTES = 256 << 20
SIZES = (4096, 65536, 1 << 20, 16 << 20)
REQUESTS_MOST = 4096


class Error(ctypes.Structure):
    """CUfileError_t"""
    _fields_ = [("code", ctypes.c_int), ("cuda", ctypes.c_int)]


class Handle(ctypes.Union):
    """The union of CUfileDescr_t"""
    _fields_ = [("fd", ctypes.c_int), ("handle", ctypes.c_void_p)]


class Descriptor(ctypes.Structure):
    """CUfileDescr_t"""
    _fields_ = [("type", ctypes.c_int), ("handle", Handle), ("operations", ctypes.c_void_p)]


def must(what, code):
    if code:
        sys.exit(f"{what}: {code}")


def gpu_memory():
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    must("cuInit", cuda.cuInit(0))
    must("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must("cuCtxSetCurrent", cuda.cuCtxSetCurrent(context))
    must("cuMemAlloc", cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(MOST_BYTES)))
    return address.value


def library(path):
    cufile = ctypes.CDLL(path)
    for name in ("cuFileDriverOpen", "cuFileHandleRegister", "cuFileBufRegister"):
        getattr(cufile, name).restype = Error
    cufile.cuFileBufRegister.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for call in (cufile.cuFileRead, cufile.cuFileWrite):
        call.restype = ctypes.c_ssize_t
        call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64]
    return cufile


def rate(call, handle, address, size):
    """Bytes per second of the second pass: the first one fills the page cache, and what the library keeps."""
    total = min(MOST_BYTES, size * REQUESTS_MOST)
    for _ in range(2):
        begin = time.monotonic()
        for at in range(0, total, size):
            if call(handle, address, size, at, at) != size:
                sys.exit(f"{call.__name__}: fewer than {size} bytes at {at}")
        seconds = time.monotonic() - begin
    return total / seconds


def one(path, folder):
    """Prints the rates of one library as JSON."""
    cufile, address = library(path), gpu_memory()
    must("cuFileDriverOpen", cufile.cuFileDriverOpen().code)
    fd, handle = os.open(os.path.join(folder, "rates"), os.O_RDWR | os.O_CREAT), ctypes.c_void_p()
    file = Descriptor(1, Handle(fd=fd), None)
    must("cuFileHandleRegister", cufile.cuFileHandleRegister(ctypes.byref(handle), ctypes.byref(file)).code)
    rates = {}
    for kind in ("not registered", "registered"):
        if kind == "registered":
            must("cuFileBufRegister", cufile.cuFileBufRegister(address, MOST_BYTES, 0).code)
        for size in SIZES:
            for call in (cufile.cuFileWrite, cufile.cuFileRead):
                rates[f"{call.__name__}() of {size >> 10} KiB, {kind}"] = rate(call, handle, address, size)
    print(json.dumps(rates))


def both(ours, theirs, folder):
    rounds = []
    for _ in range(ROUNDS):
        seen = [json.loads(subprocess.run([sys.executable, __file__, path, folder], check=True, stdout=subprocess.PIPE).stdout)
                for path in (ours, theirs)]
        rounds.append({what: seen[0][what] / seen[1][what] for what in seen[0]})
    for what in rounds[0]:
        print(f"{what}: {', '.join(f'{one_round[what]:.2f}' for one_round in rounds)} times")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        both(*sys.argv[1:])
    else:
        one(*sys.argv[1:])
