# SPDX-License-Identifier: Apache-2.0
"""Whole copies."""
from __future__ import annotations

import dataclasses
import functools
import os
from typing import TYPE_CHECKING, Any, Callable, Union

from ._errors import error_of
from ._file import File
from ._library import Record, ffi, lib, name, number, sized, sizes, word
from ._memory import Memory
from ._meter import Measurement, Metering

if TYPE_CHECKING:
    from ._context import Context

Progress = Callable[[str, int, int], Any]
End = Union[str, "os.PathLike[str]", Memory, File]


@dataclasses.dataclass(frozen=True)
class Leg(Record):
    """What a device of LVM or md is made of; struct donard_leg of copy.h explains each field."""
    name: str
    under: str
    route: str
    route_evidence: str


@dataclasses.dataclass(frozen=True)
class CopyResult(Record):
    """What happened; struct donard_copy_result of copy.h explains each field. measurement: of the meter, or None."""
    bytes: int
    bounced_bytes: int
    seconds: float
    block_bytes: int
    kept_bytes: int
    queue_depth: int
    verified: bool
    fixed_buffers: bool
    durable: bool
    passthrough: bool
    route: str
    route_evidence: str
    bounced_evidence: str
    via: str
    bridge: str
    src_gpu: str
    dst_gpu: str
    aio: bool
    durable_reason: str
    overwritten_bytes: int
    legs: tuple[Leg, ...] = ()
    measurement: Measurement | None = None


class _Progress:
    """The library's calls now and then. Also without a function of the caller's: handlers of signals run here, and what
    one raises, as Ctrl-C does, stops the copy."""

    def __init__(self, function: Progress | None) -> None:
        self.function = function
        self.raised: BaseException | None = None
        self.callback = ffi.callback("donard_progress_fn", self._call, error=1, onerror=self._failed)

    def _call(self, _user: Any, phase: int, done: int, total: int) -> int:
        if self.raised is not None:
            return 1
        if self.function is not None:
            self.function(word("enum donard_phase", phase), done, total)
        return 0

    def _failed(self, _kind: Any, error: BaseException, _trace: Any) -> None:
        if self.raised is None:
            self.raised = error


def _copy_end(what: str, end: End) -> Any:
    """What is named beside a memory or a file is one, too."""
    if isinstance(end, Memory):
        return sized("donard_copy_end", memory=end._handle)
    if isinstance(end, File):
        return sized("donard_copy_end", file=end._handle)
    raise TypeError(f"{what} is no donard.Memory and no donard.File, as the other end is, but {end!r}")


def _call(context: Context, src: End, dst: End) -> tuple[Callable[..., int], Context]:
    """The library's call, which still takes options and result, and the context that tells of its failures."""
    if isinstance(src, (Memory, File)) or isinstance(dst, (Memory, File)):
        ends = _copy_end("src", src), _copy_end("dst", dst)
        src._context._handle  # of this thread?
        return functools.partial(lib.donard_copy_between, *ends), src._context
    return functools.partial(lib.donard_copy, context._handle, name("src", src), name("dst", dst)), context


def copy_with(context: Context, src: End, dst: End, *, length_bytes: int = 0,
              src_offset_bytes: int = 0, dst_offset_bytes: int | None = None, block_bytes: int = 0, queue_depth: int = 0,
              via: str | None = None, verify: bool = False, allow_bounce: bool = False, allow_unlisted: bool = False,
              force_bounce: bool = False, passthrough: bool = False, meter: str | None = None,
              progress: Progress | None = None) -> CopyResult:
    keeps = dst_offset_bytes is not None
    switches = ((verify, lib.DONARD_COPY_VERIFY), (allow_bounce, lib.DONARD_COPY_ALLOW_BOUNCE),
                (allow_unlisted, lib.DONARD_COPY_ALLOW_UNLISTED), (force_bounce, lib.DONARD_COPY_FORCE_BOUNCE),
                (passthrough, lib.DONARD_COPY_PASSTHROUGH), (keeps, lib.DONARD_COPY_KEEP_REST))
    length_bytes, src_offset_bytes, dst_offset_bytes, block_bytes = sizes(
        length_bytes=length_bytes, src_offset_bytes=src_offset_bytes, dst_offset_bytes=dst_offset_bytes if keeps else 0,
        block_bytes=block_bytes)
    calls, via_name, result = _Progress(progress), name("via", via, optional=True), sized("donard_copy_result")
    options = sized("donard_copy_options", length_bytes=length_bytes, src_offset_bytes=src_offset_bytes,
                    dst_offset_bytes=dst_offset_bytes, block_bytes=block_bytes,
                    queue_depth=number("queue_depth", queue_depth, 2**32 - 1),
                    flags=sum(flag for wanted, flag in switches if wanted), via=via_name,
                    progress_fn=calls.callback)
    call, context = _call(context, src, dst)
    counter = Metering(context, meter) if meter is not None else None
    try:
        if counter is not None:
            counter.attach(options)
        rc = call(options, result)
        measurement = counter.result if counter is not None else None
    finally:
        if counter is not None:
            counter.close()
    legs = tuple(Leg._of(result.legs + index) for index in range(result.leg_count))
    done = CopyResult._of(result, measurement=measurement, legs=legs)
    if calls.raised is not None:
        raise calls.raised
    if rc < 0:
        error = error_of(context._handle, rc)
        error.result = done
        raise error
    return done


def copy(src: str | os.PathLike[str], dst: str | os.PathLike[str], **options: Any) -> CopyResult:
    """Copy between a drive, a file on a drive, a region, and a GPU: "/dev/nvme0n1", "/mnt/file", "p2pmem0", "gpu:0".

    length_bytes, src_offset_bytes, dst_offset_bytes: the range; to the end of the source unless a length is given. Where neither
        length_bytes nor dst_offset_bytes is given, be it 0, a destination file ends where the copy ends
    block_bytes, queue_depth: of the requests
    via: the region in which a copy from drive to drive stages its data
    verify: read both sides again, and compare
    allow_bounce: through DRAM if there is no route; force_bounce: never peer-to-peer, a baseline for
        copies of drives. At most one of these
    allow_unlisted: try a host bridge that is on no list
    passthrough: NVMe commands that bypass the block layer
    meter: the kind of a meter, which counts meanwhile: the result's measurement
    progress: a function of phase, bytes done and bytes in all; what it raises stops the copy, and is raised at its end

    Raises Error, whose result says how far a copy came that failed. Nothing is written if a check refuses.
    """
    from ._context import Context
    with Context() as context:
        return copy_with(context, src, dst, **options)
