# SPDX-License-Identifier: Apache-2.0
"""Drives, partitions and files that fill memory, or are written from it."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ._library import Owner, Record, lib, sized, text

if TYPE_CHECKING:
    from ._context import Context


@dataclasses.dataclass(frozen=True)
class FileInfo(Record):
    """What a file is; struct donard_file_info of file.h explains each field. clients: the controllers that serve it;
    legs: the drives and partitions that its device is made of."""
    kind: str
    fd: int
    path: str
    disk: str
    size_bytes: int
    align_bytes: int
    memory_align_bytes: int
    request_bytes: int
    bounces: str
    writable: bool
    stack: str
    not_flushed: str
    clients: tuple[str, ...]
    legs: tuple[str, ...]


def handle_of_file(file: Any) -> Any:
    """As the library takes it."""
    if not isinstance(file, File):
        raise TypeError(f"file is no donard.File, but {file!r}")
    return file._handle


class File(Owner):
    """A drive, a partition or a regular file. Context.open() and adopt_file() make it."""

    def __init__(self, context: Context, handle: Any) -> None:
        self._context = context
        self._cdata: Any = handle
        info = sized("donard_file_info")
        context._check(lib.donard_file_info(self._cdata, info))
        clients = (text(lib.donard_file_client(self._cdata, index)) for index in range(info.client_count))
        legs = (text(lib.donard_file_leg(self._cdata, index)) for index in range(info.leg_count))
        self._info = FileInfo._of(info, clients=tuple(clients), legs=tuple(legs))
        context._others.add(self)

    @property
    def _handle(self) -> Any:
        if self._cdata is None:
            raise ValueError("the file is closed")
        self._context._handle  # of this thread?
        return self._cdata

    @property
    def info(self) -> FileInfo:
        """What it is, as of when it was opened; of any thread."""
        if self._cdata is None:
            raise ValueError("the file is closed")
        return self._info

    def fileno(self) -> int:
        """The descriptor, which stays the file's."""
        return self.info.fd

    def close(self) -> None:
        """Let go of it. Requests in flight keep what they need."""
        if self._cdata is None:
            return
        self._handle  # of this thread?
        handle, self._cdata = self._cdata, None
        self._context._root.release(handle, lib.donard_file_close)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
