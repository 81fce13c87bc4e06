#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
region_tests.py REGION TEST... - runs rdma-core's own tests, as Debian ships them, on the device
LAB_RDMA_DEVICE with their memory in /dev/REGION in place of the heap. TEST is MODULE.CLASS.NAME below
tests/. Prints what unittest prints, then "N memory regions in REGION".

region_tests.py REGION - only registers one page; prints "registered", or the name of the error.
"""
import ctypes
import errno
import mmap
import multiprocessing
import os
import sys
import unittest

TESTS = '/usr/share/doc/rdma-core/tests'
# The first is the link-local address of rxe, and the only one of siw.
GID_INDEX = '0'
# A persistent region has one offset space for everyone: where to look for a free page.
SEARCH_BYTES = 1 << 20

sys.path[:0] = [TESTS, os.path.dirname(TESTS)]

import pyverbs.device
import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError

REGION = sys.argv[1]
# Tests of the connection manager fork, hence shared.
registered = multiprocessing.Value('i', 0)


def map_region(length):
    """Maps free memory of the region; its offset is a matter of the allocator, or searched for."""
    size = max(length, 1) + -max(length, 1) % mmap.PAGESIZE
    fd = os.open(f'/dev/{REGION}', os.O_RDWR)
    try:
        for offset in range(0, SEARCH_BYTES, size):
            try:
                return mmap.mmap(fd, size, offset=offset)
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
    finally:
        os.close(fd)
    raise OSError(errno.EBUSY, f'no free page in the first MiB of {REGION}')


class RegionMR(MR):
    """A memory region in device memory."""

    def __init__(self, creator, length=0, access=0, address=None):
        assert address is None, 'a test brings memory of its own'
        self.memory = map_region(length)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        super().__init__(creator, length, access, address=start)
        with registered.get_lock():
            registered.value += 1


def create_cm_mr(resources):
    """What tests.base_rdmacm has its connection allocate."""
    from tests.base_rdmacm import GRH_SIZE
    access = {None: e.IBV_ACCESS_LOCAL_WRITE, 'read': e.IBV_ACCESS_REMOTE_READ,
              'write': e.IBV_ACCESS_REMOTE_WRITE}[resources.remote_operation]
    cmid = resources.child_id if resources.passive else resources.cmid
    resources.mr = RegionMR(cmid, resources.msg_size + GRH_SIZE, access)


def replace_memory():
    """Puts RegionMR where the tests say MR."""
    import tests.base_rdmacm
    for name, module in list(sys.modules.items()):
        if name.startswith('tests.') and getattr(module, 'MR', None) is MR:
            module.MR = RegionMR
    tests.base_rdmacm.CMResources.create_mr = create_cm_mr


def run_tests(names):
    from args_parser import parser
    sys.argv[1:] = ['--dev', os.environ['LAB_RDMA_DEVICE'], '--gid', GID_INDEX]
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromNames([f'tests.{name}' for name in names])
    replace_memory()
    result = unittest.TextTestRunner(sys.stdout, verbosity=2).run(suite)
    print(f'{registered.value} memory regions in {REGION}')
    return not result.wasSuccessful()


def register_only():
    context = pyverbs.device.Context(name=os.environ['LAB_RDMA_DEVICE'])
    try:
        RegionMR(PD(context), mmap.PAGESIZE, e.IBV_ACCESS_LOCAL_WRITE)
        print('registered')
    except PyverbsRDMAError as error:
        print(errno.errorcode[error.error_code])


sys.exit(run_tests(sys.argv[2:]) if sys.argv[2:] else register_only())
