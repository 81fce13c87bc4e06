# SPDX-License-Identifier: Apache-2.0
"""What a call of the library that failed raises."""
from __future__ import annotations

import errno
import os
import re
import threading
from typing import Any

from ._library import lib, sized, text

# The exit statuses of donard-cli; any other error has 1.
_EXIT_STATUS = {errno.EBADMSG: 4, errno.EOPNOTSUPP: 3, errno.ECANCELED: 130, errno.EINTR: 130}
_WRONG_USE = ("bad-option", "bad-name")
# The library's texts use the names in its headers. A member of its options is a parameter of the same name here. The options of a
# cache's server become those of donard-cli, because the binding has no server. Names for which the binding has no word, such as
# donard_region_add(), stay.
_WORDS = {
    "options.listen and options.port": "--listen and --port",
    "options.listen": "--listen",
    "options.clients": "--clients",
    "ALLOW_BOUNCE": "allow_bounce=True",
    "ALLOW_UNLISTED": "allow_unlisted=True",
    "DONARD_FILE_CREATE": "create=True",
    "DONARD_FILE_WRITE": "write=True",
    "FORCE_BOUNCE": "force_bounce=True",
    "FORMAT": "--format",
    "PASSTHROUGH": "passthrough=True",
    "VERIFY": "verify=True",
    "donard_cache_serve()": "'donard-cli cache serve'",
    "donard_candidate_list()": "Context.candidates()",
    "donard_client_list()": "Context.clients()",
    "donard_memory_adopt()": "Context.adopt_memory()",
    "donard_memory_export()": "Memory.export()",
    "donard_memory_from_dmabuf()": "Context.from_dmabuf()",
    "donard_region_list()": "Context.regions()",
    "donard_route_probe()": "Context.route()",
}
_TERM = re.compile(r"(?<![^ (])(?:(%s)(?!\w)|options\.([a-z_]+))" % "|".join(map(re.escape, _WORDS)))


def in_python(message: str) -> str:
    """A text of the library in the words of this binding."""
    return _TERM.sub(lambda match: match[2] or _WORDS[match[1]], message)


class Error(OSError):
    """A failure: str() names object, cause and remedy, in one or two sentences.

    errno: as the library's headers say
    code: a stable word, such as "unreachable" or "busy"
    object: what it is about, such as "p2pmem0" or "/dev/nvme0n1"; "" if not one thing
    member: the argument at fault, such as "block_bytes", "force_bounce" or, in one word, "offset"; "" if not one alone
    value: the number at fault, or None
    limit: the largest or smallest number that is allowed there, or the one of which it must be a multiple, as str()
        says; or None
    exit_status: with which donard-cli would end: 1 failed, 2 wrong use, 3 not supported here, 4 data mismatch,
        130 stopped
    result: of a copy that failed, how far it came; else None
    """

    def __init__(self, number: int, message: str, code: str) -> None:
        super().__init__(number, message)
        self.code = code
        self.object = ""
        self.member = ""
        self.value: int | None = None
        self.limit: int | None = None
        self.result: Any = None

    def __reduce__(self) -> Any:
        """For pickle and copy: OSError's own way knows only errno and text."""
        kept = {name: getattr(self, name) for name in ("object", "member", "value", "limit", "result")}
        return type(self), (self.errno, self.strerror, self.code), kept

    def __str__(self) -> str:
        return str(self.strerror)

    @property
    def exit_status(self) -> int:
        if self.code in _WRONG_USE:
            return 2
        return _EXIT_STATUS.get(self.errno or 0, 1)


def error_from(failure: Any, rc: int) -> Error:
    """Of a struct donard_failure."""
    error = Error(-rc, in_python(text(failure.text)), text(failure.code))
    error.object = text(failure.object)
    error.member = in_python(text(failure.member)).removesuffix("=True")
    if failure.known & lib.DONARD_FAILURE_VALUE:
        error.value = failure.value
    if failure.known & (lib.DONARD_FAILURE_MOST | lib.DONARD_FAILURE_LEAST | lib.DONARD_FAILURE_MULTIPLE):
        error.limit = failure.limit
    return error


def error_of(handle: Any, rc: int) -> Error:
    """Of the last call with this context, which returned rc."""
    failure = sized("donard_failure")
    lib.donard_failure_get(handle, failure)
    return error_from(failure, rc)


def error_without_context(rc: int, what: str) -> Error:
    """Of a call that leaves no text behind."""
    return Error(-rc, f"{what}: {os.strerror(-rc)}.", "system")


_own = threading.local()


def _token() -> object:
    return _own.__dict__.setdefault("thread", object())


class MakingThread:
    """The thread that made this. get_ident() does not tell: the C library gives that of a thread that has ended to a later one."""

    def __init__(self) -> None:
        self._token = _token()
        self._number = threading.get_native_id()

    def runs(self) -> bool:
        """Of a thread that Python did not make, it forgets the token between two calls from C, and the kernel's number stays.
        In the child of a fork it is the other way round."""
        return self._token is _token() or self._number == threading.get_native_id()


def wrong_thread(what: str, owner: str) -> Error:
    return Error(errno.EPERM, f"{what} belongs to another {owner}. Make one in each.", "wrong-thread")
